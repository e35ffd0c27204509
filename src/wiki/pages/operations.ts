import * as z from "zod";
import { operation, people } from "../../kernel/operation.ts";
import { ok } from "../../kernel/result.ts";
import type { WikiApp } from "../wiki-app.ts";
import { titleOf } from "./title.ts";

const path = z.string().max(1000).describe("Path of the page, such as docs/deploy.md");

export const listPages = operation({
  name: "list_pages",
  summary: "List the pages: all markdown files of the workspace, including entries.",
  effect: "reads",
  reads: ["entry", "page"],
  callers: people,
  group: "pages",
  http: { method: "get", path: "/pages" },
  input: z.object({
    others: z.boolean().default(false).describe("Only pages that are not entries"),
  }),
  output: z.object({ pages: z.array(z.object({ path: z.string(), entry: z.string().nullable() })) }),
  async run(app: WikiApp, { others }) {
    const schema = await app.schema();
    const ids = schema.ok ? schema.value.sections.map(({ id }) => id) : [];
    const entryAt = new Map(ids.map((id) => [`${app.config.wiki}/${id}.md`, id]));
    const paths = await app.pages.list(others ? "others" : "all");
    return ok({ pages: paths.map((path) => ({ path, entry: entryAt.get(path) ?? null })) });
  },
});

export const readPage = operation({
  name: "read_page",
  summary: "Read a page: content, title, last author and git blob.",
  effect: "reads",
  reads: ["entry", "page"],
  callers: people,
  group: "pages",
  http: { method: "get", path: "/pages/{path}" },
  input: z.object({ path }),
  output: z.object({
    path: z.string(),
    content: z.string().describe("The entire file, frontmatter included"),
    source_sha: z.string().describe("Git blob of the content: the base of a proposal"),
    title: z.string(),
    entry: z.object({ id: z.string(), version: z.int(), mode: z.enum(["snapshot", "log"]) }).nullable(),
    lastAuthor: z.string().nullable().describe("Last author, from the index or git"),
  }),
  async run(app: WikiApp, { path }) {
    const page = await app.pages.read(path);
    if (!page.ok) return page;
    const { text, blob, entry } = page.value;
    const lastAuthor = entry?.metadata.lastAuthor || (await app.git.lastAuthor(path));
    return ok({
      path,
      content: text,
      source_sha: blob,
      title: titleOf(text, path),
      entry: entry ? { id: entry.id, version: entry.metadata.version, mode: entry.mode } : null,
      lastAuthor: lastAuthor || null,
    });
  },
});
