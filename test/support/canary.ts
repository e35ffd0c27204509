import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** The port on loopback at which a server listens until the end of the test. */
export async function listening(server: Server): Promise<number> {
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** A server on this host's loopback, and one on an abstract socket, that must stay out of reach. */
export async function canary() {
  let hits = 0;
  const onHit = (socket: Socket) => {
    hits++;
    socket.end("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nCANARY");
  };
  const port = await listening(createServer(onHit));
  const abstract = `scriptorium-${process.pid}-${Math.random().toString(36).slice(2)}`;
  const hidden = createServer(onHit);
  await new Promise<void>((done) => hidden.listen({ path: `\0${abstract}` }, done));
  onTestFinished(() => void hidden.close());
  return { port, abstract, hits: () => hits };
}
