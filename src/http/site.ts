import { type Context, Hono } from "hono";
import type { App } from "../app.ts";
import { requireSection } from "../wiki/contract.ts";
import type { EntryMetadata } from "../wiki/entry.ts";
import type { Schema } from "../wiki/schema.ts";
import type { Env } from "./api.ts";
import { renderMarkdown } from "./markdown.ts";
import { cataloguePage, entryPage, messagePage, type PageEntry, sourcesPage } from "./pages.ts";

const keptPages = 200;

/** The catalogue, entries and sources, readable in a browser, until the web application takes over. */
export function siteRoutes(app: App): Hono<Env> {
  const site = new Hono<Env>();
  const rendered = new Map<string, string>();

  site.get("/", async (c) => {
    const schema = await app.schema();
    if (!schema.ok) return broken(c, schema.problem.message);
    const query = c.req.query("q")?.trim();
    const entries = (await app.entries.list()).map((entry) => describe(schema.value, entry));
    const hits = query ? await app.search.search(query, { limit: 30 }) : [];
    return c.html(await cataloguePage({ ...place(app, c), entries, ...(query ? { query, hits } : {}) }));
  });

  site.get("/entries/:id", async (c) => {
    const schema = await app.schema();
    if (!schema.ok) return broken(c, schema.problem.message);
    const id = c.req.param("id");
    const section = requireSection(schema.value, id);
    if (!section.ok) return missing(c, section.problem.message);
    const latest = await app.entries.fetch(id);
    const version = Number(c.req.query("version") ?? latest.version);
    const content = version === latest.version ? latest.content : await app.entries.contentAt(id, version);
    if (content === undefined) return missing(c, `${id} has no version ${version}; the latest is ${latest.version}`);

    const ids = new Set(schema.value.sections.map((known) => known.id));
    const key = `${id} ${version} ${schema.value.sections.length}`;
    const html =
      rendered.get(key) ??
      renderMarkdown(content, {
        linkTo: (target) => (ids.has(target) ? `/entries/${encodeURIComponent(target)}` : undefined),
      });
    rendered.set(key, html);
    if (rendered.size > keptPages) rendered.delete(rendered.keys().next().value as string);
    const history = await app.entries.history(id, 50);
    const entry = { ...describe(schema.value, latest.metadata), version, content };
    return c.html(await entryPage({ ...place(app, c), entry, html, history }));
  });

  site.get("/sources", async (c) => c.html(await sourcesPage({ ...place(app, c), sources: await app.sources.list() })));
  site.notFound((c) => missing(c, "There is no such page."));
  return site;
}

const place = (app: App, c: Context<Env>) => ({
  workspace: app.config.name,
  person: c.get("principal").person?.name ?? "",
});

function describe(schema: Schema, entry: EntryMetadata): PageEntry {
  const section = schema.sections.find((known) => known.id === entry.id);
  const { id, title, version, lastAuthor, wordCount, updatedAt } = entry;
  return {
    id,
    title,
    version,
    lastAuthor,
    wordCount,
    updatedAt,
    mode: section?.mode ?? "snapshot",
    writableBy: section?.writable_by ?? [],
    ...(section?.summary ? { summary: section.summary } : {}),
  };
}

const missing = async (c: Context, message: string) => c.html(await messagePage({ title: "Not here", message }), 404);

const broken = async (c: Context, message: string) =>
  c.html(
    await messagePage({
      title: "The schema cannot be read",
      message,
      hint: "Mend the line it names; this page then comes back.",
    }),
    500,
  );
