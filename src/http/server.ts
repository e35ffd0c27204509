import { type Context, Hono } from "hono";
import type { App } from "../app.ts";
import type { Person } from "../kernel/caller.ts";
import { Refused } from "../kernel/result.ts";
import { storageProblem } from "../kernel/storage-problem.ts";
import { mcpOverHttp } from "../mcp/http.ts";
import { apiRoutes, type Env, refusalAnswer } from "./api.ts";
import type { Reach } from "./arrival.ts";
import { guard } from "./guard.ts";
import { openLoopDelay } from "./loop-delay.ts";
import { oidcSignIn } from "./oidc.ts";
import { passkeyCeremonies } from "./passkeys.ts";
import { readiness } from "./readiness.ts";
import { renderedRoutes } from "./rendered.ts";
import { openRenderer } from "./renderer.ts";
import { type Principal, signIn } from "./sign-in.ts";
import { addressOf, passkeyRoutes, signInRoutes } from "./sign-in-routes.ts";
import { assetRoutes, siteRoutes } from "./site.ts";

type Options = {
  token: string;
  owner: Person;
  cookie: string;
  reach: Reach;
  stopping: AbortSignal;
};

export function httpServer(app: App, { token, owner, cookie, reach, stopping }: Options) {
  const people = signIn(app, { workspaceToken: token, owner, cookie });
  const ceremonies = passkeyCeremonies(app, reach);
  const { baseUrl } = reach;
  const { oidc: provider } = app.config;
  const oidc = provider && baseUrl ? oidcSignIn(app, provider, baseUrl, [owner.name]) : undefined;
  const signing = signInRoutes(app, { signIn: people, cookie, ceremonies, oidc, baseUrl });
  const mcp = mcpOverHttp(app, people.callerFor);
  const renderer = openRenderer(app.log);
  const loop = openLoopDelay();
  const server = new Hono<Env>();

  server.use(guard(reach));
  server.get("/healthz", (c) => c.json({ status: "ok" }));
  server.get("/readyz", readiness(app));
  server.route("/", assetRoutes());
  server.route("/", signing.routes);
  server.use(async (c, next) => {
    const isPage = c.req.method === "GET" && !/^\/(api|mcp|metrics)(\/|$)/.test(c.req.path);
    const to = addressOf(c);
    if (isPage && (c.req.query("code") ?? c.req.query("token"))) return signing.page(c, { to });
    const principal = await people.principal(c);
    if (!principal && isPage && c.req.header("accept")?.includes("text/html"))
      return signing.page(c, { to, status: 401 });
    if (!principal || lacksPageSecret(principal, isPage)) return unauthorized(c, principal);
    c.set("principal", principal);
    await next();
    c.res.headers.set("cache-control", c.res.headers.get("cache-control") ?? "no-store");
    // nginx collects an answer otherwise, and the reader of a stream gets nothing for minutes.
    if (c.res.headers.get("content-type")?.startsWith("text/event-stream"))
      c.res.headers.set("x-accel-buffering", "no");
    const warning = app.schemaWarning();
    // Percent-encoded: a header has no other way to carry every character of a path.
    if (warning) c.res.headers.set("scriptorium-warning", encodeURIComponent(warning));
  });
  server.all("/mcp", async (c) => {
    const { tokenId, session } = c.get("principal");
    if (session)
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
  server.route("/api/passkeys", passkeyRoutes(app, ceremonies));
  server.route("/api/rendered", renderedRoutes(app, renderer, people));
  server.get("/metrics", async (c) => {
    if (!c.get("principal").person)
      return c.json({ status: "denied", error: "agents may not read the metrics; use a token of a person" }, 403);
    const { prometheusText, contentType } = await import("./prometheus.ts");
    return c.body(await prometheusText(app, renderer.counts(), loop.take()), 200, { "content-type": contentType });
  });
  server.route("/api", apiRoutes(app, people, stopping));
  server.route("/", siteRoutes(app, renderer));

  server.onError((error, c) => {
    if (error instanceof Refused) return refusalAnswer(c, error.problem);
    const problem = storageProblem(error);
    if (problem) return refusalAnswer(c, problem);
    app.log.error({ path: c.req.path, error: error.message, stack: error.stack }, "request-failed");
    return c.json({ status: "failed", error: "internal error; see the server's log" }, 500);
  });
  return {
    fetch: server.fetch,
    warm: renderer.warm,
    async close() {
      loop.close();
      await mcp.close();
      await renderer.close();
    },
  };
}

/**
 * A browser sends the cookie to every port of a host, and a program there could send it to us. Only our own pages also
 * know the page secret. Without it the cookie gets the empty page and nothing else.
 */
const lacksPageSecret = ({ session }: Principal, isPage: boolean) => session && !session.isFromPage && !isPage;

function unauthorized(c: Context, principal: Principal | undefined): Response {
  const error = principal
    ? "the page secret is missing or wrong; reload the page, or sign in again"
    : "missing or invalid token; send Authorization: Bearer <token>";
  return c.json({ status: "denied", error }, 401, { "www-authenticate": "Bearer" });
}
