import type { Agent, Caller } from "./caller.ts";

/** The parts of schema.yaml that decide which tools a role can use. */
export type RoleRules = {
  sections: readonly { mode: "snapshot" | "log"; writable_by: readonly string[] }[];
  pipeline: readonly string[];
};

/** While schema.yaml is invalid (`rules` undefined), tools that depend on it are listed. */
const writes = (mode: "snapshot" | "log") => (agent: Agent, rules: RoleRules | undefined) =>
  rules?.sections.some((section) => section.mode === mode && section.writable_by.includes(agent.role)) ?? true;

/** The agents that an operation is listed for as a tool. It decides the list, not access. */
const audiences = {
  "snapshot-writers": writes("snapshot"),
  "log-writers": writes("log"),
  pipeline: ({ role }: Agent, rules: RoleRules | undefined) => rules?.pipeline.includes(role) ?? true,
  planner: ({ crew }: Agent) => crew?.part === "pm",
  /** Workers of the crew, and agents whose connection is bound to a task. */
  worker: ({ crew, task }: Agent) => (crew ? crew.part === "worker" : task !== undefined),
  verifier: ({ crew }: Agent) => crew?.part === "qc",
  job: ({ job }: Agent) => job !== undefined,
};

export type Audience = keyof typeof audiences;

/** People see every tool that their rank may call. */
export const isInAudience = (audience: Audience, caller: Caller, rules: RoleRules | undefined): boolean =>
  caller.kind === "person" || audiences[audience](caller, rules);
