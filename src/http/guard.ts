import type { Context, MiddlewareHandler } from "hono";

/** The valid Host headers; any other is a DNS rebinding attempt (T9). */
const ownHosts = (port: number, host: string) =>
  [host, "127.0.0.1", "localhost", "[::1]"].map((name) => `${name}:${port}`);

/** Refuses requests from pages of other origins, including other local ports, before the body is read; sets security headers. */
export function guard(host: string, port: () => number): MiddlewareHandler {
  return async (c, next) => {
    const error = refusalOf(c, ownHosts(port(), host));
    if (error) c.res = c.json({ status: "denied", error }, 403);
    else await next();
    for (const [name, value] of Object.entries(headers)) {
      if (!c.res.headers.has(name)) c.res.headers.set(name, value);
    }
  };
}

function refusalOf(c: Context, hosts: string[]): string | undefined {
  const host = c.req.header("host")?.toLowerCase() ?? "";
  if (!hosts.includes(host)) return `unknown host ${host}; use the address that scriptorium serve printed`;

  const origin = c.req.header("origin")?.toLowerCase();
  if (origin !== undefined && origin !== `http://${host}`) {
    return "requests from other origins are blocked";
  }
  const site = c.req.header("sec-fetch-site") ?? "none";
  const isNavigation = c.req.header("sec-fetch-mode") === "navigate" && c.req.method === "GET";
  if (site !== "same-origin" && site !== "none" && !isNavigation) return "requests from other sites are blocked";
  return undefined;
}

const headers = {
  "content-security-policy":
    "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "x-dns-prefetch-control": "off",
};
