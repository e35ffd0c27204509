import { setImmediate } from "node:timers/promises";
import * as z from "zod";
import { newBudget } from "../kernel/bounded-diff.ts";
import { everyone, operation, people, writers } from "../kernel/operation.ts";
import { ok, refuse } from "../kernel/result.ts";
import { mapInTurns } from "../kernel/turns.ts";
import { anyText } from "../search/any-text.ts";
import { readable } from "../search/hit.ts";
import { labelled } from "../search/trusted.ts";
import { findSchemaVersion, latestSchemaVersion } from "../store/queries/schema-versions.ts";
import { countsShape } from "../trust/shown.ts";
import type { EntryMetadata } from "./entry.ts";
import { diffTask } from "./merge/diff-task.ts";
import { findSection, parseSchema, roleName, rolesOf, type Schema, section, sectionId } from "./schema.ts";
import type { WikiApp } from "./wiki-app.ts";

const id = sectionId.describe("Id of the entry, such as vision or api/errors");

const line = z.object({
  id: z.string(),
  title: z.string(),
  version: z.int().describe("0 before the first write"),
  lastAuthor: z.string(),
  wordCount: z.int(),
  mode: z.enum(["snapshot", "log"]),
  summary: z.string().optional(),
  may_write: z.boolean().optional().describe("Whether your role may write it"),
  updated_at: z.string().optional(),
});

type Line = z.infer<typeof line>;

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
  summary: "List the entries: ids, titles, versions, last authors and word counts, without content.",
  guidance:
    "Call it first in every task, then fetch only the 2 to 4 entries you need. It also returns the handoff that waits for your role. " +
    "More than 50 entries are listed as folders: list one with `under`. To find words inside entries, use search.",
  effect: "reads",
  reads: ["entry", "section", "proposal"],
  callers: everyone,
  group: "core",
  http: { method: "get", path: "/entries" },
  input: z.object({
    under: sectionId.optional().describe("List only this folder, such as api"),
    all: z.boolean().default(false).describe("List every entry instead of folders"),
  }),
  output: z.object({
    entries: z.array(line),
    folders: z.array(z.object({ id: z.string(), entries: z.int() })).optional(),
    handoff: z
      .object({ from: z.string(), summary: z.string(), run: z.string(), step: z.int() })
      .nullable()
      .optional()
      .describe("The summary of the previous role"),
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
    const entries = await describeAll(schema.value, shown, role);
    const { handoff } = listed.value;
    return ok({ entries, ...(folders.length > 0 ? { folders } : {}), ...(handoff === undefined ? {} : { handoff }) });
  },
});

/** A page of a large catalogue: the entries at this level and the number of entries in each folder below. */
function collapse(entries: EntryMetadata[], under: string | undefined) {
  const inside = under ? under.length + 1 : 0;
  const folders = new Map<string, number>();
  const shown = entries.filter(({ id }) => {
    const end = id.indexOf("/", inside);
    if (end < 0) return true;
    const folder = id.slice(0, end);
    folders.set(folder, (folders.get(folder) ?? 0) + 1);
    return false;
  });
  return { shown, folders: [...folders].map(([id, count]) => ({ id, entries: count })) };
}

async function describeAll(schema: Schema, entries: EntryMetadata[], role: string | undefined): Promise<Line[]> {
  const lines = await mapInTurns(entries, ({ id, title, version, lastAuthor, wordCount, updatedAt }) => {
    const section = findSection(schema, id);
    if (!section) return undefined;
    const line: Line = { id, title, version, lastAuthor, wordCount, mode: section.mode };
    if (section.summary) line.summary = section.summary;
    if (role === undefined) line.updated_at = updatedAt;
    else line.may_write = section.writable_by.includes(role);
    return line;
  });
  return lines.filter((line) => line !== undefined);
}

