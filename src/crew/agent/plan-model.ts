import { ok } from "../../kernel/result.ts";
import type { CrewAgent } from "../record/run-host.ts";

type Choice = {
  model: string | undefined;
  /** Why the model that the plan names is not used. */
  note?: string;
};

/** The names that these programs take, with the provider that may stand before them. */
const takenBy: Record<string, RegExp> = {
  claude: /^(?:anthropic\/)?((?:claude|opus|sonnet|haiku)[\w.:-]*)$/,
  codex: /^(?:openai\/)?((?:gpt|codex|o\d)[\w.:-]*)$/,
};

/**
 * The model of an agent. The plan's overrides the configured one where the runner can use it: its author knew the task.
 * Otherwise the configured one is used, and the note says so.
 */
export function chooseModel({ runner, model, env }: CrewAgent, wanted: string | undefined, cwd: string): Choice {
  if (wanted === undefined || wanted === model) return { model };
  const taken = runner.name === "model" ? wanted : takenBy[runner.name]?.exec(wanted)?.[1];
  const checked = runner.check?.({ model: taken, env, cwd }) ?? ok(true);
  if (taken !== undefined && checked.ok) return { model: taken };
  const why = checked.ok ? `the runner ${runner.name} does not take it` : checked.problem.message;
  return { model, note: `the plan's model ${wanted} is not used: ${why}; used instead: ${model ?? "its default"}` };
}
