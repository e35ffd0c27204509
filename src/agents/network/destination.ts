import { isIP } from "node:net";
import { ok, type Result, refuse } from "../../kernel/result.ts";

/** A host as it is looked up (a name in lower case, or an address without brackets) and a port. */
export type Destination = { host: string; port: number };

export const nameOf = ({ host, port }: Destination) => (host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`);

const hostName = /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/;

/** The target of CONNECT: `host:port`. */
export function parseAuthority(text: string): Result<Destination> {
  const url = /^[^\s/?#@\\]+:\d{1,5}$/.test(text) ? parse(`http://${text}`) : undefined;
  return destinationOf(url, text);
}

/** The target of a request to a proxy: `http://host[:port]/path`. */
export function parseTarget(text: string): Result<Destination & { path: string }> {
  const url = /^http:\/\/[^\s/?#@\\]+([/?#]|$)/i.test(text) ? parse(text) : undefined;
  const to = destinationOf(url, text);
  return to.ok && url ? ok({ ...to.value, path: url.pathname + url.search }) : refuse("invalid", notReachable(text));
}

/**
 * The WHATWG parser spells every form of an IPv4 address (octal, hex, short, one number, other digits) as four decimal
 * numbers, so that the rules see the address that a socket would use (T17).
 */
function destinationOf(url: URL | undefined, text: string): Result<Destination> {
  const host = url?.hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "") ?? "";
  const port = Number(url?.port || 80);
  if (port === 0 || (isIP(host) === 0 && !hostName.test(host))) return refuse("invalid", notReachable(text));
  return ok({ host, port });
}

function parse(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

const notReachable = (text: string) => `${JSON.stringify(text.slice(0, 200))} is not the address of a host`;