export const fetchEntry = operation({
  name: "fetch_entry",
  summary: "Read one entry: content, version and metadata.",
  guidance:
    "Keep the `version`: commit_entry needs it. A turn can read only a few different entries (4 by default); reading one again is free. " +
    "To check a single fact, use search instead.",
  effect: "reads",
  reads: ["entry", "trust"],
  callers: everyone,
  group: "core",
  http: { method: "get", path: "/entries/{id}" },
  input: z.object({ id, version: z.int().min(1).optional().describe("An earlier version; default: the latest") }),
  output: z.object({
    id: z.string(),
    content: z.string(),
    version: z.int(),
    metadata,
    trust: z
      .object({
        counts: countsShape,
        doubts: z.array(z.string()).optional().describe("Passages not to rely on, with the cause; get_trust lists all"),
      })
      .optional()
      .describe("How many passages can be relied on"),
    note: z.string().optional().describe("Set when the content is not that of the file, because it keeps changing"),
  }),
  async run(app: WikiApp, { id, version }, caller) {
    const fetched = await app.knowledge(caller).fetchEntry(id);
    if (!fetched.ok) return fetched;
    const { updatedAt, ...known } = fetched.value.metadata;
    const entry = { ...fetched.value, metadata: { ...known, updated_at: updatedAt } };
    if (version === undefined || version === entry.version) {
      const trust = await app.trust.summary(`entry:${id}`);
      return ok(trust ? { ...entry, trust } : entry);
    }
    const content = await app.entries.contentAt(id, version);
    if (content === undefined)
      return refuse("not_found", `${id} has no version ${version}; the latest is ${entry.version}`);
    return ok({ ...entry, content, version });
  },
});

export const commitEntry = operation({
  name: "commit_entry",
  summary: "Replace the content of a snapshot entry.",
  guidance:
    "Send the entire new content and the version you fetched. For entries of mode log use append_log. " +
    "`conflict`: someone wrote since your fetch and nothing was saved. If the answer has `merged`, check it and commit it with merged_version; otherwise apply your change to latestContent and commit with latestVersion. " +
    "`denied` lists what your role can write. " +
    'Example: {"id": "vision", "content": "# Vision\\n\\nParcels arrive on time.\\n", "version": 3}',
  effect: "writes",
  touches: ["entry"],
  callers: writers,
  group: "core",
  audience: "snapshot-writers",
  http: { method: "put", path: "/entries/{id}" },
  input: z.object({
    id,
    content: z.string().describe("The entire new content in markdown, without frontmatter"),
    version: z.int().min(0).describe("The version that fetch_entry returned"),
  }),
  output: z.object({ status: z.literal("success"), version: z.int() }),
  run: (app: WikiApp, { id, content, version }, caller) => app.knowledge(caller).commitEntry(id, content, version),
});

export const appendLog = operation({
  name: "append_log",
  summary: "Append one line to a log entry.",
  guidance:
    "Use it for decisions, findings and events as they happen. Time, role and run are added in front. One line per call, no line breaks; lines cannot be changed later. It needs no version and never conflicts. " +
    "For entries of mode snapshot use commit_entry.",
  effect: "writes",
  touches: ["entry"],
  callers: writers,
  group: "core",
  audience: "log-writers",
  http: { method: "post", path: "/entries/{id}/log" },
  input: z.object({ id, line: z.string().describe("Plain text, such as: chose SQLite because one process writes") }),
  output: z.object({ status: z.literal("success"), version: z.int(), line: z.string() }),
  run: (app: WikiApp, { id, line }, caller) => app.knowledge(caller).appendLog(id, line),
});

