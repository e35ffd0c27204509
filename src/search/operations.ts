import * as z from "zod";
import type { Caller } from "../kernel/caller.ts";
import { suggest } from "../kernel/nearest.ts";
import { everyone, operation, people } from "../kernel/operation.ts";
import { ok, refuse } from "../kernel/result.ts";
import type { Scope } from "../store/queries/search/scope.ts";
import { anyText } from "./any-text.ts";
import { type Hit, readable, refOf } from "./hit.ts";
import { installModel, isInstalled, localModel } from "./model/model.ts";
import { notesWithin } from "./notes.ts";
import { readQuery } from "./query.ts";
import { type RecalledPassage, recallPassages, sizeOf, suggestionWithin, withinBytes } from "./recall.ts";
import type { SearchApp } from "./search-app.ts";
import { labelled, type Trusted } from "./trusted.ts";

/** Longer texts are cut, see `searchTerms`: the limit is on the work and not on the question. */
const query = anyText.min(1, "must not be empty").max(100_000);

const place = z.object({
  heading: z.string().describe("The headings above it"),
  line: z.int().describe("The line where it begins"),
});

/** Not described where agents read it: the words say it, and descriptions cost context. */
const trusted = {
  trust: z.string().optional(),
  doubts: z.array(z.string()).optional(),
};

const result = place.extend({
  ref: z.string().describe("For citing it, as in [[entry:vision]]"),
  type: z.string().describe("entry, page, source, task, node or another of `types`"),
  id: z.string(),
  title: z.string(),
  score: z.number(),
  snippet: z.string().describe("The words around the match, which « » mark; with `passages`, the passage verbatim"),
  why: z.array(z.string()).describe("Why it is among the results"),
  author: z.string(),
  at: z.string(),
  ...trusted,
  more: z.array(place.extend({ snippet: z.string() })).describe("Further matches in the same document"),
});

const joints = {
  nodes: z.array(z.object({ id: z.string(), type: z.string(), title: z.string() })),
  edges: z.array(z.object({ from: z.string(), type: z.string(), to: z.string() })),
};

const budget = z.int().min(1000).max(24_000);

/** Maximum size of an agent's answer in bytes, about 1,500 tokens. */
const usualBudget = 6000;

export const search = operation({
  name: "search",
  summary: "Search everything that is written down: entries, pages, sources, tasks and the graph.",
  guidance:
    "Use it to find which entry to fetch, and to check a fact; it uses no read. " +
    "By default: one result per document with a short snippet. With `passages: true`: the best passages verbatim, to answer a question without fetching. " +
    'Query: words or a question; narrow it with "a phrase", -word, type:, section:, author:, before:, after:. Example: {"query": "why SQLite type:entry", "passages": true}',
  effect: "reads",
  reads: ["entry", "page", "source", "topic", "task", "node", "trust"],
  callers: everyone,
  group: "core",
  http: { method: "get", path: "/search" },
  input: z.object({
    query: query.describe("Words or a question"),
    passages: z.boolean().default(false).describe("Return whole passages instead of snippets"),
    limit: z.int().min(1).max(50).default(10).describe("Maximum number of results"),
    section: z.string().max(200).optional().describe("Search only this entry or folder"),
    budget: budget.optional().describe(`Maximum size of the answer in bytes; ${usualBudget} for agents if left out`),
  }),
  output: z.object({
    results: z.array(result),
    omitted: z.int().describe("How many results did not fit the budget"),
    nodes: joints.nodes.optional().describe("With `passages`: nodes that connect the results"),
    edges: joints.edges.optional().describe("With `passages`: edges between the results"),
    suggestion: z.string().optional().describe("The query with its spelling corrected"),
    notes: z.array(z.string()).describe("Limits of these results, and filters that were ignored"),
    types: z.array(z.string()).describe("The types that can be searched"),
  }),
  async run(app: SearchApp, { query, passages, limit, section, budget }, caller) {
    const schema = await app.schema();
    if (!schema.ok) return schema;
    const { words, types, complaints, ignored, ...narrowed } = readQuery(query);
    const strange = types.find((type) => !app.search.kinds.includes(type));
    const complaint =
      strange === undefined ? complaints[0] : `type: unknown type ${strange}; ${suggest(strange, app.search.kinds)}`;
    if (complaint !== undefined) return refuse("invalid", complaint);
    const bytes = budget ?? (caller.kind === "agent" ? usualBudget : Number.POSITIVE_INFINITY);
    const notes = notesWithin(ignored, bytes / 8);
    if (words === "") {
      notes.push("add at least one word to the filters");
      return ok({ results: [], omitted: 0, notes, types: app.search.kinds });
    }
    const kinds = types.length > 0 ? { kinds: types } : {};
    const scope = app.search.scope(caller, { ...narrowed, ...(section ? { section } : {}), ...kinds });
    // Filters that would take much of the answer are left out of the suggestion.
    const filters = sizeOf(query) - sizeOf(words);
    const isRepeated = query.includes(words) && filters <= bytes / 10;
    const fixed = sizeOf({ notes, types: app.search.kinds }) + (isRepeated ? filters : 0);
    const found = passages
      ? await passagesFor(app, caller, { words, scope, limit, bytes: bytes - fixed })
      : await documentsFor(app, { words, scope, limit, bytes: bytes - fixed });
    const { suggestion: meant, notes: limits, ...answer } = found;
    const place = section ?? narrowed.section;
    if (place !== undefined && answer.results.length === 0 && answer.omitted === 0) {
      const known = schema.value.sections.map(({ id }) => id);
      const isUnknown =
        !known.includes(place) && (await app.search.isEmpty(app.search.scope(caller, { section: place })));
      if (isUnknown) return refuse("invalid", `section: nothing is in ${place}; ${suggest(place, known)}`);
    }
    const suggestion = meant ? { suggestion: isRepeated ? query.replace(words, () => meant) : meant } : {};
    return ok({ ...answer, ...suggestion, notes: [...notes, ...limits], types: app.search.kinds });
  },
});

