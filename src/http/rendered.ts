import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import * as z from "zod";
import type { App } from "../app.ts";
import { bodyStart, findFrontmatter } from "../kernel/markdown/frontmatter.ts";
import { readYaml } from "../kernel/yaml.ts";
import { findVersion } from "../store/queries/versions.ts";
import { readImage } from "../wiki/pages/images.ts";
import { readPage } from "../wiki/pages/operations.ts";
import { findSection, type Schema } from "../wiki/schema.ts";
import { type Env, readBody, refusalAnswer } from "./api.ts";
import { beginningOf } from "./markdown/beginning.ts";
import { type Renderer, type Turn, withTurn } from "./renderer.ts";
import { callerOf, type SignIn } from "./sign-in.ts";
import type { RenderedPage } from "./web-types.ts";

const front = z.looseObject({ tags: z.union([z.string(), z.array(z.coerce.string())]).optional() });
const none: string[] = [];
const text = z.string();
const several = z.object({
  texts: z.array(text).max(500),
  /** The file that relative links start from. */
  path: z.string().max(1000).optional(),
});
/** Rendering cuts a text at 1 MiB. Reading much larger bodies would block the server's thread. */
const limitBody = bodyLimit({
  maxSize: 4 * 1024 * 1024,
  onError: (c) => c.json({ status: "invalid", error: "the texts are too large to render; the maximum is 4 MiB" }, 413),
});
const two = z.object({ before: text, after: text, path: several.shape.path });

/** Pages, texts and comparisons as safe HTML, for the web only; the operations return the data. */
export function renderedRoutes(app: App, renderer: Renderer, signIn: SignIn): Hono<Env> {
  const routes = new Hono<Env>();
  const idsOf = new WeakMap<Schema, string[]>();
  const knownIds = async () => {
    const schema = await app.schema();
    if (!schema.ok) return none;
    const ids = idsOf.get(schema.value) ?? schema.value.sections.map(({ id }) => id);
    idsOf.set(schema.value, ids);
    return ids;
  };

  const linksFrom = (path: string | undefined) => (path === undefined ? {} : { path, wiki: app.config.wiki });

  routes.use(limitBody);
  routes.use(async (c, next) => {
    if (c.get("principal").person) return next();
    return c.json(
      { status: "denied", error: "web pages are for people; agents read entries with GET /api/entries/{id}" },
      403,
    );
  });

  routes.get("/page", async (c) => {
    const path = c.req.query("path") ?? "";
    const version = c.req.query("version");
    const schema = await app.schema();
    if (!schema.ok && path.startsWith(`${app.config.wiki}/`)) return refusalAnswer(c, schema.problem);
    const found = await readPage.perform(app, { path }, callerOf(c.get("principal"), signIn));
    if (!found.ok) return refusalAnswer(c, found.problem);
    const page = found.value;
    const older = version === undefined || Number(version) === page.entry?.version ? undefined : Number(version);
    const text = older === undefined ? page.content : await earlier(app, page.entry?.id, older);
    if (text === undefined) return noVersion(c, path, version, page.entry?.version);

    const bodyFrom = older === undefined ? bodyStart(page.content) : 0;
    const whole = text.slice(bodyFrom);
    const beginning = c.req.query("part") === "beginning" ? beginningOf(whole) : undefined;
    const request = {
      text: beginning ?? whole,
      ids: await knownIds(),
      path,
      wiki: app.config.wiki,
      ...(older === undefined ? { stampFrom: bodyFrom } : {}),
    };
    if (older === undefined) app.topics.recent.add({ path, blob: page.source_sha, text: page.content });
    const html = await inTurn(c, (turn) => renderer.render(request, turn));
    const section = schema.ok && page.entry ? findSection(schema.value, page.entry.id) : undefined;
    const facts = older === undefined ? await latestFacts(app, page) : await factsOf(app, page.entry?.id, older);
    const shown: RenderedPage = {
      path,
      title: page.title,
      source_sha: page.source_sha,
      html,
      is_beginning: beginning !== undefined,
      body_from: bodyFrom,
      tags: tagsOf(older === undefined ? page.content : text, path),
      lastAuthor: facts.author,
      updated_at: facts.at,
      words: facts.words ?? text.split(/\s+/).filter(Boolean).length,
      entry: page.entry && { ...page.entry, version: older ?? page.entry.version, latest: page.entry.version },
      section: section ? { description: section.description, writable_by: section.writable_by } : null,
    };
    return c.json(shown);
  });

  routes.post("/texts", async (c) => {
    const body = await readBody(c);
    if (body instanceof Response) return body;
    const read = several.safeParse(body);
    if (!read.success) return c.json({ status: "invalid", error: "texts: expected a list of at most 500 texts" }, 400);
    const ids = await knownIds();
    const { texts, path } = read.data;
    const htmls = await inTurn(c, (turn) =>
      Promise.all(texts.map((text) => renderer.render({ text, ids, ...linksFrom(path) }, turn))),
    );
    return c.json({ htmls });
  });

  // For the web only, which sends its page secret: an address in an <img> could not, and is not asked for by itself.
  routes.get("/image", (c) => {
    const found = readImage(app.config.root, c.req.query("path") ?? "");
    if (!found.ok) return refusalAnswer(c, found.problem);
    const { bytes, type } = found.value;
    return c.body(new Uint8Array(bytes), 200, {
      "content-type": type,
      "x-content-type-options": "nosniff",
      "content-disposition": "attachment",
      "content-security-policy": "default-src 'none'; sandbox",
      "cache-control": "no-store",
    });
  });

  routes.post("/comparison", async (c) => {
    const body = await readBody(c);
    if (body instanceof Response) return body;
    const read = two.safeParse(body);
    if (!read.success) return c.json({ status: "invalid", error: "before and after: expected two texts" }, 400);
    const { before, after, path } = read.data;
    const request = { text: after, before, ids: await knownIds(), ...linksFrom(path) };
    const stretches = await inTurn(c, (turn) => renderer.compare(request, turn));
    if (!stretches.ok) return refusalAnswer(c, stretches.problem);
    // It is JSON already; parsing and writing it again would block the server's thread.
    return c.body(`{"stretches":${stretches.value}}`, 200, { "content-type": "application/json" });
  });
  return routes;
}

