import { connect, createServer, type Socket } from "node:net";

export type FloatingAddress = {
  url: string;
  /** New connections go to this server, or nowhere; those that are open end. */
  leadTo(server: string | undefined): void;
  /**
   * The server executes the next COMMIT of a connection that sent this text, and the answer is lost; with `way` "there",
   * the COMMIT itself. `then` is called before the client notices.
   */
  loseCommitOf(text: string, then: () => void, way?: "there" | "back"): void;
  stop(): Promise<void>;
};

/** One address for whichever server is the primary, as HAProxy or a floating IP gives. */
export async function floatingAddress(first: string): Promise<FloatingAddress> {
  const sockets = new Set<Socket>();
  let target: URL | undefined = new URL(first);
  let losing: { text: string; then: () => void; way: "there" | "back" } | undefined;

  function endAll() {
    for (const socket of sockets) socket.destroy();
  }

  function lose() {
    const { then } = losing ?? {};
    losing = undefined;
    then?.();
    endAll();
  }

  const server = createServer((near) => {
    if (!target) return void near.destroy();
    const far = connect(Number(target.port), target.hostname);
    let [hasText, isLosing] = [false, false];
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on("error", () => undefined);
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
    }
    near.on("data", (bytes) => {
      hasText ||= losing !== undefined && bytes.includes(losing.text);
      isLosing ||= hasText && bytes.includes("commit\0");
      if (isLosing && losing?.way === "there") lose();
      else far.write(bytes);
    });
    far.on("data", (bytes) => {
      if (isLosing) lose();
      else near.write(bytes);
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const url = new URL(first);
  url.port = String((server.address() as { port: number }).port);
  return {
    url: url.href.replace(/\/$/, ""),
    leadTo(to) {
      target = to === undefined ? undefined : new URL(to);
      endAll();
    },
    loseCommitOf(text, then, way = "back") {
      losing = { text, then, way };
    },
    async stop() {
      endAll();
      await new Promise((done) => server.close(done));
    },
  };
}
