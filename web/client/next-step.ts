import type { NextOperation, NextStep, Wording } from "../../src/kernel/next-step.ts";
import { withNextSteps } from "../../src/kernel/next-step.ts";

/** The page or button for each next step; undefined where the browser has none. */
const places: Record<NextOperation, string | undefined> = {
  append_log: "press Add line",
  approve_proposal: "press Approve merged text",
  cancel_run: "press Cancel run on its page",
  commit_entry: "press Edit",
  configure_agent: "press Set up agent",
  create_section: "open New section in the palette",
  fetch_entry: "reload the page",
  get_persona: undefined,
  get_task_context: "reload the page",
  list_entries: "open Wiki",
  list_jobs: undefined,
  list_passkeys: "open Sessions",
  list_proposals: "open Inbox",
  list_runs: "open Runs",
  list_sessions: "open Sessions",
  list_sources: "open Sources",
  list_todos: "open Tasks",
  list_tokens: "open People",
  list_topics: "open Topics",
  list_users: "open People",
  lock_todo: undefined,
  memory_get_neighbors: "open Graph",
  memory_search_nodes: "open Graph",
  memory_update_node: undefined,
  refresh_perspective: "press Write it",
  reject_proposal: "press Reject",
  rename_section: "press Rename",
  release_task: "press Release claim",
  reopen_topic: "press Reopen",
  reply_topic: "press Reply",
  request_revision: "press Return with a note",
  search: "open Search",
  show_proposal: "reload the proposal",
  show_run: "reload the page",
  get_trust: "reload the page",
  transfer_focus: undefined,
  update_todo: undefined,
};

const asPlace: Wording = ({ operation, input }) =>
  operation === "approve_proposal" && input?.accept_hidden ? "tick the box above Approve" : places[operation];

/** A refusal's message with its next steps, in the words of the browser. */
export function inBrowserWords(message: string, next: unknown): string {
  const steps = Array.isArray(next) ? (next as NextStep[]).filter(({ operation }) => operation in places) : [];
  return withNextSteps(message, steps, asPlace);
}
