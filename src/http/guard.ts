import type { HttpBindings } from "@hono/node-server";
import type { Context, MiddlewareHandler } from "hono";
import { networks } from "../config/server.ts";
import { arrivals, type Reach, setArrival } from "./arrival.ts";

/** Refuses requests from pages of other origins, including other local ports, before the body is read; sets security headers. */
export function guard(reach: Reach): MiddlewareHandler {
  const arrive = arrivals(reach);
  const isProxy = networks(reach.trustedProxies);
  return async (c, next) => {
    const error = refusalOf(c);
    if (error) c.res = c.json({ status: "denied", error }, 403);
    else await next();
    for (const [name, value] of Object.entries(headers)) {
      if (!c.res.headers.has(name)) c.res.headers.set(name, value);
    }
  };

  function refusalOf(c: Context): string | undefined {
    const peer = (c.env as Partial<HttpBindings>).incoming?.socket.remoteAddress ?? "";
    // A proxy checks whether the server is alive with a request of its own, under whatever name it knows.
    if (isProbe(c) && isProxy(peer)) return undefined;
    const arrived = arrive({ peer, header: (name) => c.req.header(name) });
    if (!arrived.ok) return arrived.problem.message;
    setArrival(c, arrived.value);

    const origin = c.req.header("origin")?.toLowerCase();
    if (origin !== undefined && origin !== arrived.value.origin) return "requests from other origins are blocked";
    const site = c.req.header("sec-fetch-site") ?? "none";
    const isNavigation = c.req.header("sec-fetch-mode") === "navigate" && c.req.method === "GET";
    if (site !== "same-origin" && site !== "none" && !isNavigation) return "requests from other sites are blocked";
    return undefined;
  }
}

const isProbe = (c: Context) =>
  (c.req.method === "GET" || c.req.method === "HEAD" || c.req.method === "OPTIONS") &&
  /^\/(healthz|readyz)$/.test(c.req.path) &&
  c.req.header("origin") === undefined;

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
