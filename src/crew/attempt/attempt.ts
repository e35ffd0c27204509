import type { Problem } from "../../kernel/result.ts";
import type { Attempt } from "../../store/queries/attempts.ts";
import type { RunTask } from "../../store/queries/runs.ts";
import { hashOf } from "../record/facts.ts";
import type { Stop } from "../rules/run.ts";
import type { Crew } from "./crew.ts";

/**
 * An attempt has three stages. Each starts from the record alone, so that after a crash any process can
 * take the task up where it stands:
 *
 *   work     pending, preparing_retry ──▶ worker_completed, or qc_failed
 *   verify   worker_completed         ──▶ qc_passed, or qc_failed
 *   conclude qc_passed                ──▶ completed, or preparing_retry or failed if it does not merge
 *            qc_failed                ──▶ preparing_retry, or failed
 */
export type StageResult =
  /** The stage recorded its result and the task moved on. */
  | { outcome: "done" }
  /** The claim went to another process, which moves the task; nothing was recorded. */
  | { outcome: "lost" }
  /** The task was handed back unchanged, for any process to take up. */
  | { outcome: "released"; reason: string; lacksFiles?: boolean }
  /** The task waits for a person, who decides about files of its deliverable or approves it at its gate. */
  | { outcome: "held"; reason: string }
  /** The provider of a model is out of service: the task was handed back, and the run goes on when it answers. */
  | { outcome: "waiting"; reason: string }
  /** The run cannot go on for this reason; the task was handed back if it was held. */
  | ({ outcome: "stop" } & Stop);

export const done: StageResult = { outcome: "done" };
export const lost: StageResult = { outcome: "lost" };
export const released = (reason: string): StageResult => ({ outcome: "released", reason });
/** The files that the stage needs are on another machine only. */
export const unreachable = ({ message }: Problem): StageResult => ({
  outcome: "released",
  reason: message,
  lacksFiles: true,
});
export const held = (reason: string): StageResult => ({ outcome: "held", reason });
export const waiting = (reason: string): StageResult => ({ outcome: "waiting", reason });
export const stop = (reason: string, cause: Stop["cause"] = "other"): StageResult => ({
  outcome: "stop",
  reason,
  cause,
});

export const aboutTask = ({ run_id, task_id, number }: RunTask, title: string) => ({
  run: run_id,
  task: task_id,
  number,
  title,
});

/** The hash that a verdict is bound to: the files and the worker's output. */
export const deliverableHash = ({ deliverable }: RunTask, tree: string, output: string) =>
  hashOf(deliverable === "text" ? output : `${tree}\n${output}`);

export const deskAt = (crew: Crew, folder: () => Promise<string>, write: boolean, run: string, signal: AbortSignal) => {
  const { config } = crew.app;
  return {
    folder,
    write,
    sandbox: crew.sandbox,
    read: config.crew.read,
    limits: config.crew.limits,
    env: { PATH: config.environment.PATH ?? "/usr/bin:/bin", LANG: "C.UTF-8", TERM: "dumb" },
    run,
    commandMs: config.crew.command_seconds * 1000,
    signal,
    beside: crew.trees.beside,
  };
};

const trailers = ({ run_id, number, task_id }: RunTask, attempt: number, epoch: number) =>
  [`Run: ${run_id}`, `Task: ${task_id}`, `Number: ${number}`, `Attempt: ${attempt}`, `Epoch: ${epoch}`].join("\n");

export const commitMessage = (detail: RunTask, title: string, attempt: number, epoch: number) =>
  `Task ${detail.number}: ${title}\n\n${trailers(detail, attempt, epoch)}\n`;

export const mergeMessage = (detail: RunTask, title: string, { attempt, epoch }: Attempt) =>
  `Accept task ${detail.number}: ${title}\n\n${trailers(detail, attempt, epoch)}\n`;
