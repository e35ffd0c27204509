import { connect, createServer, type Socket } from "node:net";

export type Cuttable = {
  url: string;
  /** Packets are dropped in both directions, and nobody is told. */
  cut(): void;
  mend(): void;
  stop(): Promise<void>;
};

/** A way to a server on loopback that can lose every packet, as a firewall or a broken switch does. */
export async function cuttable(serverUrl: string): Promise<Cuttable> {
  const target = new URL(serverUrl);
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on("data", (bytes) => {
        if (!isCut) to.write(bytes);
      });
      from.on("error", () => undefined);
      from.on("close", () => {
        sockets.delete(from);
        if (!isCut) to.destroy();
      });
    }
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as { port: number };
  const url = new URL(serverUrl);
  url.port = String(port);
  return {
    url: url.href.replace(/\/$/, ""),
    cut() {
      isCut = true;
    },
    mend() {
      isCut = false;
      // What was in flight is lost: the connections of that time never continue.
      for (const socket of sockets) socket.destroy();
    },
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}
