import type { Runner } from "../../agents/runner.ts";
import type { CrewPart } from "../../kernel/caller.ts";
import type { Result } from "../../kernel/result.ts";
import type { PoolHealth, PoolMetrics } from "../../tasks/job-pool.ts";
import type { StoredPlanChange } from "../rules/replan.ts";
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
  /** Creates a run and has the planner study the repository for it; `resumePlan` plans it from the findings. */
  research(request: string, options: Common): Promise<Result<RunInProgress<Research>>>;
  /** Continues to plan a run whose planner ended or was killed without a plan; its submitted tasks are kept. */
  resumePlan(run: string, options: Common): Promise<Result<RunInProgress<Planned>>>;
  /** Has the planner propose a change of the plan for tasks that failed. */
  replan(run: string, options: ReplanOptions): Promise<Result<ReplanInProgress>>;
  /** Executes a planned run, or resumes a stopped one; a second call for the same run joins the first. */
  execute(run: string, options: ExecuteOptions): Promise<Result<RunInProgress<Outcome>>>;
  /**
   * Starts a planned or stopped run without executing it: pools and verifiers of any process take up its tasks, and
   * the one that concludes the last task finishes it.
   */
  start(run: string, options: Common): Promise<Result<true>>;
  /** Opens a pool without workers; its workers do the ready tasks of all running runs, and verify none. */
  openPool(options: Common): Promise<Result<CrewPool>>;
  /** Verifies what workers have completed, in one run or in all running ones. */
  verifyCompleted(run: string | undefined, options: VerifyOptions): Promise<Result<Verification>>;
  /** Works on runs that other processes execute, until `stop` or the end of the given run. */
  work(run: string | undefined, options: WorkOptions): Promise<Result<true>>;
  /** Calls back with what happens in the runs of this process. Returns how to unsubscribe. */
  onNews(listener: (news: News) => void): () => void;
  /** Executes the runs that no process carries, now and until `stop`. */
  resume(): Promise<void>;
  /** Stops all work; resolves when every task is handed back. */
  stop(): Promise<void>;
}

export type RunInProgress<T> = { run: string; ended: Promise<Result<T>> };

export type ReplanInProgress = { run: string; change: string; ended: Promise<Result<StoredPlanChange>> };

type Common = {
  by: string;
  /** Agents for the parts, instead of those that the configuration names. */
  agents?: CrewAgents | undefined;
  signal?: AbortSignal | undefined;
};
export type PlanOptions = Common & { brief: boolean };
export type ReplanOptions = Common & {
  /** Numbers of the tasks; empty for all that failed. */
  tasks: string[];
  message: string | null;
};
export type WorkOptions = Common & { workers?: number | undefined };
export type VerifyOptions = Common & {
  /** How many tasks are verified at a time. */
  verifiers?: number | undefined;
  /** Also verifies what is completed later: until the run is over, or until the signal aborts. */
  wait?: boolean | undefined;
};
/** Failed tasks to reopen, by id or number. */
export type Retry = "all" | readonly string[];
/** A budget that is left out stays as it was; null removes it. */
export type ExecuteOptions = WorkOptions & {
  budgetTokens?: number | null | undefined;
  budgetUsd?: number | null | undefined;
  /** Failed tasks to reopen before the run starts. */
  retry?: Retry | undefined;
};

/** What the planner found out about a request, as text for the plan. It is kept with the run, in its brief. */
export type Research = { run: string; request: string; findings: string };

/** Workers of this process for the tasks of runs. */
export type CrewPool = {
  /** Adds n workers. Refused if the program or the key of an agent is missing. */
  spawn(n: number): Result<PoolHealth>;
  /** Sets the number of workers; those with a task finish it first. */
  scale(n: number): Result<PoolHealth>;
  healthCheck(): PoolHealth;
  metrics(): PoolMetrics;
  /** Lets workers finish for `deadlineMs`, then aborts them; their tasks are handed back. */
  stop(deadlineMs: number): Promise<void>;
};

/** A task that was judged, with its last verdict. `state` is what followed: completed, preparing_retry or failed. */
export type VerifiedTask = PlannedTask & {
  run: string;
  state: string;
  attempt: number;
  verdict: { outcome: "PASS" | "FAIL"; score: number; feedback: string; issues: string[] } | null;
};

/** The tasks that were judged, and the runs whose last task was among them. */
export type Verification = { tasks: VerifiedTask[]; finished: Outcome[] };

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
    | "run-taken-over"
    | "run-waits"
    | "database-lost"
    | "plan-changed"
    | "setup-started"
    | "setup-finished"
    | "attempt-started"
    | "worker-completed"
    | "worker-failed"
    | "checks-run"
    | "qc-started"
    | "verdict"
    | "gate-reached"
    | "accepted"
    | "merge-conflict"
    | "retry"
    | "given-up"
    | "released"
    | "report-started"
    | "agent-reminded"
    | "model-retry"
    | "model-not-used";
  /** Empty for news of all runs. */
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
