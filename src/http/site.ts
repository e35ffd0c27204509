import { type Context, Hono } from "hono";
import type { App } from "../app.ts";
import { requireSection } from "../wiki/contract.ts";
import type { EntryMetadata } from "../wiki/entry.ts";
import type { Section } from "../wiki/schema.ts";
import type { Env } from "./api.ts";
import { cataloguePage, entryPage, messagePage, type PageEntry, sourcesPage } from "./pages.ts";
import type { Renderer } from "./renderer.ts";

/** The catalogue, entries and sources, readable in a browser, until the web application takes over. */
export function siteRoutes(app: App, renderer: Renderer): Hono<Env> {
  const site = new Hono<Env>();
  const place = (c: Context<Env>) => ({ workspace: app.config.name, person: c.get("principal").person?.name ?? "" });

  const missing = (c: Context<Env>, message: string) =>
    c.html(messagePage({ ...place(c), title: "Not here", message }), 404);

  const broken = (c: Context<Env>, message: string) => {
    const hint = "Mend the line it names; this page then comes back.";
    return c.html(messagePage({ ...place(c), title: "The schema cannot be read", message, hint }), 500);
  };

  site.use(async (c, next) => {
    if (c.get("principal").person) return next();
    // Pages know no read cap and no turn, so an agent reads through its operations only.
    return c.json({ status: "denied", error: "pages are for people; an agent reads with fetch_entry" }, 403);
  });

  site.get("/", async (c) => {
    const schema = await app.schema();
    if (!schema.ok) return broken(c, schema.problem.message);
    const query = c.req.query("q")?.trim();
    const sections = new Map(schema.value.sections.map((known) => [known.id, known]));
    const entries = (await app.entries.list()).map((entry) => describe(sections.get(entry.id), entry));
    const hits = query ? await app.search.search(query, { limit: 30 }) : [];
    return c.html(cataloguePage({ ...place(c), entries, ...(query ? { query, hits } : {}) }));
  });

  site.get("/entries/:id", async (c) => {
    const schema = await app.schema();
    if (!schema.ok) return broken(c, schema.problem.message);
    const id = c.req.param("id");
    const section = requireSection(schema.value, id);
    if (!section.ok) return missing(c, `There is no entry ${id}.`);
    const latest = await app.entries.fetch(id);
    const wanted = c.req.query("version") ?? String(latest.version);
    const version = /^\d{1,9}$/.test(wanted) ? Number(wanted) : -1;
    const content = version === latest.version ? latest.content : await app.entries.contentAt(id, version);
    if (content === undefined)
      return missing(c, `The entry ${id} has no version ${wanted}. The latest is version ${latest.version}.`);

    const html = await renderer.render({ text: content, ids: schema.value.sections.map((known) => known.id) });
    const history = await app.entries.history(id, 50);
    const entry = { ...describe(section.value, latest.metadata), version, content };
    return c.html(entryPage({ ...place(c), entry, html, history }));
  });

  site.get("/sources", async (c) => c.html(sourcesPage({ ...place(c), sources: await app.sources.list() })));
  site.all("*", (c) => missing(c, "There is no such page."));
  return site;
}

function describe(section: Section | undefined, entry: EntryMetadata): PageEntry {
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
