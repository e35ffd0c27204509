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
): Promise<Result<WithoutTask>> {
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
    const delivered = tools.isDone?.() ?? false;
    const hasBegun = result.ended !== "spawn-error" && result.ended !== "outage";
    return ok({ delivered, hasBegun, failure: failureOf(result), why: tools.tripped() ?? whyNot(result) });
  } finally {
    if (made && !given) await rm(made, { recursive: true, force: true });
  }
}

type WithoutTask = {
  delivered: boolean;
  /** False when its program or its model could not be reached at all. */
  hasBegun: boolean;
  /** What kept the agent from working, such as its model server; undefined if it worked and ended. */
  failure: string | undefined;
  why: string;
};

const failureOf = ({ ended, exitCode, error }: RunResult) =>
  ended === "spawn-error" || ended === "outage" || (ended === "exit" && exitCode !== 0) ? error : undefined;

const whyNot = ({ ended, error, errorTail }: RunResult) =>
  error ??
  (errorTail.trim() === "" ? `the agent ended (${ended}) without submitting anything` : errorTail.trim().slice(-500));
