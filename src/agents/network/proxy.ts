import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { connector, failureOf } from "./connection.ts";
import { type Destination, nameOf, parseAuthority, parseTarget } from "./destination.ts";
import type { Dial } from "./dial.ts";
import { endToEnd, forward } from "./forward.ts";
import type { Ledger } from "./ledger.ts";
import { askModel } from "./model-request.ts";
import type { ModelServer } from "./model-server.ts";
import { refuseRequest, refuseTunnel } from "./refusal.ts";
import type { Route } from "./rules.ts";

type Options = {
  /** Where it listens. */
  path: string;
  /** The address of the relay, which leads here. */
  relay: string;
  decide(to: Destination): Promise<Result<Route>>;
  servers: readonly ModelServer[];
  dial: Dial;
  ledger: Ledger;
};

const maxConnections = 128;
const idleMs = 15 * 60_000;

/**
 * The only way out of a sandbox: an HTTP proxy on a Unix socket. It serves the APIs of models under `/<name>/`, requests
 * with a whole URL, and CONNECT. It logs no request; the ledger has destinations and sizes.
 */
export async function openProxy({
  path,
  relay,
  decide,
  servers,
  dial,
  ledger,
}: Options): Promise<{ close(): Promise<void> }> {
  const server = createServer({ maxHeaderSize: 64 * 1024, headersTimeout: 30_000, requestTimeout: idleMs });
  server.maxConnections = maxConnections;
  const sockets = new Set<Duplex>();
  const track = <T extends Duplex>(socket: T): T => {
    sockets.add(socket);
    socket.on("error", () => undefined).once("close", () => sockets.delete(socket));
    return socket;
  };
  const connect = connector(async (route) => track(await dial(route)), ledger);

  async function onRequest(request: IncomingMessage, response: ServerResponse): Promise<Result<true>> {
    const target = request.url ?? "";
    // Some clients send even requests to the relay itself as to a proxy.
    const own = target.startsWith(`${relay}/`) ? target.slice(relay.length) : target;
    if (own.startsWith("/")) return askModel({ servers, connect, ledger }, request, response, own);
    const parsed = parseTarget(target);
    if (!parsed.ok) return parsed;
    const { path, ...to } = parsed.value;
    const connection = await connect(to, await decide(to));
    if (!connection.ok) return connection;
    const headers = { ...endToEnd(request.headers), host: nameOf(to).replace(/:80$/, "") };
    await forward(request, response, { ...connection.value, isTls: false, host: to.host, path, headers });
    return ok(true);
  }

  async function onConnect(request: IncomingMessage, client: Duplex, head: Buffer): Promise<Result<true>> {
    const to = parseAuthority(request.url ?? "");
    if (!to.ok) return to;
    if (nameOf(to.value) === new URL(relay).host) return serveOwn(client, head);
    const connection = await connect(to.value, await decide(to.value));
    if (!connection.ok) return connection;
    const { socket, addBytes } = connection.value;
    client.write(established);
    socket.write(head);
    socket.setTimeout(idleMs, () => socket.destroy());
    addBytes({ sent: head.length });
    client.on("data", (chunk: Buffer) => addBytes({ sent: chunk.length }));
    socket.on("data", (chunk: Buffer) => addBytes({ received: chunk.length }));
    await Promise.allSettled([pipeline(client, socket), pipeline(socket, client)]);
    return ok(true);
  }

  const ownTunnels = new WeakSet<Duplex>();
  /** Some clients use a tunnel even for the relay itself: the requests inside it are as any others. */
  function serveOwn(client: Duplex, head: Buffer): Result<true> {
    if (ownTunnels.has(client)) return refuse("denied", "this connection is a tunnel already");
    ownTunnels.add(client);
    client.write(established);
    if (head.length > 0) client.unshift(head);
    server.emit("connection", client);
    return ok(true);
  }

  const pending = new Set<Promise<void>>();
  const answer = (work: Promise<Result<true>>, refuseWith: (problem: Refused) => void) => {
    const done = work
      .catch((error: Error) => refuse("refused", `the connection broke: ${failureOf(error)}`))
      .then((result) => (result.ok ? undefined : refuseWith(result.problem)))
      .finally(() => pending.delete(done));
    pending.add(done);
  };
  server.on("connection", track);
  server.on("clientError", (_error, socket) => refuseTunnel(socket, notHttp));
  server.on("request", (request, response) => {
    answer(onRequest(request, response), (problem) => refuseRequest(response, problem));
  });
  server.on("connect", (request: IncomingMessage, client: Duplex, head: Buffer) => {
    answer(onConnect(request, client, head), (problem) => refuseTunnel(client, problem));
  });
  await new Promise<void>((done, fail) => server.once("error", fail).listen(path, done));
  return {
    async close() {
      const closed = new Promise<void>((done) => server.close(() => done()));
      for (const socket of sockets) socket.destroy();
      await Promise.all([closed, ...pending]);
    },
  };
}

const established = "HTTP/1.1 200 Connection established\r\n\r\n";
type Refused = Parameters<typeof refuseRequest>[1];
const notHttp: Refused = { code: "invalid", message: "this is not a request that a proxy understands" };