type Wanted = { words: string; scope: Scope; limit: number; bytes: number };

async function documentsFor(app: SearchApp, { words, scope, limit, bytes }: Wanted) {
  const found = await app.search.find.pages(words, { scope, limit, through: ["node"] });
  const hits = await labelled(app, found.hits);
  const all = hits.map((hit) => ({ ...shown(hit), more: hit.more.map(shownPlace) }));
  const suggestion = suggestionWithin(found.suggestion, bytes);
  const notes = notesWithin(found.notes, bytes / 4);
  const results = withinBytes(all, bytes - sizeOf({ results: [], omitted: 99, suggestion, notes }));
  return { results, omitted: all.length - results.length, suggestion, notes };
}

async function passagesFor(app: SearchApp, caller: Caller, { words, scope, limit, bytes }: Wanted) {
  const found = await recallPassages(app, caller, { query: words, scope, bytes, limit, shown: asResult });
  const { passages, nodes, edges, omitted, suggestion, notes } = found;
  return { results: passages.map(asResult), omitted, nodes, edges, suggestion, notes };
}

const asResult = ({ text, by, also: _also, heading = "", ...passage }: RecalledPassage) => ({
  ...passage,
  heading,
  snippet: text,
  author: by,
  more: [],
});

/** The reference names type and id; a title that only repeats the id is left out. */
function asRecalled({ type: _type, id, title, score: _score, ...passage }: RecalledPassage) {
  return { ...passage, ...(title === id || title === "" ? {} : { title }) };
}

const shownPlace = (hit: Hit) => {
  const { heading, line, snippet } = readable(hit);
  return { heading, line, snippet };
};

const shown = (hit: Hit & Trusted) => {
  const { kind, id, title, heading, line, score, snippet, why, author, at, trust, doubts } = readable(hit);
  return {
    ref: refOf(hit),
    type: kind,
    id,
    title,
    heading,
    line,
    score,
    snippet,
    why,
    author,
    at,
    ...(trust ? { trust } : {}),
    ...(doubts ? { doubts } : {}),
  };
};

