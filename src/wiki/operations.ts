import { createTwoFilesPatch } from "diff";
import * as z from "zod";
import { rolesInPipeline, writersOf } from "../kernel/audience.ts";
import { everyone, operation, people, writers } from "../kernel/operation.ts";
import { ok, refuse } from "../kernel/result.ts";
import { readable } from "../search/hit.ts";
import type { EntryMetadata } from "./entry.ts";
import { roleName, rolesOf, type Schema, section, sectionId } from "./schema.ts";
import type { WikiApp } from "./wiki-app.ts";

const id = sectionId.describe("The entry's id as list_entries shows it, such as vision or api/errors");

const line = z.object({
  id: z.string(),
  title: z.string(),
  version: z.int().describe("0 when nobody has written it yet"),
  lastAuthor: z.string(),
  wordCount: z.int(),
  mode: z.enum(["snapshot", "log"]),
  summary: z.string().optional(),
  may_write: z.boolean().optional().describe("Whether your role may write it"),
  updated_at: z.string().optional(),
});

const metadata = z.object({
  id: z.string(),
  title: z.string(),
  version: z.int(),
  lastAuthor: z.string(),
  wordCount: z.int(),
  updated_at: z.string(),
});

const catalogueSize = 50;

export const listEntries = operation({
  name: "list_entries",
  summary: "List the entries of the knowledge base, without their texts.",
  guidance:
    "Start every turn with this. It costs little: ids, titles, versions, last authors and word counts, no bodies. " +
    "It also gives you the handoff that the role before you wrote. Then fetch only the 2 to 4 entries that your task needs. " +
    "Large bases show folders: list one with `under`.",
  effect: "reads",
  reads: ["entry", "section", "proposal"],
  callers: everyone,
  http: { method: "get", path: "/entries" },
  input: z.object({
    under: sectionId.optional().describe("List only this folder, such as api"),
    all: z.boolean().default(false).describe("List every entry, however many there are"),
  }),
  output: z.object({
    entries: z.array(line),
    folders: z.array(z.object({ id: z.string(), entries: z.int() })).optional(),
    handoff: z
      .object({ from: z.string(), summary: z.string(), run: z.string(), step: z.int() })
      .nullable()
      .optional()
      .describe("What the role before yours left for you"),
  }),
  async run(app: WikiApp, { under, all }, caller) {
    const listed = await app.knowledge(caller).listEntries();
    if (!listed.ok) return listed;
    const schema = await app.schema();
    if (!schema.ok) return schema;
    const role = caller.kind === "agent" ? caller.role : undefined;
    const inside = listed.value.entries.filter(
      (entry) => !under || entry.id === under || entry.id.startsWith(`${under}/`),
    );
    const { shown, folders } =
      all || inside.length <= catalogueSize ? { shown: inside, folders: [] } : collapse(inside, under);
    const entries = describeAll(schema.value, shown, role);
    const { handoff } = listed.value;
    return ok({ entries, ...(folders.length > 0 ? { folders } : {}), ...(handoff === undefined ? {} : { handoff }) });
  },
});

/** A page of a large catalogue: the entries at this level and the number of entries in each folder below. */
function collapse(entries: EntryMetadata[], under: string | undefined) {
  const depth = under ? under.split("/").length : 0;
  const folders = new Map<string, number>();
  const shown = entries.filter(({ id }) => {
    const parts = id.split("/");
    if (parts.length <= depth + 1) return true;
    const folder = parts.slice(0, depth + 1).join("/");
    folders.set(folder, (folders.get(folder) ?? 0) + 1);
    return false;
  });
  return { shown, folders: [...folders].map(([id, count]) => ({ id, entries: count })) };
}

function describeAll(schema: Schema, entries: EntryMetadata[], role: string | undefined): z.infer<typeof line>[] {
  const sections = new Map(schema.sections.map((s) => [s.id, s]));
  return entries.flatMap(({ updatedAt, ...entry }) => {
    const section = sections.get(entry.id);
    if (!section) return [];
    return [
      {
        ...entry,
        mode: section.mode,
        ...(section.summary ? { summary: section.summary } : {}),
        ...(role === undefined ? { updated_at: updatedAt } : { may_write: section.writable_by.includes(role) }),
      },
    ];
  });
}

