import type { Runner } from "../../agents/runner.ts";
import type { CrewPart } from "../../kernel/caller.ts";
import type { Result } from "../../kernel/result.ts";
import type { PlannedTask } from "./runs.ts";

/**
 * Plans and executes runs in this process. All faces use it: a server lets the work go on in the
 * background, a command and the library wait for its end.
 */
export interface RunHost {
  /** True if operations return as soon as the work has started. */
  readonly background: boolean;
  /** Creates a run and plans it. */
  plan(request: string, options: PlanOptions): Promise<Result<RunInProgress<Planned>>>;
  /** Continues to plan a run whose planner ended or was killed without a plan; its submitted tasks are kept. */
  resumePlan(run: string, options: Common): Promise<Result<RunInProgress<Planned>>>;
  /** Executes a planned run, or resumes a stopped one; a second call for the same run joins the first. */
  execute(run: string, options: ExecuteOptions): Promise<Result<RunInProgress<Outcome>>>;
  /** Works on runs that other processes execute, until `stop` or the end of the given run. */
  work(run: string | undefined, options: WorkOptions): Promise<Result<true>>;
  /** Calls back with what happens in the runs of this process. Returns how to unsubscribe. */
  onNews(listener: (news: News) => void): () => void;
  /** Resumes the runs that a killed server of this machine was executing. */
  resume(): Promise<void>;
  /** Stops all work; resolves when every task is handed back. */
  stop(): Promise<void>;
}

export type RunInProgress<T> = { run: string; ended: Promise<Result<T>> };

type Common = {
  by: string;
  /** Agents for the parts, instead of those that the configuration names. */
  agents?: CrewAgents | undefined;
  signal?: AbortSignal | undefined;
};
export type PlanOptions = Common & { brief: boolean };
export type WorkOptions = Common & { workers?: number | undefined };
/** A budget that is left out stays as it was; null removes it. */
export type ExecuteOptions = WorkOptions & {
  budgetTokens?: number | null | undefined;
  budgetUsd?: number | null | undefined;
};

/** A run with its plan; `chain` is the file in which people edit it. */
export type Planned = { run: string; chain: string; tasks: PlannedTask[] };

/** How the execution of a run ended. */
export type Outcome = {
  run: string;
  state: string;
  tasks: { all: number; completed: number; lost: number };
  reason: string | null;
  report: string | null;
  /** The branch with the accepted files; null if there are none. */
  branch: string | null;
};

/** One event of a run, for those who watch it. */
export type News = {
  kind:
    | "run-started"
    | "plan-changed"
    | "setup-started"
    | "setup-finished"
    | "attempt-started"
    | "worker-completed"
    | "worker-failed"
    | "checks-run"
    | "qc-started"
    | "verdict"
    | "accepted"
    | "merge-conflict"
    | "retry"
    | "given-up"
    | "released"
    | "report-started"
    | "model-retry"
    | "model-not-used";
  run: string;
  task?: string;
  number?: string;
  title?: string;
  attempt?: number;
  score?: number;
  outcome?: string;
  reason?: string;
  files?: number;
  tokens?: number | null;
  usd?: number | null;
  checks?: { passed: number; of: number };
};

/** The agent for a part: its runner, model, role in the schema, and environment. */
export type CrewAgent = {
  runner: Runner;
  model: string | undefined;
  role: string | undefined;
  env: Record<string, string>;
};

/** The agents of a crew; each part may have another. */
export type CrewAgents = (part: CrewPart) => Result<CrewAgent>;
