import { type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from "node:http";
import { isIP } from "node:net";
import { pipeline } from "node:stream/promises";
import { connect as connectTls } from "node:tls";
import type { Connection } from "./connection.ts";

type Target = Connection & {
  isTls: boolean;
  host: string;
  path: string;
  headers: Record<string, string | string[]>;
};

const idleMs = 15 * 60_000;

/**
 * Sends a request on and streams the answer back. Node's parser has checked the request, and Node writes the new one:
 * no header that frames a message is copied, so that two servers cannot disagree about where it ends.
 */
export async function forward(from: IncomingMessage, to: ServerResponse, target: Target): Promise<void> {
  const { socket, isTls, host, path, headers, addBytes } = target;
  const transport = isTls ? connectTls({ socket, host, ...(isIP(host) ? {} : { servername: host }) }) : socket;
  const out = request({ method: from.method, path, headers, createConnection: () => transport });
  const stop = () => transport.destroy();
  to.once("close", stop);
  try {
    out.setTimeout(idleMs, () => out.destroy(new Error("no data for 15 min")));
    const answered = new Promise<IncomingMessage>((done, fail) => out.once("response", done).on("error", fail));
    from.on("data", (chunk: Buffer) => addBytes({ sent: chunk.length }));
    // A server may answer before it has read the whole body, for instance with 413.
    const sent = pipeline(from, out).catch(() => undefined);
    const answer = await answered;
    answer.on("data", (chunk: Buffer) => addBytes({ received: chunk.length }));
    to.writeHead(answer.statusCode ?? 502, endToEnd(answer.headers));
    await pipeline(answer, to);
    await sent;
  } finally {
    to.off("close", stop);
    transport.destroy();
    socket.destroy();
  }
}

const hopByHop = new Set([
  ...["connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization"],
  ...["te", "trailer", "transfer-encoding", "upgrade", "expect", "host"],
]);

/** Headers without those that concern one connection only, or that `Connection` names. */
export function endToEnd(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const named = new Set((headers.connection ?? "").toLowerCase().split(/[\s,]+/));
  const kept = Object.entries(headers).filter(
    ([name, value]) => value !== undefined && !hopByHop.has(name) && !named.has(name),
  );
  return Object.fromEntries(kept) as Record<string, string | string[]>;
}
