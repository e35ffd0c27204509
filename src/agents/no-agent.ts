import { refuse } from "../kernel/result.ts";

/** What `serve` says at start, in one line (R17). */
export const agentWorkIsOff =
  "Agent work is off: scriptorium.yaml has no agent block. Set one up in the browser (/settings/agents), with scriptorium agent set <name>, or by hand. Add: agent: { author_name: Scriptorium agent, author_email: agent@example.org }";

/** The refusal of a job in a workspace without an agent block. */
export const noAgent = () =>
  refuse(
    "refused",
    "no agent is configured for jobs: scriptorium.yaml has no agent block with author_name and author_email",
    {
      next: [{ operation: "configure_agent", to: "set one up" }],
    },
  );
