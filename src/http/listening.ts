import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Config } from "../config/config.ts";
import { isLoopback } from "../config/server.ts";
import { ok, Refused, type Result, refuse } from "../kernel/result.ts";
import type { Certificate } from "./certificate.ts";

export type ListenOptions = {
  port?: number | undefined;
  host?: string | undefined;
  /** Typed by the person: other machines may reach the server without TLS. */
  insecureHttp?: boolean | undefined;
};

type Public = Pick<Config, "host" | "baseUrl" | "trustedProxies" | "tls" | "oidc">;

/**
 * The address to listen on; undefined for both loopback addresses. Other machines reach the server over TLS, its own
 * or that of a proxy, or because the person typed `--insecure-http`: sessions and tokens would be readable on the way.
 */
export function listenHost(config: Public, { host: typed, insecureHttp }: ListenOptions): Result<string | undefined> {
  const named = typed ?? config.host;
  const host = named === "localhost" || named === "127.0.0.1" ? undefined : named;
  const { baseUrl, trustedProxies, tls, oidc } = config;
  const isHttps = baseUrl?.startsWith("https://") ?? false;
  const set = "set base_url in scriptorium.yaml or SCRIPTORIUM_BASE_URL to the address that people open";
  if (tls && !isHttps) return refuse("invalid", `tls needs an https address; ${set}`);
  if (oidc && baseUrl === undefined) return refuse("invalid", `oidc: ${set}`);
  if (trustedProxies.length > 0 && baseUrl === undefined) return refuse("invalid", `trusted_proxies: ${set}`);
  if (host === undefined || isLoopback(host)) {
    if (isHttps && !tls && trustedProxies.length === 0)
      return refuse(
        "invalid",
        `${baseUrl} needs TLS: set tls, or put the address of the reverse proxy into trusted_proxies`,
      );
    return ok(host);
  }
  if (baseUrl === undefined) return refuse("invalid", `listening on ${host}: ${set}`);
  if (tls || (trustedProxies.length > 0 && isHttps)) return ok(host);
  if (!insecureHttp)
    return refuse(
      "denied",
      `listening on ${host} without TLS would show tokens and sessions to the network; set tls, or an https base_url with trusted_proxies. For a network where that does not matter: --insecure-http`,
    );
  if (isHttps) return refuse("invalid", `--insecure-http: base_url is ${baseUrl}; it must begin with http://`);
  return ok(host);
}

type Listening = { servers: [Server, ...Server[]]; port: number };

/** Listens on one address, or on both of loopback. */
export async function listen(
  listener: RequestListener,
  { host, port, certificate }: { host: string | undefined; port: number; certificate: Certificate | undefined },
): Promise<Listening> {
  const newServer = (): Server => {
    if (!certificate) return createServer({ requireHostHeader: false }, listener);
    const server = createTlsServer({ ...certificate.files(), requireHostHeader: false }, listener);
    certificate.use(server);
    return server;
  };
  if (host === undefined) return listenOnLoopback(newServer, port);
  const server = newServer();
  return { servers: [server], port: await bind(server, port, host) };
}

/**
 * Listens on both loopback addresses. Browsers try ::1 first for names below localhost, so another program that
 * listened there on the same port would get their requests.
 */
async function listenOnLoopback(newServer: () => Server, port: number): Promise<Listening> {
  for (;;) {
    const first = newServer();
    const chosen = await bind(first, port, "127.0.0.1");
    try {
      const second = newServer();
      await bind(second, chosen, "::1");
      return { servers: [first, second], port: chosen };
    } catch (error) {
      // Without IPv6, nobody can listen there.
      if (isWithoutIpv6(error)) return { servers: [first], port: chosen };
      await close(first);
      if (port !== 0) throw error;
    }
  }
}

const isWithoutIpv6 = (error: unknown) =>
  ["EADDRNOTAVAIL", "EAFNOSUPPORT"].includes((error as NodeJS.ErrnoException).code ?? "");

function bind(server: Server, port: number, address: string): Promise<number> {
  return new Promise((done, fail) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const taken = error.code === "EADDRINUSE";
      const message = `port ${port} is already in use, perhaps by another scriptorium serve; choose another with --port, or --port 0 for a free one`;
      fail(taken ? new Refused({ code: "conflict", message }) : error);
    });
    server.listen(port, address, () => done((server.address() as AddressInfo).port));
  });
}

/** Waits two seconds for open requests, then closes all connections. */
export function close(server: Server): Promise<void> {
  return new Promise((done) => {
    const timer = setTimeout(() => server.closeAllConnections(), 2000);
    server.close(() => {
      clearTimeout(timer);
      done();
    });
    server.closeIdleConnections();
  });
}
