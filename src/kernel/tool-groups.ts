import { type Audience, isInAudience, type RoleRules } from "./audience.ts";
import type { Caller } from "./caller.ts";
import { suggest } from "./nearest.ts";
import { ok, type Result, refuse } from "./result.ts";

/**
 * The groups that MCP tools are listed by. Every operation names its group. A connection lists `core` and the groups
 * that it asks for; other tools can still be called by name, because rights do not depend on the list.
 */
export const toolGroups = {
  core: "entries, search and handoffs; always listed",
  search: "the narrower searches: search_entries and recall",
  graph: "nodes, edges, walks and backlinks of the knowledge graph",
  tasks: "create, claim and complete tasks",
  review: "topics, proposals, personas and jobs",
  sources: "raw inputs: list and read",
  pages: "pages, the history of entries and the schema; for people",
  runs: "plans, runs and their reports; for people",
  admin: "people, tokens, checks and the search index; for people",
  crew: "results of agents that a run or a job started; listed for those",
} as const;

export type ToolGroup = keyof typeof toolGroups;

const groupNames = Object.keys(toolGroups) as ToolGroup[];
const isGroup = (name: string): name is ToolGroup => Object.hasOwn(toolGroups, name);

/** The groups in a list such as `graph,tasks`; `all` names every one. */
export function parseToolGroups(list: string | undefined): Result<readonly ToolGroup[]> {
  const names = (list ?? "").split(",").flatMap((name) => name.trim().toLowerCase() || []);
  if (names.includes("all")) return ok(groupNames);
  const unknown = names.find((name) => !isGroup(name));
  if (unknown === undefined) return ok(names.filter(isGroup));
  return refuse("invalid", `tool group ${unknown} does not exist; ${suggest(unknown, [...groupNames, "all"])}`);
}

/** Whether a tool is in the list of a caller that asked for these groups. */
export function isListed(
  tool: { group: ToolGroup; audience?: Audience | undefined },
  caller: Caller,
  groups: readonly ToolGroup[],
  rules: RoleRules | undefined,
): boolean {
  const isBound = caller.kind === "agent" && [caller.task, caller.job, caller.crew].some((bond) => bond !== undefined);
  const isAsked = tool.group === "core" || groups.includes(tool.group) || (tool.group === "crew" && isBound);
  return isAsked && (tool.audience === undefined || isInAudience(tool.audience, caller, rules));
}
