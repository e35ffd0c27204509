import { Hono } from "hono";
import type { App } from "../app.ts";
import { mcpOverHttp } from "../mcp/http.ts";
import type { Person } from "../people/caller.ts";
import { Refused, refusalFor } from "../result.ts";
import { apiRoutes, type Env } from "./api.ts";
import { guard } from "./guard.ts";
import { messagePage } from "./pages.ts";
import { signIn } from "./sign-in.ts";
import { siteRoutes } from "./site.ts";
import { style } from "./style.ts";

type Options = { token: string; self: Person; port: () => number; stopping: AbortSignal };

/** Everything under one address: pages, /api, /mcp, /healthz. */
export function httpServer(app: App, { token, self, port, stopping }: Options) {
  const people = signIn(app, token, self);
  const mcp = mcpOverHttp(app, people.callerFor);
  const server = new Hono<Env>();

  server.use(guard(port));
  server.get("/healthz", (c) => c.json({ status: "ok" }));
  server.get("/style.css", (c) =>
    c.body(style, 200, { "content-type": "text/css; charset=utf-8", "cache-control": "no-cache" }),
  );
  server.use(async (c, next) => {
    const redirect = c.req.method === "GET" && c.req.query("token") ? await people.fromLink(c) : undefined;
    if (redirect) return redirect;
    const principal = await people.principal(c);
    if (!principal) return turnAway(c.req.path, c.req.header("accept"));
    c.set("principal", principal);
    await next();
    c.res.headers.set("cache-control", c.res.headers.get("cache-control") ?? "no-store");
  });
  server.all("/mcp", async (c) => {
    const { tokenId, byCookie } = c.get("principal");
    if (byCookie) return c.json({ status: "denied", error: "MCP takes a bearer token, not a browser's cookie" }, 403);
    return mcp.fetch(c.req.raw, tokenId);
  });
  server.route("/api", apiRoutes(app, people, stopping));
  server.route("/", siteRoutes(app));

  server.onError((error, c) => {
    if (error instanceof Refused) return c.json(refusalFor(error.problem), 400);
    app.log.error({ path: c.req.path, error: error.message, stack: error.stack }, "request-failed");
    return c.json({ status: "failed", error: "something went wrong here; the server's log says what" }, 500);
  });
  return { fetch: server.fetch, close: mcp.close };
}

async function turnAway(path: string, accept: string | undefined): Promise<Response> {
  const isPage = accept?.includes("text/html") && !path.startsWith("/api") && path !== "/mcp";
  if (!isPage) {
    const error = "this needs a token: send it as Authorization: Bearer …";
    return Response.json({ status: "denied", error }, { status: 401, headers: { "www-authenticate": "Bearer" } });
  }
  const page = await messagePage({
    title: "Sign in",
    message: "This workspace is private.",
    hint: "Open the link that scriptorium serve printed when it started; it signs this browser in.",
  });
  return new Response(String(page), { status: 401, headers: { "content-type": "text/html; charset=utf-8" } });
}
