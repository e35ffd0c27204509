import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import { type Context, Hono } from "hono";
import type { App } from "../app.ts";
import { packageFile } from "../kernel/package-files.ts";
import { allOperations } from "../operation-list.ts";
import { lastEventId } from "../store/events.ts";
import type { Env } from "./api.ts";
import { withData } from "./page-data.ts";
import type { Renderer } from "./renderer.ts";
import type { Boot } from "./web-types.ts";

const folder = packageFile("dist/web/");

/** The web application's own files. They hold nothing of the workspace, so they need no token. */
export function assetRoutes(): Hono<Env> {
  const assets = new Hono<Env>();
  const names = new Set(existsSync(folder) ? readdirSync(new URL("assets/", folder)) : []);
  assets.get("/assets/:name", async (c) => {
    const name = c.req.param("name");
    const type = types[extname(name)];
    if (!names.has(name) || !type) return c.json({ status: "not_found", error: "this file does not exist" }, 404);
    const isZipped = names.has(`${name}.gz`) && /\bgzip\b/.test(c.req.header("accept-encoding") ?? "");
    const bytes = await readFile(new URL(`assets/${name}${isZipped ? ".gz" : ""}`, folder)).catch(() => undefined);
    if (!bytes) return c.json({ status: "not_found", error: "the application was updated; reload the page" }, 404);
    const headers = {
      "content-type": type,
      "cache-control": "public, max-age=31536000, immutable",
      vary: "accept-encoding",
    };
    return c.body(new Uint8Array(bytes), 200, { ...headers, ...(isZipped ? { "content-encoding": "gzip" } : {}) });
  });
  assets.get("/diagram", (c) => {
    const policy =
      "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'self'";
    return c.body(readFileSync(new URL("diagram.html", folder), "utf8"), 200, {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": policy,
      "x-frame-options": "SAMEORIGIN",
      "cache-control": "no-cache",
    });
  });
  return assets;
}

/** Every other address is the web application's to read; the server gives the same page for each. */
export function siteRoutes(app: App, renderer: Pick<Renderer, "warm">): Hono<Env> {
  const site = new Hono<Env>();
  const page = existsSync(folder) ? readFileSync(new URL("index.html", folder), "utf8") : "";
  const operations: Boot["operations"] = Object.fromEntries(
    allOperations.flatMap(({ name, http, callers, reads, touches }) =>
      http ? [[name, { ...http, callers, reads, touches }]] : [],
    ),
  );

  site.use(async (c, next) => {
    if (c.get("principal").person) return next();
    // Pages know no read cap and no turn, so an agent reads through its operations only.
    return c.json(
      { status: "denied", error: "web pages are for people; agents read entries with GET /api/entries/{id}" },
      403,
    );
  });
  site.get("*", async (c) => {
    renderer.warm();
    const { person } = c.get("principal");
    const boot: Boot = {
      workspace: { name: app.config.name, wiki: app.config.wiki, sources: app.config.sources },
      person: { name: person?.name ?? "", rank: person?.rank ?? "reader" },
      operations,
      cursor: (await lastEventId(app.db)) ?? "0",
    };
    return shell(c, page, boot);
  });
  site.all("*", (c) => c.json({ status: "not_found", error: "this page does not exist" }, 404));
  return site;
}

// Some libraries of the application write style elements; the nonce lets those through and no others.
function shell(c: Context, page: string, boot: Boot): Response {
  const nonce = randomBytes(16).toString("base64");
  const html = withData(page.replaceAll("%nonce%", nonce), boot);
  return c.body(html, 200, {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "content-security-policy":
      `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; img-src 'self' data:; font-src 'self'; ` +
      "connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  });
}

const types: Record<string, string> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
  ".png": "image/png",
};
