import { type Context, Hono } from "hono";
import type { App } from "../app.ts";
import type { Person } from "../kernel/caller.ts";
import { Refused } from "../kernel/result.ts";
import { mcpOverHttp } from "../mcp/http.ts";
import { apiRoutes, type Env, refusalAnswer } from "./api.ts";
import { guard } from "./guard.ts";
import { renderedRoutes } from "./rendered.ts";
import { openRenderer } from "./renderer.ts";
import { addressOf, signIn } from "./sign-in.ts";
import { signInPage, signInStyle } from "./sign-in-page.ts";
import { assetRoutes, siteRoutes } from "./site.ts";

type Options = { token: string; self: Person; port: () => number; stopping: AbortSignal };

export function httpServer(app: App, { token, self, port, stopping }: Options) {
  const people = signIn(app, token, self);
  const mcp = mcpOverHttp(app, people.callerFor);
  const renderer = openRenderer(app.log);
  const server = new Hono<Env>();

  server.use(guard(port));
  server.get("/healthz", (c) => c.json({ status: "ok" }));
  server.route("/", assetRoutes());
  server.get("/sign-in.css", (c) =>
    c.body(signInStyle, 200, { "content-type": "text/css; charset=utf-8", "cache-control": "no-cache" }),
  );
  server.use(async (c, next) => {
    const redirect = c.req.method === "GET" && c.req.query("token") ? await people.fromLink(c) : undefined;
    if (redirect) return redirect;
    const principal = await people.principal(c);
    if (!principal) return unauthorized(c);
    c.set("principal", principal);
    await next();
    c.res.headers.set("cache-control", c.res.headers.get("cache-control") ?? "no-store");
  });
  server.all("/mcp", async (c) => {
    const { tokenId, byCookie } = c.get("principal");
    if (byCookie)
      return c.json(
        {
          status: "denied",
          error:
            "MCP requires a bearer token, not the cookie of a browser; create one with: scriptorium token create --agent <role>",
        },
        403,
      );
    return mcp.fetch(c.req.raw, tokenId);
  });
  server.route("/api/rendered", renderedRoutes(app, renderer, people));
  server.get("/metrics", async (c) => {
    if (!c.get("principal").person)
      return c.json({ status: "denied", error: "agents may not read the metrics; use a token of a person" }, 403);
    const { prometheusText, contentType } = await import("./prometheus.ts");
    return c.body(await prometheusText(app, renderer.counts()), 200, { "content-type": contentType });
  });
  server.route("/api", apiRoutes(app, people, stopping));
  server.route("/", siteRoutes(app, renderer));

  server.onError((error, c) => {
    if (error instanceof Refused) return refusalAnswer(c, error.problem);
    app.log.error({ path: c.req.path, error: error.message, stack: error.stack }, "request-failed");
    return c.json({ status: "failed", error: "internal error; see the server's log" }, 500);
  });
  return {
    fetch: server.fetch,
    warm: renderer.warm,
    async close() {
      await mcp.close();
      await renderer.close();
    },
  };
}

async function unauthorized(c: Context): Promise<Response> {
  const isPage = c.req.header("accept")?.includes("text/html") && !/^\/(api|mcp)(\/|$)/.test(c.req.path);
  if (!isPage) {
    const error = "missing or invalid token; send Authorization: Bearer <token>";
    return c.json({ status: "denied", error }, 401, { "www-authenticate": "Bearer" });
  }
  // A browser does not send the SameSite=Strict cookie when it follows a link from another site. The page reloads
  // the address from here, and then the cookie is sent.
  const isCrossSite = c.req.header("sec-fetch-site") === "cross-site" || c.req.header("sec-fetch-site") === "same-site";
  return c.html(signInPage(isCrossSite ? { again: addressOf(c) } : {}), 401);
}
