/**
 * Operations that a refusal may name as the next step. A refusal names the operation, and each face spells it
 * in its own words: MCP the tool, the CLI the command, HTTP the route, the browser the page or button.
 * A new name does not compile until every face has words for it.
 */
export const nextOperations = [
  "append_log",
  "approve_proposal",
  "cancel_run",
  "commit_entry",
  "configure_agent",
  "create_section",
  "fetch_entry",
  "get_persona",
  "get_task_context",
  "list_entries",
  "list_jobs",
  "list_passkeys",
  "list_proposals",
  "list_runs",
  "list_sessions",
  "list_sources",
  "list_todos",
  "list_tokens",
  "list_topics",
  "list_users",
  "lock_todo",
  "memory_get_neighbors",
  "memory_search_nodes",
  "memory_update_node",
  "refresh_perspective",
  "reject_proposal",
  "release_task",
  "rename_section",
  "reopen_topic",
  "reply_topic",
  "request_revision",
  "search",
  "show_proposal",
  "show_run",
  "get_trust",
  "transfer_focus",
  "update_todo",
] as const;
export type NextOperation = (typeof nextOperations)[number];

export type NextStep = {
  operation: NextOperation;
  /** The input that is already known, by wire names. */
  input?: { readonly [field: string]: string | number | boolean };
  /** What the step is for, when there is more than one or it is not obvious: "add a line". */
  to?: string;
};

/** A face's words for a step; undefined when the face cannot offer it. */
export type Wording = (step: NextStep) => string | undefined;

/** For MCP and the library, where operations are called by name. */
export const asTool: Wording = ({ operation, input }) => `call ${operation}${input ? ` ${JSON.stringify(input)}` : ""}`;

/** The message with its next steps in a face's words. */
export function withNextSteps(message: string, next: readonly NextStep[], wording: Wording): string {
  const steps = next.flatMap((step) => {
    const words = wording(step);
    return words === undefined ? [] : step.to ? `to ${step.to}, ${words}` : words;
  });
  return steps.length === 0 ? message : `${message}; ${steps.join("; ")}`;
}
