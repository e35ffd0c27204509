import { statSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { nameOf } from "../../kernel/caller.ts";
import { collaborators, everyone, operation, people } from "../../kernel/operation.ts";
import { ok, refuse } from "../../kernel/result.ts";
import { snakeKeys } from "../../kernel/wire.ts";
import { noSuch } from "../../store/no-such.ts";
import { sourceText } from "../searchable.ts";
import type { WikiApp } from "../wiki-app.ts";
import { followFolder } from "./follow.ts";

const source = z.object({ path: z.string(), sha256: z.string(), size: z.int(), added_by: z.string(), at: z.string() });

export const addSource = operation({
  name: "add_source",
  summary: "Add a source: a raw input that never changes.",
  effect: "writes",
  touches: ["source"],
  callers: collaborators,
  group: "sources",
  http: { method: "post", path: "/sources" },
  input: z.object({
    name: z.string().describe("Path in the sources folder, such as incidents/2026-10-02.txt"),
    content: z.string().describe("The file's content"),
    encoding: z.enum(["utf8", "base64"]).default("utf8").describe("How `content` is encoded"),
  }),
  output: source.extend({ added: z.boolean().describe("false if the same bytes were already there") }),
  async run(app: WikiApp, { name, content, encoding }, caller) {
    const added = await app.sources.add(name, Buffer.from(content, encoding), authorFor(caller));
    return added.ok ? ok(snakeKeys(added.value)) : added;
  },
});

export const listSources = operation({
  name: "list_sources",
  summary: "List the sources: raw inputs such as documents and logs, with their hashes.",
  guidance: "search finds text inside them; read_source reads one.",
  effect: "reads",
  reads: ["source"],
  callers: everyone,
  group: "sources",
  http: { method: "get", path: "/sources" },
  input: z.object({}),
  output: z.object({ sources: z.array(source) }),
  run: async (app: WikiApp) => ok({ sources: (await app.sources.list()).map(snakeKeys) }),
});

/** Maximum number of characters in one answer. */
const longestPart = { agent: 20_000, person: 400_000 };

export const readSource = operation({
  name: "read_source",
  summary: "Read the text of a source, also of a PDF or Word file.",
  guidance:
    "Long sources are returned in parts: continue with `offset`. To find a passage use search with type:source.",
  effect: "reads",
  reads: ["source"],
  callers: everyone,
  group: "sources",
  http: { method: "get", path: "/sources/text" },
  input: z.object({
    path: z.string().max(1000).describe("The path in the sources folder, as list_sources shows it"),
    offset: z.int().min(0).default(0).describe("Start at this character: `next` of the previous answer"),
  }),
  output: source.extend({
    content: z.string().nullable().describe("The extracted text; null if the file has none"),
    truncated: z.boolean().describe("Whether there is more after this part"),
    next: z.int().optional().describe("The offset of the next part"),
  }),
  async run(app: WikiApp, { path, offset }, caller) {
    const found = (await app.sources.list()).find((source) => source.path === path);
    if (!found) return noSuch(app.db.read, "source", path);
    const text = (await sourceText(app.db, join(app.config.root, app.config.sources), found)) ?? null;
    if (text === null) return ok({ ...snakeKeys(found), content: null, truncated: false });
    const next = offset + longestPart[caller.kind];
    const truncated = next < text.length;
    const content = text.slice(offset, next);
    return ok({ ...snakeKeys(found), content, truncated, ...(truncated ? { next } : {}) });
  },
});

export const verifySources = operation({
  name: "verify_sources",
  summary: "Check that no source was changed or removed.",
  effect: "reads",
  reads: ["source"],
  callers: people,
  group: "sources",
  http: { method: "get", path: "/sources/verify" },
  input: z.object({}),
  output: z.object({
    intact: z.int(),
    changed: z.array(z.object({ path: z.string(), expected: z.string(), found: z.string() })),
    missing: z.array(z.object({ path: z.string(), expected: z.string() })),
    unknown: z.array(z.string()),
  }),
  run: async (app: WikiApp) => ok(await app.sources.verify()),
});

export const followSources = operation({
  name: "follow_folder",
  summary: "Synchronise the sources with a folder of this machine.",
  effect: "writes",
  touches: ["source"],
  // Not available over HTTP, because it reads any path of the machine.
  callers: ["admin"],
  group: "sources",
  input: z.object({ folder: z.string().min(1).max(4000).describe("Absolute path of the folder") }),
  output: z.object({
    changes: z.array(
      z.object({
        kind: z.enum(["added", "changed", "removed", "refused"]),
        file: z.string(),
        source: z.string().optional(),
        why: z.string().optional(),
      }),
    ),
  }),
  async run(app: WikiApp, { folder }, caller) {
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
      return refuse("not_found", `folder ${folder} does not exist`);
    return ok({ changes: await followFolder(app, folder, authorFor(caller)) });
  },
});

const authorFor = (caller: Parameters<typeof nameOf>[0]) =>
  caller.kind === "person" && caller.email ? { name: caller.name, email: caller.email } : { name: nameOf(caller) };
