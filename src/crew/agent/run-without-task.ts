import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RunResult } from "../../agents/runner.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { Staff } from "./staff.ts";
import { type Start, startAgent } from "./start-agent.ts";

type Options = Pick<Start, "part" | "run" | "system" | "prompt" | "operations" | "delivers" | "bounds"> & {
  /** The folder it may read; an empty one if left out. */
  folder?: string;
};

/** Runs an agent that has no task: the brief writer, the planner, the preamble writer. */
export async function runWithoutTask(
  crew: Staff,
  { folder: given, ...rest }: Options,
  signal: AbortSignal,
): Promise<Result<{ delivered: boolean; why: string }>> {
  const agent = `${rest.part}-${crew.app.newId("a").slice(-6)}`;
  let made: string | undefined;
  const folder = async () => {
    made ??= given ?? (await mkdtemp(join(tmpdir(), "scriptorium-agent-")));
    return made;
  };
  try {
    const started = await startAgent(crew, { ...rest, agent, folder, write: false }, signal);
    if (!started.ok) return started;
    if (signal.aborted) return refuse("refused", "stopped before the agent was done");
    const { tools, result } = started.value;
    return ok({ delivered: tools.isDone?.() ?? false, why: tools.tripped() ?? whyNot(result) });
  } finally {
    if (made && !given) await rm(made, { recursive: true, force: true });
  }
}

const whyNot = ({ ended, error, errorTail }: RunResult) =>
  error ??
  (errorTail.trim() === "" ? `the agent ended (${ended}) without submitting anything` : errorTail.trim().slice(-500));
