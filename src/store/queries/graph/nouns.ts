import type { NextOperation } from "../../../kernel/next-step.ts";
import type { Query } from "../../database.ts";
import { parseJsonOr } from "../../json.ts";
import { trustCounts } from "../trust.ts";
import { taskDetails } from "./task-details.ts";

/**
 * Rows of other tables as nodes and edges of the graph. Nothing is copied, so nothing can be out of date. A
 * new noun is an item of `nouns`, plus an item of `ties` for each kind of edge it has: its columns as SQL for
 * both engines. Every query, walk and export then includes it.
 */
export type Noun = {
  /** The type of its nodes; their ids are `type:key`. */
  type: string;
  from: string;
  key: string;
  /** A cheaper way than `from` and `key` to check that a node exists. */
  exists?: { from: string; key: string /** True when the column has full ids. */; whole?: boolean };
  title: string;
  properties: Record<string, string>;
  /** More properties, too large to compute for every row of a list: only `memory_get_node` has them. */
  details?: (query: Query, key: string) => Promise<Record<string, unknown>>;
  version: string;
  createdAt: string;
  updatedAt: string;
  createdBy: string;
  /** Names are listed in ascending order; ids that start with a time in descending order, newest first. */
  order: "asc" | "desc";
  /** Ids that may be keys of it and stand without `type:`. */
  isBare?: RegExp;
  /** How to change such a node, since the graph's tools cannot. */
  instead: string;
  /** The operation that changes it, if it takes the id. */
  next?: NextOperation;
};

export const nouns: Noun[] = [
  {
    type: "entry",
    // An entry whose section was removed keeps its versions and comes back with the section.
    from: "entries JOIN sections ON sections.id = entries.id",
    key: "entries.id",
    title: "coalesce(entries.title, entries.id)",
    properties: {
      title: "entries.title",
      words: "entries.words",
      lastAuthor: "entries.last_author",
    },
    version: "entries.version",
    createdAt: "entries.updated_at",
    updatedAt: "entries.updated_at",
    createdBy: "entries.last_author",
    details: async (query, key) => {
      const counts = (await trustCounts(query, [`entry:${key}`])).get(`entry:${key}`);
      return counts === undefined ? {} : { trust: parseJsonOr(counts, {}) };
    },
    order: "asc",
    isBare: /^[a-z0-9][a-z0-9_/-]*$/,
    instead: "change its text",
    next: "commit_entry",
  },
  {
    type: "source",
    from: "sources",
    key: "sources.path",
    title: "sources.path",
    properties: {
      title: "sources.path",
      sha256: "sources.sha256",
      size: "sources.size",
      addedBy: "sources.added_by",
    },
    version: "1",
    createdAt: "sources.at",
    updatedAt: "sources.at",
    createdBy: "sources.added_by",
    order: "asc",
    instead: "sources are immutable; a person can add another",
  },
  {
    type: "task",
    from: "tasks LEFT JOIN run_tasks ON run_tasks.task_id = tasks.id",
    key: "tasks.id",
    exists: { from: "tasks", key: "tasks.id" },
    title: "tasks.title",
    properties: {
      title: "tasks.title",
      description: "tasks.description",
      state: "tasks.state",
      priority: "tasks.priority",
      attempt: "tasks.attempt",
      max_retries: "tasks.max_retries",
      run: "tasks.run",
      holder: "tasks.holder",
      number: "run_tasks.number",
      worker_role: "run_tasks.worker_role",
      qc_role: "run_tasks.qc_role",
      qc_score: `(SELECT v.score FROM verdicts v WHERE v.task_id = tasks.id AND v.voided_at IS NULL
        ORDER BY v.at DESC, v.id DESC LIMIT 1)`,
    },
    details: taskDetails,
    version: "tasks.version",
    createdAt: "tasks.created_at",
    updatedAt: "tasks.updated_at",
    createdBy: "tasks.created_by",
    order: "desc",
    isBare: /^task-/,
    instead: "change the task",
    next: "update_todo",
  },
  {
    type: "run",
    // Tasks may name a run without a plan.
    from: `(SELECT id, title, state, request, created_at, created_by, version,
        coalesce(ended_at, started_at, planned_at, created_at) AS updated_at FROM runs
      UNION ALL SELECT run, run, NULL, NULL, min(created_at), min(created_by), 1, max(updated_at) FROM tasks
      WHERE run IS NOT NULL AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.id = tasks.run) GROUP BY run) AS runs`,
    key: "runs.id",
    exists: {
      from: "(SELECT id FROM runs UNION ALL SELECT run FROM tasks WHERE run IS NOT NULL) AS r",
      key: "r.id",
    },
    title: "runs.title",
    properties: { title: "runs.title", state: "runs.state", request: "runs.request" },
    version: "runs.version",
    createdAt: "runs.created_at",
    updatedAt: "runs.updated_at",
    createdBy: "runs.created_by",
    order: "desc",
    isBare: /^(run|r)-/,
    instead: "a run changes with its tasks",
  },
  {
    type: "topic",
    from: "topics",
    key: "topics.id",
    title: "topics.kind || ' about ' || topics.path",
    properties: {
      title: "topics.kind || ' about ' || topics.path",
      source_path: "topics.path",
      kind: "topics.kind",
      status: "topics.status",
      anchor: "topics.anchor_state",
      messages: "topics.messages",
    },
    version: "1",
    createdAt: "topics.created_at",
    updatedAt: "coalesce(topics.resolved_at, topics.created_at)",
    createdBy: "topics.created_by",
    order: "desc",
    isBare: /^(topic|t)-/,
    instead: "answer the topic",
    next: "reply_topic",
  },
  {
    type: "page",
    from: `(SELECT substr(to_id, 6) AS path FROM entry_links JOIN sections ON id = entry_id WHERE to_id >= 'page:' AND to_id < 'page;'
      UNION SELECT substr(about, 6) FROM topics WHERE about >= 'page:' AND about < 'page;') AS pages`,
    key: "pages.path",
    exists: {
      from: "(SELECT to_id FROM entry_links JOIN sections ON id = entry_id UNION ALL SELECT about FROM topics) AS p",
      key: "p.to_id",
      whole: true,
    },
    title: "pages.path",
    properties: { title: "pages.path" },
    version: "1",
    createdAt: "''",
    updatedAt: "''",
    createdBy: "''",
    order: "asc",
    instead: "it is a file that an entry links to; change the file or the link",
  },
];

