import type { RunResult } from "../agents/runner.ts";
import type { JobRow } from "../store/tables.ts";

/**
 *   queued ──claim──▶ running ──settle──▶ succeeded, failed or timed_out
 *     │                  │
 *     └──────fail────────┴──────────────▶ failed          (cancelled, or its process is gone)
 *
 * End states are final: to retry, a person starts a new job.
 */
export type Job = JobRow;

/** The columns of a job that its end determines. */
export type JobOutcome = Pick<Job, "status" | "exit_code" | "error_tail" | "message">;

/** The result that a job must leave behind to succeed. */
export type JobResult = "proposal" | "reply" | "perspective" | "finding";

export const restarted = "server restarted while job in flight";

/** Judges a run by how it ended and by its writes through operations, never by its output (R16). */
export function judge(
  ran: RunResult,
  expected: JobResult,
  produced: boolean,
  why: { cancelledBy?: string } = {},
): JobOutcome {
  const { exitCode, errorTail, ended, error } = ran;
  const failed = (message: string, tail = errorTail || (error ?? "")): JobOutcome => ({
    status: "failed",
    exit_code: exitCode,
    error_tail: tail,
    message,
  });
  const left = produced ? ` It wrote a ${expected} before that.` : "";

  if (ended === "spawn-error") {
    const reason = `agent unreachable: ${error ?? "could not be started"}`;
    return failed(`The agent could not be started: ${error}. Check the agent block in scriptorium.yaml.`, reason);
  }
  if (ended === "timeout" || ended === "idle") {
    const message = `The agent ${error ?? "took too long"} and was stopped.${left}`;
    return { status: "timed_out", exit_code: exitCode, error_tail: errorTail, message };
  }
  if (ended === "stopped") {
    return why.cancelledBy
      ? failed(`Cancelled by ${why.cancelledBy}.`, `cancelled by ${why.cancelledBy}`)
      : failed(
          "The server stopped while the agent was running. Start the job again.",
          "server stopped while job in flight",
        );
  }
  if (ended === "limit") return failed(`The agent ${error ?? "reached a limit"} and was stopped.${left}`);
  if (ended === "outage")
    return failed(`The model of the agent could not be used: ${error ?? "its provider does not answer"}.${left}`);
  if (ended === "exit" && exitCode !== 0) {
    const how = exitCode === null ? "was killed by a signal" : `exited with code ${exitCode}`;
    return failed(`The agent ${how}${error ? `: ${error}` : ""}.${left}`);
  }
  if (!produced) {
    const short = `agent exited 0 but produced no ${expected}`;
    const said = error ? ` It said: ${error}` : "";
    return failed(
      `The agent exited without an error but wrote no ${expected}.${said}`,
      errorTail ? `${short}\n${errorTail}` : short,
    );
  }
  // Its exit code, if any, is the effect of our own signals.
  const late = ended === "after-result" ? ` It ${error ?? "did not exit by itself"} and was stopped.` : "";
  return {
    status: "succeeded",
    exit_code: late ? null : exitCode,
    error_tail: null,
    message: `The agent wrote a ${expected}.${late}`,
  };
}