export const transferFocus = operation({
  name: "transfer_focus",
  summary: "End your turn and hand over to the next role of the pipeline.",
  guidance:
    "Call it last, after commit_entry and append_log. The next role reads the summary first: what you did, what is open, which entries to read. " +
    "Handoffs only go forward: an earlier role or your own is replaced by the next role.",
  effect: "writes",
  touches: ["run", "entry"],
  callers: ["agent"],
  group: "core",
  audience: "pipeline",
  http: { method: "post", path: "/focus" },
  input: z.object({
    target: roleName.describe("The next role"),
    summary: z
      .string()
      .trim()
      .min(1, "must not be empty; write a summary for the next role")
      .max(8000)
      .describe("What you did, what is open, what to read"),
  }),
  output: z.object({
    status: z.literal("success"),
    target: z.string().nullable().describe("The role whose turn it is now; null when the run has ended"),
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
  summary: "Search the content of entries.",
  guidance:
    "Returns ranked passages with heading and line; « » mark the matches. Use it to find which entry to fetch or to check a fact without using a read. It searches entries only: search covers everything. " +
    'Query: words or a question; "a phrase" must stand in the text, -word leaves out.',
  effect: "reads",
  reads: ["entry"],
  callers: everyone,
  group: "search",
  http: { method: "get", path: "/search/entries" },
  input: z.object({
    query: anyText.min(1, "the query is empty").max(100_000).describe("Words or a question"),
    limit: z.int().min(1).max(50).default(8).describe("Maximum number of results"),
    section: sectionId.optional().describe("Search only this entry or folder"),
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
        trust: z.string().optional(),
        doubts: z.array(z.string()).optional(),
      }),
    ),
    suggestion: z.string().optional(),
  }),
  async run(app: WikiApp, { query, limit, section }, caller) {
    const schema = await app.schema();
    if (!schema.ok) return schema;
    const scope = app.search.scope(caller, { kinds: ["entry"], ...(section ? { section } : {}) });
    const found = await app.search.find.pages(query, { scope, limit, through: ["node"] });
    const results = (await labelled(app, found.hits)).map((hit) => {
      const { id, title, score, snippet, heading, line, why, trust, doubts } = readable(hit);
      return {
        id,
        title,
        score,
        snippet,
        heading,
        line,
        why,
        ...(trust ? { trust } : {}),
        ...(doubts ? { doubts } : {}),
      };
    });
    return ok({ results, ...(found.suggestion ? { suggestion: found.suggestion } : {}) });
  },
});

export const entryHistory = operation({
  name: "entry_history",
  summary: "List the versions of an entry with author, role and time.",
  effect: "reads",
  reads: ["entry"],
  callers: people,
  group: "pages",
  http: { method: "get", path: "/entries/{id}/history" },
  input: z.object({
    id,
    limit: z.int().min(1).max(500).default(20).describe("Maximum number of versions, newest first"),
    diff: z.boolean().default(false).describe("Include the diff of each version"),
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
    let { left } = newBudget();
    const withDiffs: ((typeof versions)[number] & { diff: string })[] = [];
    for (const version of versions) {
      const [before, after] = await Promise.all([text(version.version - 1), text(version.version)]);
      const names: [string, string] = [`${id} ${version.version - 1}`, `${id} ${version.version}`];
      const found = await app.threads.run(diffTask, { before, after, names, left });
      if (found.ok) left = found.value.left;
      withDiffs.push({ ...version, diff: found.ok ? found.value.diff : `(${found.problem.message})\n` });
      // Other requests get a turn between two diffs.
      await setImmediate();
    }
    return ok({ versions: withDiffs });
  },
});

export const showSchema = operation({
  name: "show_schema",
  summary: "Show the sections with their writers, the pipeline and the roles.",
  effect: "reads",
  reads: ["section", "proposal"],
  callers: people,
  group: "pages",
  http: { method: "get", path: "/schema" },
  input: z.object({
    version: z.int().min(1).optional().describe("An earlier version; default: the one in force"),
  }),
  output: z.object({
    sections: z.array(section),
    pipeline: z.array(z.string()),
    roles: z.array(z.string()),
    text: z.string().optional().describe("The text of the requested version"),
    warning: z.string().optional().describe("Why schema.yaml is not in force"),
  }),
  async run(app: WikiApp, { version }) {
    const current = await app.schema();
    const row = version === undefined ? undefined : await findSchemaVersion(app.db.read, version);
    if (version !== undefined && !row)
      return refuse(
        "not_found",
        `schema.yaml has no version ${version}; the latest is ${await latestSchemaVersion(app.db.read)}`,
      );
    const schema = row ? parseSchema(row.content, `schema.yaml, version ${row.version}`) : current;
    if (!schema.ok) return schema;
    const { sections, pipeline } = schema.value;
    const warning = app.schemaWarning();
    return ok({
      sections,
      pipeline,
      roles: rolesOf(schema.value),
      ...(row ? { text: row.content } : {}),
      ...(warning ? { warning } : {}),
    });
  },
});
