import * as z from "zod";
import { newBudget } from "../../kernel/bounded-diff.ts";
import { hunksBetween, unifiedDiff } from "../../kernel/hunks.ts";
import { collaborators, operation, people } from "../../kernel/operation.ts";
import { ok, refuse } from "../../kernel/result.ts";
import { parseJsonOr } from "../../store/json.ts";
import { findSchemaVersion, schemaVersions } from "../../store/queries/schema-versions.ts";
import { section, sectionId } from "../schema.ts";
import type { WikiApp } from "../wiki-app.ts";
import { noChanges } from "./changes.ts";
import { previewRename, renameSection as rename } from "./rename.ts";

const words = z.array(z.string());

export const schemaHistory = operation({
  name: "schema_history",
  summary: "List the versions of schema.yaml with author, time and what changed.",
  effect: "reads",
  reads: ["section"],
  callers: people,
  group: "pages",
  http: { method: "get", path: "/schema/history" },
  input: z.object({
    limit: z.int().min(1).max(500).default(20).describe("Maximum number of versions, newest first"),
    diff: z.boolean().default(false).describe("Include the diff of each version"),
  }),
  output: z.object({
    versions: z.array(
      z.object({
        version: z.int(),
        author: z.string(),
        at: z.string(),
        summary: z.string(),
        changes: z.object({
          added: words,
          removed: words,
          renamed: words,
          widened: words.describe("What agents may do since then"),
          narrowed: words.describe("What agents may no longer do"),
          other: words,
        }),
        diff: z.string().optional(),
      }),
    ),
    warning: z.string().optional().describe("Why schema.yaml is not in force"),
  }),
  async run(app: WikiApp, { limit, diff }) {
    await app.schema();
    const rows = await schemaVersions(app.db.read, limit);
    const budget = newBudget();
    const text = async (version: number) => (await findSchemaVersion(app.db.read, version))?.content ?? "";
    const versions = await Promise.all(
      rows.map(async ({ changes, ...row }) => {
        const found = { ...row, changes: parseJsonOr(changes, noChanges) };
        if (!diff) return found;
        const names = [`schema ${row.version - 1}`, `schema ${row.version}`] as const;
        const [before, after] = await Promise.all([text(row.version - 1), text(row.version)]);
        return { ...found, diff: unifiedDiff(...names, hunksBetween(before, after, { context: 2, budget })) };
      }),
    );
    const warning = app.schemaWarning();
    return ok({ versions, ...(warning ? { warning } : {}) });
  },
});

export const previewSectionRename = operation({
  name: "preview_section_rename",
  summary: "Show the lines that renaming a section changes, and the links that stay; changes nothing.",
  effect: "reads",
  reads: ["section", "entry", "page"],
  callers: collaborators,
  group: "pages",
  http: { method: "get", path: "/sections/{id}/rename" },
  input: z.object({
    id: sectionId.describe("Id of the section"),
    new_id: sectionId.describe("The id to try"),
  }),
  output: z.object({
    relinked: z
      .array(
        z.object({
          path: z.string(),
          lines: z.array(z.object({ line: z.int(), before: z.string(), after: z.string() })),
        }),
      )
      .describe("Entries and other pages whose links change, with their lines"),
    left: z
      .array(z.object({ path: z.string(), reason: z.string() }))
      .describe("Entries and pages that would still link to the old id"),
  }),
  run: (app: WikiApp, { id, new_id }) => previewRename(app, { from: id, to: new_id }),
});

export const renameSection = operation({
  name: "rename_section",
  summary: "Rename a section: history, links, topics, proposals and edges move to the new id.",
  effect: "writes",
  touches: ["section", "entry", "page", "topic", "proposal", "perspective", "node"],
  callers: collaborators,
  decision: true,
  group: "pages",
  http: { method: "post", path: "/sections/{id}/rename" },
  input: z.object({
    id: sectionId.describe("Id of the section"),
    new_id: sectionId.describe("Its new id"),
    title: section.shape.title.optional().describe("Its new title; default: unchanged"),
  }),
  output: z.object({
    id: z.string(),
    version: z.int().describe("The version of the entry; 0 if nobody has written it"),
    relinked: z.array(z.string()).describe("Entries, by id, and other pages, by path, whose links were changed"),
    left: z
      .array(z.object({ path: z.string(), reason: z.string() }))
      .describe("Entries and pages that still link to the old id"),
  }),
  async run(app: WikiApp, { id, new_id, title }, caller) {
    if (caller.kind !== "person") return refuse("denied", "only a person can rename a section");
    const by = { name: caller.name, ...(caller.email ? { email: caller.email } : {}) };
    return rename(app, { from: id, to: new_id, title }, by);
  },
});
