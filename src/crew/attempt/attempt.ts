import type { AttemptRow, RunTaskRow } from "../../store/crew-tables.ts";
import { hashOf } from "../record/facts.ts";
import type { Crew } from "./crew.ts";

/**
 * One attempt is three stages, and each begins from what the record says alone. Whoever is killed
 * in one of them, the next process to look takes the task up where it stands:
 *
 *   work     pending, preparing_retry ──▶ worker_completed, or qc_failed
 *   verify   worker_completed         ──▶ qc_passed, or qc_failed
 *   conclude qc_passed                ──▶ completed, or qc_failed when it does not merge
 *            qc_failed                ──▶ preparing_retry, or failed
 *
 * What a stage comes to is a problem only when it concerns the run as a whole.
 */
export type Stage = { stop?: string };

export const aboutTask = ({ run_id, task_id, number }: RunTaskRow, title: string) => ({
  run: run_id,
  task: task_id,
  number,
  title,
});

/** A verdict is bound to this: the files as they are, and the words that go with them. */
export const deliverableHash = ({ deliverable }: RunTaskRow, tree: string, output: string) =>
  hashOf(deliverable === "text" ? output : `${tree}\n${output}`);

export const deskAt = (crew: Crew, folder: () => Promise<string>, write: boolean, run: string, signal: AbortSignal) => {
  const { config } = crew.app;
  return {
    folder,
    write,
    sandbox: crew.sandbox,
    read: config.crew.read,
    env: { PATH: config.environment.PATH ?? "/usr/bin:/bin", LANG: "C.UTF-8", TERM: "dumb" },
    run,
    commandMs: config.crew.command_seconds * 1000,
    signal,
  };
};

const trailers = ({ run_id, number, task_id }: RunTaskRow, attempt: number, epoch: number) =>
  [`Run: ${run_id}`, `Task: ${task_id}`, `Number: ${number}`, `Attempt: ${attempt}`, `Epoch: ${epoch}`].join("\n");

export const commitMessage = (detail: RunTaskRow, title: string, attempt: number, epoch: number) =>
  `Task ${detail.number}: ${title}\n\n${trailers(detail, attempt, epoch)}\n`;

export const mergeMessage = (detail: RunTaskRow, title: string, { attempt, epoch }: AttemptRow) =>
  `Accept task ${detail.number}: ${title}\n\n${trailers(detail, attempt, epoch)}\n`;
