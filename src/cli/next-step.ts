import type { NextOperation, NextStep, Wording } from "../kernel/next-step.ts";

type Input = NonNullable<NextStep["input"]>;

const given = (input: Input, field: string) => {
  const value = input[field];
  return value === undefined ? `<${field}>` : quoted(String(value));
};
const quoted = (word: string) => (/^[\w./:@=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** The command of `scriptorium` for each next step; undefined where it has none. */
const commands: Record<NextOperation, (input: Input) => string | undefined> = {
  append_log: (input) => `entry append ${given(input, "id")} <line>`,
  approve_proposal: ({ merge, accept_hidden: hidden, ...input }) =>
    `proposal approve ${given(input, "id")}${merge ? " --merge" : ""}${hidden ? " --accept-hidden" : ""}`,
  cancel_run: (input) => `run cancel ${given(input, "id")}`,
  commit_entry: (input) => `entry commit ${given(input, "id")} --version ${given(input, "version")} --file <file>`,
  configure_agent: () => "agent set <name>",
  create_section: (input) => `section propose ${given(input, "id")} --title <title> --description <text>`,
  fetch_entry: (input) => `entry read ${given(input, "id")}`,
  get_persona: () => undefined,
  get_task_context: (input) => `task show ${given(input, "id")}`,
  list_entries: () => "entry list",
  list_jobs: () => "job list",
  list_passkeys: () => "session passkeys",
  list_proposals: () => "proposal list",
  list_runs: () => "run list",
  list_sessions: () => "session list",
  list_sources: () => "source list",
  list_todos: () => "task list",
  list_tokens: () => "token list",
  list_topics: () => "topic list",
  list_users: () => "user list",
  lock_todo: (input) => `task claim ${given(input, "id")} --as <name>`,
  memory_get_neighbors: (input) => `graph subgraph ${given(input, "id")}`,
  memory_search_nodes: () => "graph search <words>",
  memory_update_node: () => undefined,
  refresh_perspective: (input) =>
    `perspective refresh ${given(input, "source_path")} --persona ${given(input, "persona")}`,
  release_task: (input) => `task release ${given(input, "id")} --force`,
  rename_section: (input) => `section rename ${given(input, "id")} ${given(input, "new_id")}`,
  reject_proposal: (input) => `proposal reject ${given(input, "id")}`,
  reopen_topic: (input) => `topic reopen ${given(input, "id")}`,
  reply_topic: (input) => `topic reply ${given(input, "id")} --message <text>`,
  request_revision: (input) => `proposal revise ${given(input, "id")} <text>`,
  search: () => "search <words>",
  show_proposal: (input) => `proposal show ${given(input, "id")}`,
  get_trust: (input) => `trust show ${given(input, "id")}`,
  show_run: (input) => `run show ${given(input, "id")}`,
  transfer_focus: () => undefined,
  update_todo: () => undefined,
};

/** For people at a shell. */
const asCommand: Wording = ({ operation, input = {} }) => {
  const command = commands[operation](input);
  return command && `run: scriptorium ${command}`;
};

/** Next steps that agents may not take; a test compares them with the callers of the operations. */
const peopleOnly = new Set<NextOperation>([
  "approve_proposal",
  "cancel_run",
  "configure_agent",
  "list_jobs",
  "list_passkeys",
  "list_proposals",
  "list_runs",
  "list_sessions",
  "list_tokens",
  "list_topics",
  "list_users",
  "refresh_perspective",
  "reject_proposal",
  "release_task",
  "rename_section",
  "reopen_topic",
  "request_revision",
  "show_proposal",
  "show_run",
]);

/** For agents at a shell. */
const asScribe: Wording = ({ operation, input = {} }) => {
  if (peopleOnly.has(operation)) return undefined;
  const options = Object.entries(input).map(
    ([field, value]) => ` --${field.replaceAll("_", "-")} ${quoted(String(value))}`,
  );
  return `run: scribe ${operation.replaceAll("_", "-")}${options.join("")}`;
};

/** The two programs, by the words in which they report a problem. */
export const forPeople = { program: "scriptorium", wording: asCommand };
export const forAgents: typeof forPeople = { program: "scribe", wording: asScribe };