export const fetchEntry = operation({
  name: "fetch_entry",
  summary: "Read one entry: its text, version and metadata.",
  guidance:
    "Remember the `version`: commit_entry needs it. A turn may fetch only a few different entries (4 unless the schema says otherwise); " +
    "fetching one again, after a conflict for example, is free.",
  effect: "reads",
  reads: ["entry"],
  callers: everyone,
  http: { method: "get", path: "/entries/{id}" },
  input: z.object({ id, version: z.int().min(1).optional().describe("An earlier version; the latest if left out") }),
  output: z.object({ id: z.string(), content: z.string(), version: z.int(), metadata }),
  async run(app: WikiApp, { id, version }, caller) {
    const fetched = await app.knowledge(caller).fetchEntry(id);
    if (!fetched.ok) return fetched;
    const { updatedAt, ...known } = fetched.value.metadata;
    const entry = { ...fetched.value, metadata: { ...known, updated_at: updatedAt } };
    if (version === undefined || version === entry.version) return ok(entry);
    const content = await app.entries.contentAt(id, version);
    if (content === undefined)
      return refuse("not_found", `${id} has no version ${version}; the latest is ${entry.version}`);
    return ok({ ...entry, content, version });
  },
});

export const commitEntry = operation({
  name: "commit_entry",
  summary: "Replace the body of a snapshot entry.",
  guidance:
    "Send the whole new body (markdown, without frontmatter) and the version you fetched. " +
    "If someone wrote in between, nothing is overwritten and you get status `conflict` with latestContent and latestVersion: " +
    "when `merged` is there, check it and commit it with merged_version; otherwise bring your change into latestContent and commit that with latestVersion. " +
    "Status `denied` tells what your role may write.",
  effect: "writes",
  touches: ["entry"],
  callers: writers,
  visibleTo: writersOf("snapshot"),
  http: { method: "put", path: "/entries/{id}" },
  input: z.object({
    id,
    content: z.string().describe("The whole new body, in markdown"),
    version: z.int().min(0).describe("The version you read; 0 for an entry that nobody has written yet"),
  }),
  output: z.object({ status: z.literal("success"), version: z.int() }),
  run: (app: WikiApp, { id, content, version }, caller) => app.knowledge(caller).commitEntry(id, content, version),
});

export const appendLog = operation({
  name: "append_log",
  summary: "Add one line to the end of a log entry.",
  guidance:
    "Time, your role and the run are put in front of it. One line of plain text, no line breaks; earlier lines cannot be changed by anyone. " +
    "Needs no version: appends never conflict.",
  effect: "writes",
  touches: ["entry"],
  callers: writers,
  visibleTo: writersOf("log"),
  http: { method: "post", path: "/entries/{id}/log" },
  input: z.object({ id, line: z.string().describe("One line, such as: chose SQLite because one process writes") }),
  output: z.object({ status: z.literal("success"), version: z.int(), line: z.string() }),
  run: (app: WikiApp, { id, line }, caller) => app.knowledge(caller).appendLog(id, line),
});

export const transferFocus = operation({
  name: "transfer_focus",
  summary: "End your turn and hand over to the next role.",
  guidance:
    "Every turn ends with this, after your work is committed or appended. The summary is what the next role sees: what you did, what is open, which entries to read. " +
    "Handoffs only move forward along the pipeline; asking for an earlier role or your own sends the focus to the next one.",
  effect: "writes",
  touches: ["run", "entry"],
  callers: ["agent"],
  visibleTo: rolesInPipeline,
  http: { method: "post", path: "/focus" },
  input: z.object({
    target: roleName.describe("The role to hand over to"),
    summary: z
      .string()
      .trim()
      .min(1, "must not be empty; write a summary for the next role")
      .max(8000)
      .describe("For the next role"),
  }),
  output: z.object({
    status: z.literal("success"),
    target: z.string().nullable().describe("Who has the focus now; null when the run has ended"),
    requested: z.string(),
    forced: z.boolean(),
    run: z.string(),
    step: z.int(),
    ended: z.string().optional(),
    message: z.string().optional(),
  }),
  run: (app: WikiApp, { target, summary }, caller) => app.knowledge(caller).transferFocus(target, summary),
});

