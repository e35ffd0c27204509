import type { Toolset } from "../../agents/runner.ts";
import type { CrewPart } from "../../kernel/caller.ts";

type RareTools = NonNullable<Toolset["rare"]>;

const memory = {
  search_entries: "the wiki",
  fetch_entry: "an entry of it",
  memory_search_nodes: "the knowledge graph, with entries and tasks",
  memory_get_node: "a node of it",
};

/**
 * What most tasks do not need, by part, in a few words. A model is offered these tools in one line each; programs get
 * the schemas of all tools, which they load when they need them.
 */
const rare: Partial<Record<CrewPart, RareTools>> = {
  pm: new Map(
    Object.entries({
      ...memory,
      list_entries: "titles and sizes of entries",
      list_files: "without ignored files",
      memory_get_subgraph: "nodes and edges around a node",
    }),
  ),
  worker: new Map(
    Object.entries({
      ...memory,
      append_log: "a line of a log entry",
      ask: "the planner or a person",
      get_task_context: "whole outputs of dependencies",
      list_files: "without ignored files",
      read_output: "more of a cut output",
      apply_patch: "a unified diff",
      todo_write: "your list of steps",
    }),
  ),
  // The task has the files and the change; a verifier writes only if it wants a test of its own.
  qc: new Map(
    Object.entries({
      ...memory,
      list_files: "without ignored files",
      read_output: "more of a cut output",
      show_diff: "changes of the deliverable",
      write_file: "a test of yours",
      edit_file: "all or none",
    }),
  ),
};

const none: RareTools = new Map();

export const rareTools = (part: CrewPart): RareTools => rare[part] ?? none;
