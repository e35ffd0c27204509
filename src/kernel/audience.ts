import type { Agent, Caller, CrewPart } from "./caller.ts";
import type { RoleRules } from "./operation.ts";

/** Values for an operation's `visibleTo`. They hide tools from agents only: people see all that their rank may call. */

const agentThat = (isSeen: (agent: Agent, roles: RoleRules | undefined) => boolean) => {
  return (caller: Caller, roles: RoleRules | undefined) => caller.kind === "person" || isSeen(caller, roles);
};

/** Roles that may write a section of this mode. While schema.yaml has mistakes, nothing is known and all are shown. */
export const writersOf = (mode: "snapshot" | "log") =>
  agentThat(({ role }, roles) => {
    const mine = roles?.sections.filter((section) => section.writable_by.includes(role));
    return mine?.some((section) => section.mode === mode) ?? true;
  });

export const rolesInPipeline = agentThat(({ role }, roles) => roles?.pipeline.includes(role) ?? true);

/** Agents that the crew started for this part. */
export const crewPart = (part: CrewPart) => agentThat(({ crew }) => crew?.part === part);

/** Workers of the crew, and agents whose connection is bound to a task. */
export const workersOnTask = agentThat(({ crew, task }) => (crew ? crew.part === "worker" : task !== undefined));

/** Agents that were started for a job. */
export const jobAgents = agentThat(({ job }) => job !== undefined);