/** An end of an edge: the key of a noun or, without a noun, a full node id. */
export type End = { noun?: string; column: string };

export type Tie = {
  types: string[];
  type: string;
  from: End;
  to: End;
  table: string;
  where?: string;
  properties: Record<string, string>;
  createdAt: string;
  createdBy: string;
  /** How to change such an edge. */
  instead: string;
};

export const ties: Tie[] = [
  {
    types: ["links_to", "cites"],
    type: "CASE WHEN l.to_id >= 'source:' AND l.to_id < 'source;' THEN 'cites' ELSE 'links_to' END",
    from: { noun: "entry", column: "l.entry_id" },
    to: { column: "l.to_id" },
    table: "entry_links l JOIN entries w ON w.id = l.entry_id JOIN sections s ON s.id = l.entry_id",
    properties: {},
    createdAt: "w.updated_at",
    createdBy: "w.last_author",
    instead: "it is a link in an entry; change the entry",
  },
  {
    types: ["written_by"],
    type: "'written_by'",
    from: { noun: "entry", column: "w.entry_id" },
    to: { noun: "task", column: "w.task" },
    table: "entry_writers w JOIN sections s ON s.id = w.entry_id",
    properties: { version: "w.version", attempt: "w.attempt", epoch: "w.epoch", role: "w.role" },
    createdAt: "w.at",
    createdBy: "coalesce(w.role, '')",
    instead: "it records who wrote what",
  },
  {
    types: ["written_by"],
    type: "'written_by'",
    from: { column: "n.id" },
    to: { noun: "task", column: "n.task" },
    table: "nodes n",
    where: "n.task IS NOT NULL",
    properties: { version: "n.version", attempt: "n.attempt", epoch: "n.epoch", role: "n.role" },
    createdAt: "n.updated_at",
    createdBy: "coalesce(n.role, '')",
    instead: "it records who wrote what",
  },
  {
    types: ["depends_on"],
    type: "'depends_on'",
    from: { noun: "task", column: "d.task_id" },
    to: { noun: "task", column: "d.depends_on" },
    table: "task_dependencies d JOIN tasks w ON w.id = d.task_id",
    properties: {},
    createdAt: "w.created_at",
    createdBy: "w.created_by",
    instead: "dependencies are set when a task is created",
  },
  {
    types: ["part_of"],
    type: "'part_of'",
    from: { noun: "task", column: "t.id" },
    to: { noun: "run", column: "t.run" },
    table: "tasks t",
    where: "t.run IS NOT NULL",
    properties: {},
    createdAt: "t.created_at",
    createdBy: "t.created_by",
    instead: "the run is set when a task is created",
  },
  {
    types: ["about"],
    type: "'about'",
    from: { noun: "topic", column: "t.id" },
    to: { column: "t.about" },
    table: "topics t",
    where: "t.about IS NOT NULL",
    properties: {},
    createdAt: "t.created_at",
    createdBy: "t.created_by",
    instead: "the page is set when a topic is opened",
  },
];

/** The noun and key of an id; undefined for a node of the graph's own. */
export function nounOf(id: string): { noun: Noun; key: string } | undefined {
  const colon = id.indexOf(":");
  const noun = colon < 0 ? undefined : nouns.find(({ type }) => type === id.slice(0, colon));
  return noun && { noun, key: id.slice(colon + 1) };
}