/** All that one request renders shares one time limit, and ends when its client disconnects. */
const inTurn = <T>(c: Context<Env>, work: (turn: Turn) => Promise<T>): Promise<T> =>
  withTurn(c.get("principal").tokenId, c.req.raw.signal, work);

function tagsOf(text: string, file: string): string[] {
  const yaml = findFrontmatter(text)?.yaml;
  if (yaml === undefined) return [];
  const read = readYaml(yaml, front, { file, maxBytes: 64 * 1024 });
  if (!read.ok) return [];
  const { tags = [] } = read.value.value;
  return (typeof tags === "string" ? tags.split(",") : tags)
    .map((tag) => tag.trim())
    .filter(Boolean)
    .slice(0, 30);
}

const earlier = async (app: App, id: string | undefined, version: number) =>
  id === undefined || !Number.isInteger(version) || version < 1 ? undefined : app.entries.contentAt(id, version);

type Facts = { author: string | null; at: string | null; words?: number };
type ReadPage = { lastAuthor: string | null; entry: { id: string } | null };

async function latestFacts(app: App, { lastAuthor, entry }: ReadPage): Promise<Facts> {
  if (!entry) return { author: lastAuthor, at: null };
  const { updatedAt, wordCount } = (await app.entries.fetch(entry.id)).metadata;
  return { author: lastAuthor, at: updatedAt || null, words: wordCount };
}

/** Author and time of an earlier version. */
async function factsOf(app: App, id: string | undefined, version: number): Promise<Facts> {
  const found = id === undefined ? undefined : await findVersion(app.db.read, id, version);
  return { author: found?.author ?? null, at: found?.at ?? null };
}

const noVersion = (c: Context, path: string, version: string | undefined, latest: number | undefined) =>
  c.json(
    { status: "not_found", error: `${path} has no version ${version}; the latest is ${latest ?? "unknown"}` },
    404,
  );
