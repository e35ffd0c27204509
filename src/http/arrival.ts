import type { Context } from "hono";
import { isLoopback, networks, plainAddress } from "../config/server.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";

/** How a request reached the server: under which address, and from which client. */
export type Arrival = {
  /** The origin that the browser shows, such as https://wiki.example.org. */
  origin: string;
  /** The address of the client; behind a trusted proxy the one that the proxy names. */
  client: string;
  isTls: boolean;
};

export type Reach = {
  /** The workspace's own name below `localhost`. */
  localName: string;
  port: () => number;
  /** Whether the server itself speaks TLS. */
  isTls: boolean;
  /** The public origin; undefined for a server that is used on this machine only. */
  baseUrl: string | undefined;
  trustedProxies: string[];
};

type Asked = { peer: string; header: (name: string) => string | undefined };

const forwardedNames = ["x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "forwarded"];

/**
 * Decides under which origin a request arrived, and refuses it if that is not one of ours (T9). The public origin is
 * compared as a whole, scheme and port included. Loopback names count for connections of this machine that no proxy
 * forwards: another machine that sends `Host: localhost` is refused.
 */
export function arrivals({ localName, port, isTls, baseUrl, trustedProxies }: Reach) {
  const isTrusted = networks(trustedProxies);
  const ownScheme = isTls ? "https" : "http";

  return ({ peer: given, header }: Asked): Result<Arrival> => {
    const peer = plainAddress(given);
    const isProxy = isTrusted(peer);
    const isForwarded = forwardedNames.some((name) => header(name) !== undefined);
    if (isForwarded && !isProxy)
      return refuse(
        "denied",
        `the request has forwarded headers and comes from ${peer}, which is not in trusted_proxies`,
      );
    const host = (header("x-forwarded-host") ?? header("host") ?? "").toLowerCase();
    const scheme = header("x-forwarded-proto")?.toLowerCase() ?? ownScheme;
    const origin = withoutDefaultPort(scheme, host);
    const locals = [localName, "127.0.0.1", "localhost", "[::1]"].map((name) => `${ownScheme}://${name}:${port()}`);
    const isLocal = isLoopback(peer) && !isForwarded && locals.includes(origin);
    if (origin !== baseUrl && !isLocal) return refuse("denied", unknown(origin, host, baseUrl));
    const client = isProxy ? clientOf(header("x-forwarded-for"), peer) : peer;
    return ok({ origin, client, isTls: scheme === "https" });
  };

  /** The last address that is not a proxy of ours. The client wrote those before it, and may have made them up. */
  function clientOf(list: string | undefined, peer: string): string {
    const named = (list ?? "").split(",").map((text) => plainAddress(text.trim().replace(/^\[(.*)\]$/, "$1")));
    return named.findLast((address) => address !== "" && !isTrusted(address)) ?? peer;
  }
}

const withoutDefaultPort = (scheme: string, host: string) =>
  `${scheme}://${host.replace(scheme === "https" ? /:443$/ : /:80$/, "")}`;

function unknown(origin: string, host: string, baseUrl: string | undefined): string {
  if (baseUrl === undefined) return `unknown host ${host}; use the address that scriptorium serve printed`;
  const isScheme = origin.replace(/^\w*:/, "") === baseUrl.replace(/^\w*:/, "");
  const hint = isScheme ? "; a proxy with TLS must set X-Forwarded-Proto and be in trusted_proxies" : "";
  return `unknown address ${origin}; this server is ${baseUrl}${hint}`;
}

const arrivalKey = "arrival";

export const setArrival = (c: Context, arrival: Arrival): void => c.set(arrivalKey, arrival);

/** The guard has set it before any route runs. */
export const arrivalOf = (c: Context): Arrival => c.get(arrivalKey) as Arrival;
