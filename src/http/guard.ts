import type { MiddlewareHandler } from "hono";

/** The names under which this machine may be asked for this port; anything else is a rebinding attempt (T9). */
export const ownHosts = (port: number) => [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`];

/**
 * Only requests meant for this server, from its own pages or from programs. A page of any other
 * origin, another local port included, is turned away before anything is read.
 */
export function guard(port: () => number): MiddlewareHandler {
  return async (c, next) => {
    const hosts = ownHosts(port());
    const host = c.req.header("host")?.toLowerCase() ?? "";
    const origin = c.req.header("origin")?.toLowerCase();
    const site = c.req.header("sec-fetch-site");
    const navigates = c.req.header("sec-fetch-mode") === "navigate" && c.req.method === "GET";
    if (!hosts.includes(host))
      return c.json({ status: "denied", error: "this server answers only under its own address" }, 403);
    if (origin !== undefined && !hosts.some((own) => origin === `http://${own}`)) {
      return c.json({ status: "denied", error: "requests from other origins are not answered" }, 403);
    }
    if (site !== undefined && site !== "same-origin" && site !== "none" && !navigates) {
      return c.json({ status: "denied", error: "requests from other sites are not answered" }, 403);
    }
    await next();
    for (const [name, value] of Object.entries(headers)) c.res.headers.set(name, value);
  };
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
