/**
 * What other tables keep, seen as nodes and edges of the graph. Nothing is copied, so nothing can be
 * out of date. A new noun joins with an item of `nouns`, and of `ties` for each way it is connected:
 * its columns, said once; every query, walk and export then knows it.
 */
import { type RawBuilder, sql } from "kysely";

export type Noun = {
  /** The type of its nodes, whose ids are this word, a colon and the key. */
  type: string;
  from: RawBuilder<unknown>;
  key: RawBuilder<string>;
  title: RawBuilder<string>;
  properties: Record<string, RawBuilder<unknown>>;
  version: RawBuilder<number>;
  createdAt: RawBuilder<string>;
  updatedAt: RawBuilder<string>;
  createdBy: RawBuilder<string>;
  /** Names are listed from a to z; ids that begin with their time, newest first. */
  order: "asc" | "desc";
  /** How such a thing is changed, since the graph's own tools cannot. */
  instead: string;
};

export const nouns: Noun[] = [
  {
    type: "entry",
    from: sql`entries`,
    key: sql`entries.id`,
    title: sql`coalesce(entries.title, entries.id)`,
    properties: {
      title: sql`entries.title`,
      words: sql`entries.words`,
      lastAuthor: sql`entries.last_author`,
    },
    version: sql`entries.version`,
    createdAt: sql`entries.updated_at`,
    updatedAt: sql`entries.updated_at`,
    createdBy: sql`entries.last_author`,
    order: "asc",
    instead: "change its text with commit_entry or append_log",
  },
  {
    type: "source",
    from: sql`sources`,
    key: sql`sources.path`,
    title: sql`sources.path`,
    properties: {
      title: sql`sources.path`,
      sha256: sql`sources.sha256`,
      size: sql`sources.size`,
      addedBy: sql`sources.added_by`,
    },
    version: sql`1`,
    createdAt: sql`sources.at`,
    updatedAt: sql`sources.at`,
    createdBy: sql`sources.added_by`,
    order: "asc",
    instead: "sources never change; a person adds another",
  },
  {
    type: "task",
    from: sql`tasks`,
    key: sql`tasks.id`,
    title: sql`tasks.title`,
    properties: {
      title: sql`tasks.title`,
      description: sql`tasks.description`,
      state: sql`tasks.state`,
      priority: sql`tasks.priority`,
      attempt: sql`tasks.attempt`,
      run: sql`tasks.run`,
      holder: sql`tasks.holder`,
    },
    version: sql`tasks.version`,
    createdAt: sql`tasks.created_at`,
    updatedAt: sql`tasks.updated_at`,
    createdBy: sql`tasks.created_by`,
    order: "desc",
    instead: "change it with update_todo",
  },
  {
    type: "run",
    from: sql`(SELECT run AS id, count(*) AS tasks, min(created_at) AS created_at, max(updated_at) AS updated_at,
      min(created_by) AS created_by FROM tasks WHERE run IS NOT NULL GROUP BY run) AS runs`,
    key: sql`runs.id`,
    title: sql`runs.id`,
    properties: { title: sql`runs.id`, tasks: sql`runs.tasks` },
    version: sql`1`,
    createdAt: sql`runs.created_at`,
    updatedAt: sql`runs.updated_at`,
    createdBy: sql`runs.created_by`,
    order: "desc",
    instead: "a run changes as its tasks do",
  },
  {
    type: "page",
    from: sql`(SELECT DISTINCT substr(to_id, 6) AS path FROM entry_links
      WHERE to_id >= 'page:' AND to_id < 'page;') AS pages`,
    key: sql`pages.path`,
    title: sql`pages.path`,
    properties: { title: sql`pages.path` },
    version: sql`1`,
    createdAt: sql`''`,
    updatedAt: sql`''`,
    createdBy: sql`''`,
    order: "asc",
    instead: "it is a file that an entry links to: change the file, or the link",
  },
];

/** An end of an edge: the key of a noun, or without one a node's whole id. */
export type End = { noun?: string; column: RawBuilder<string> };

export type Tie = {
  types: string[];
  type: RawBuilder<string>;
  from: End;
  to: End;
  table: RawBuilder<unknown>;
  where?: RawBuilder<unknown>;
  properties: Record<string, RawBuilder<unknown>>;
  createdAt: RawBuilder<string>;
  createdBy: RawBuilder<string>;
  /** Where such an edge comes from, and so where it can be changed. */
  instead: string;
};

export const ties: Tie[] = [
  {
    types: ["links_to", "cites"],
    type: sql`CASE WHEN l.to_id >= 'source:' AND l.to_id < 'source;' THEN 'cites' ELSE 'links_to' END`,
    from: { noun: "entry", column: sql`l.entry_id` },
    to: { column: sql`l.to_id` },
    table: sql`entry_links l JOIN entries w ON w.id = l.entry_id`,
    properties: {},
    createdAt: sql`w.updated_at`,
    createdBy: sql`w.last_author`,
    instead: "it stands in the entry's text: change that with commit_entry",
  },
  {
    types: ["written_by"],
    type: sql`'written_by'`,
    from: { noun: "entry", column: sql`w.entry_id` },
    to: { noun: "task", column: sql`w.task` },
    table: sql`entry_writers w`,
    properties: { version: sql`w.version`, attempt: sql`w.attempt`, epoch: sql`w.epoch`, role: sql`w.role` },
    createdAt: sql`w.at`,
    createdBy: sql`coalesce(w.role, '')`,
    instead: "it is the record of who wrote what, and stays",
  },
  {
    types: ["written_by"],
    type: sql`'written_by'`,
    from: { column: sql`n.id` },
    to: { noun: "task", column: sql`n.task` },
    table: sql`nodes n`,
    where: sql`n.task IS NOT NULL`,
    properties: { version: sql`n.version`, attempt: sql`n.attempt`, epoch: sql`n.epoch`, role: sql`n.role` },
    createdAt: sql`n.updated_at`,
    createdBy: sql`coalesce(n.role, '')`,
    instead: "it is the record of who wrote what, and stays",
  },
  {
    types: ["depends_on"],
    type: sql`'depends_on'`,
    from: { noun: "task", column: sql`d.task_id` },
    to: { noun: "task", column: sql`d.depends_on` },
    table: sql`task_dependencies d JOIN tasks w ON w.id = d.task_id`,
    properties: {},
    createdAt: sql`w.created_at`,
    createdBy: sql`w.created_by`,
    instead: "a task's dependencies are named when it is created",
  },
  {
    types: ["part_of"],
    type: sql`'part_of'`,
    from: { noun: "task", column: sql`t.id` },
    to: { noun: "run", column: sql`t.run` },
    table: sql`tasks t`,
    where: sql`t.run IS NOT NULL`,
    properties: {},
    createdAt: sql`t.created_at`,
    createdBy: sql`t.created_by`,
    instead: "a task's run is named when it is created",
  },
];

/** The noun that an id belongs to, and its key; undefined for a node of the graph's own. */
export function nounOf(id: string): { noun: Noun; key: string } | undefined {
  const colon = id.indexOf(":");
  const noun = colon < 0 ? undefined : nouns.find(({ type }) => type === id.slice(0, colon));
  return noun && { noun, key: id.slice(colon + 1) };
}