export const searchEntries = operation({
  name: "search_entries",
  summary: "Search the texts of all entries.",
  guidance:
    "Ranked passages with « » around what matched, and the heading and line they stand under. Use it to find which entry to fetch, or to check one fact without spending a read. " +
    "Words or a whole question; there are no operators. `suggestion` is what was probably meant by a word that nobody wrote.",
  effect: "reads",
  reads: ["entry"],
  callers: everyone,
  http: { method: "get", path: "/search/entries" },
  input: z.object({
    query: z.string().trim().min(1, "must not be empty").max(2000).describe("Words to look for"),
    limit: z.int().min(1).max(50).default(8).describe("How many results at the most"),
    section: sectionId.optional().describe("Only this entry, or the entries of this folder"),
  }),
  output: z.object({
    results: z.array(
      z.object({
        id: z.string(),
        title: z.string(),
        score: z.number(),
        snippet: z.string(),
        heading: z.string(),
        line: z.int(),
        why: z.array(z.string()),
      }),
    ),
    suggestion: z.string().optional(),
  }),
  async run(app: WikiApp, { query, limit, section }, caller) {
    const schema = await app.schema();
    if (!schema.ok) return schema;
    const scope = app.search.scope(caller, { kinds: ["entry"], ...(section ? { section } : {}) });
    const found = await app.search.find.pages(query, { scope, limit, through: ["node"] });
    const results = found.hits.map((hit) => {
      const { id, title, score, snippet, heading, line, why } = readable(hit);
      return { id, title, score, snippet, heading, line, why };
    });
    return ok({ results, ...(found.suggestion ? { suggestion: found.suggestion } : {}) });
  },
});

export const entryHistory = operation({
  name: "entry_history",
  summary: "List the versions of an entry: who, in which role, when, and what changed.",
  effect: "reads",
  reads: ["entry"],
  callers: people,
  http: { method: "get", path: "/entries/{id}/history" },
  input: z.object({
    id,
    limit: z.int().min(1).max(500).default(20).describe("How many versions at the most, newest first"),
    diff: z.boolean().default(false).describe("Show what each version changed"),
  }),
  output: z.object({
    versions: z.array(
      z.object({
        version: z.int(),
        author: z.string(),
        role: z.string().nullable(),
        run: z.string().nullable(),
        task: z.string().nullable(),
        epoch: z.int().nullable(),
        at: z.string(),
        summary: z.string(),
        diff: z.string().optional(),
      }),
    ),
  }),
  async run(app: WikiApp, { id, limit, diff }, caller) {
    const entry = await app.knowledge(caller).fetchEntry(id);
    if (!entry.ok) return entry;
    const versions = await app.entries.history(id, limit);
    if (!diff) return ok({ versions });
    const text = async (version: number) =>
      (await app.entries.contentAt(id, version)) ?? "(this version is no longer in git)\n";
    const withDiffs = versions.map(async (version) => {
      const [before, after] = await Promise.all([text(version.version - 1), text(version.version)]);
      const names = [`${id} ${version.version - 1}`, `${id} ${version.version}`] as const;
      return { ...version, diff: createTwoFilesPatch(...names, before, after, undefined, undefined, { context: 2 }) };
    });
    return ok({ versions: await Promise.all(withDiffs) });
  },
});

export const showSchema = operation({
  name: "show_schema",
  summary: "Show the sections of the knowledge base with who may write them, and the roles there are.",
  effect: "reads",
  reads: ["section", "proposal"],
  callers: people,
  http: { method: "get", path: "/schema" },
  input: z.object({}),
  output: z.object({
    sections: z.array(section),
    pipeline: z.array(z.string()),
    roles: z.array(z.string()),
  }),
  async run(app: WikiApp) {
    const schema = await app.schema();
    if (!schema.ok) return schema;
    const { sections, pipeline } = schema.value;
    return ok({ sections, pipeline, roles: rolesOf(schema.value) });
  },
});