export const recall = operation({
  name: "recall",
  summary: "Get the passages that answer a question, verbatim, and how they are connected.",
  guidance:
    "The same as search with `passages: true`, with the places of repeated texts and without filters in the query. Use search unless you need those. " +
    "It uses no read. Cite what you use by its `ref`, as in [[entry:vision]]; passages that are retrieved and never cited lower the retrieval precision of your run.",
  effect: "reads",
  reads: ["entry", "page", "source", "topic", "task", "node", "trust"],
  callers: everyone,
  group: "search",
  http: { method: "get", path: "/recall" },
  input: z.object({
    query: query.describe("A question, or words"),
    budget: budget.default(usualBudget).describe("Maximum size of the answer in bytes"),
    types: z.array(z.string().max(40)).min(1).max(10).optional().describe("Only these types, such as entry or source"),
    trust: z
      .enum(["any", "verified"])
      .default("any")
      .describe("verified: only what a person or a check verified, word for word"),
  }),
  output: z.object({
    passages: z.array(
      z.object({
        ref: z.string().describe("Type and id, for citing it"),
        title: z.string().optional().describe("Left out if it is the id"),
        heading: z.string().optional(),
        line: z.int(),
        text: z.string(),
        by: z.string(),
        at: z.string(),
        why: z.array(z.string()),
        ...trusted,
        also: z.array(z.string()).optional().describe("Other places with the same text"),
      }),
    ),
    ...joints,
    omitted: z.int().describe("How many passages did not fit the budget"),
    suggestion: z.string().optional().describe("The query with its spelling corrected"),
    notes: z.array(z.string()).optional().describe("Limits of this answer, and that nothing fits"),
  }),
  async run(app: SearchApp, { query, budget, types, trust }, caller) {
    const schema = await app.schema();
    if (!schema.ok) return schema;
    const strange = types?.filter((type) => !app.search.kinds.includes(type)) ?? [];
    if (strange[0] !== undefined)
      return refuse("invalid", `types: unknown type ${strange[0]}; ${suggest(strange[0], app.search.kinds)}`);
    const scope = app.search.scope(caller, types ? { kinds: types } : {});
    const request = { query, scope, bytes: budget, onlyVerified: trust === "verified", shown: asRecalled };
    const { suggestion, notes, passages, ...found } = await recallPassages(app, caller, request);
    return ok({
      passages: passages.map(asRecalled),
      ...found,
      ...(suggestion ? { suggestion } : {}),
      ...(notes.length > 0 ? { notes } : {}),
    });
  },
});

const modelOutput = z.object({
  installed: z.boolean().describe("Whether the local model is installed"),
  folder: z.string().describe("The model's folder, or the URL of the embedding server"),
  wanted: z.string().nullable().describe("The configured embedding model"),
  model: z.string().nullable().describe("The model that searches use now; null for lexical search only"),
  embedded: z.int(),
  pending: z.int().describe("Passages without a vector"),
  not_indexed: z.int().describe("Changes that are not indexed yet"),
});

export const modelStatus = operation({
  name: "model_status",
  summary: "Show the embedding model that search uses and the progress of indexing.",
  effect: "reads",
  reads: ["entry"],
  callers: people,
  group: "admin",
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
  summary: `Install the embedding model ${localModel.name}, once for all workspaces of this machine.`,
  effect: "writes",
  touches: [],
  callers: ["admin"],
  group: "admin",
  input: z.object({
    from: z
      .string()
      .max(1000)
      .optional()
      .describe("A folder with the two packages as .tgz files, for machines without a registry"),
  }),
  output: z.object({ folder: z.string(), installed: z.boolean().describe("False if it was already installed") }),
  run: (app: SearchApp, { from }) =>
    installModel(app.config.modelFolder, {
      ...(from === undefined ? {} : { from }),
      env: app.config.environment,
      say: (step) => app.log.info({ step }, "model-install"),
    }),
});

export const rebuildSearch = operation({
  name: "rebuild_search",
  summary: "Rebuild the search index.",
  effect: "writes",
  touches: [],
  callers: ["collaborator", "admin"],
  group: "admin",
  http: { method: "post", path: "/search/rebuild" },
  input: z.object({}),
  output: z.object({ things: z.int() }),
  run: async (app: SearchApp) => ok({ things: await app.search.rebuild() }),
});
