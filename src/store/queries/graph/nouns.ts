import type { NextOperation } from "../../../kernel/next-step.ts";
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
  version: string;
  createdAt: string;
  updatedAt: string;
  createdBy: string;
  /** Names are listed in ascending order; ids that start with a time in descending order, newest first. */
  order: "asc" | "desc";
  /** How to change such a node, since the graph's tools cannot. */
  instead: string;
  /** The operation that changes it, if it takes the id. */
  next?: NextOperation;
};

export const nouns: Noun[] = [
  {
    type: "entry",
    from: "entries",
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
    order: "asc",
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
    from: "tasks",
    key: "tasks.id",
    title: "tasks.title",
    properties: {
      title: "tasks.title",
      description: "tasks.description",
      state: "tasks.state",
      priority: "tasks.priority",
      attempt: "tasks.attempt",
      run: "tasks.run",
      holder: "tasks.holder",
    },
    version: "tasks.version",
    createdAt: "tasks.created_at",
    updatedAt: "tasks.updated_at",
    createdBy: "tasks.created_by",
    order: "desc",
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
    instead: "answer the topic",
    next: "reply_topic",
  },
  {
    type: "page",
    from: `(SELECT substr(to_id, 6) AS path FROM entry_links WHERE to_id >= 'page:' AND to_id < 'page;'
      UNION SELECT substr(about, 6) FROM topics WHERE about >= 'page:' AND about < 'page;') AS pages`,
    key: "pages.path",
    exists: {
      from: "(SELECT to_id FROM entry_links UNION ALL SELECT about FROM topics) AS p",
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
    table: "entry_links l JOIN entries w ON w.id = l.entry_id",
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
    table: "entry_writers w",
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
