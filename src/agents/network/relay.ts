import { spawn } from "node:child_process";
import { connect, createServer, type Socket } from "node:net";
import { constants } from "node:os";

/**
 * The first program in a sandbox with network: `node network-relay.js <socket> <port>[=<host:port>]… -- <agent> <args>`.
 * Listens on the loopback of the sandbox, connects each port to the proxy's socket, and runs the agent. A port with a
 * destination leads there, for programs that expect a server on loopback. Imports nothing of ours: the sandbox
 * contains only this file.
 */
const [path = "", ...rest] = process.argv.slice(2);
const split = rest.indexOf("--");
const [command = "", ...args] = rest.slice(split + 1);

function join(client: Socket, destination: string | undefined): void {
  const proxy = connect({ path, allowHalfOpen: true });
  const end = () => {
    client.destroy();
    proxy.destroy();
  };
  client.on("error", end).on("close", end);
  proxy.on("error", end).on("close", end);
  if (destination === undefined) {
    client.pipe(proxy).pipe(client);
    return;
  }
  proxy.write(`CONNECT ${destination} HTTP/1.1\r\nHost: ${destination}\r\n\r\n`);
  let head = "";
  const onData = (chunk: Buffer) => {
    head += chunk.toString("latin1");
    const over = head.indexOf("\r\n\r\n");
    if (over === -1) return;
    proxy.off("data", onData);
    if (!head.startsWith("HTTP/1.1 200 ")) return end();
    client.write(Buffer.from(head.slice(over + 4), "latin1"));
    client.pipe(proxy).pipe(client);
  };
  proxy.on("data", onData);
}

const listen = (given: string) => {
  const [port = "", destination] = given.split("=");
  const server = createServer({ allowHalfOpen: true }, (client) => join(client, destination));
  return new Promise<void>((done, fail) => server.once("error", fail).listen(Number(port), "127.0.0.1", done));
};

// A stop signals every process of the sandbox: the agent ends by its own, and this program after it.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);

await Promise.all(rest.slice(0, split).map(listen));
const agent = spawn(command, args, { stdio: "inherit" });
// process.ts reads this line.
agent.once("error", (error: NodeJS.ErrnoException) => {
  process.stderr.write(`network-relay: ${command}: ${error.code === "ENOENT" ? "not found" : error.message}\n`);
  process.exit(127);
});
agent.once("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : (code ?? 1)));
