import { useWrite } from "../client/query.ts";
import { say } from "../parts/toast.tsx";
import type { Action } from "../shell/actions.ts";
import { isShort } from "./resume.tsx";
import type { Run } from "./run.tsx";

/** The dialogs of a run's page. */
export type RunDialogName = "start" | "cancel" | "merge" | "pullRequest" | "revert";

/**
 * What a person can do with a run, and what of it is being done. What starts, resumes, cancels or merges a run opens a
 * dialog, because these actions are in the palette and have keys.
 */
export function useRunActions(id: string, run: Run | undefined, open: (dialog: RunDialogName) => void) {
  const pause = useWrite("pause_run", {
    onDone: ({ in_progress }) =>
      say(
        in_progress === 0
          ? "Run paused"
          : `Run paused; ${in_progress === 1 ? "1 agent ends its stage" : `${in_progress} agents end their stage`}`,
      ),
  });
  const retry = useWrite("execute_run", { onDone: () => say("Run started") });
  const planAgain = useWrite("start_run", { onDone: () => say("The planner continues") });
  const replan = useWrite("replan_run", { onDone: () => say("The planner is writing a plan change") });
  const actions: Record<
    "execute" | "retry" | "planAgain" | "replan" | "merge" | "pullRequest" | "revert" | "pause" | "cancel",
    Action
  > = {
    revert: {
      id: "run-revert",
      label: "Revert run",
      group: "Run",
      operation: "revert_run",
      when: run !== undefined && !["planning", "planned", "running"].includes(run.state),
      run: () => open("revert"),
    },
    merge: {
      id: "run-merge",
      label: "Merge accepted work",
      group: "Run",
      operation: "merge_run",
      when: canMerge(run),
      run: () => open("merge"),
    },
    pullRequest: {
      id: "run-pull-request",
      label: "Open pull request",
      group: "Run",
      operation: "open_pull_request",
      when: canMerge(run),
      run: () => open("pullRequest"),
    },
    planAgain: {
      id: "run-plan-again",
      label: "Plan again",
      group: "Run",
      operation: "start_run",
      when: hasNoPlan(run) && !planAgain.isPending,
      run: () => planAgain.mutate({ run: id }),
    },
    replan: {
      id: "run-replan",
      label: "Replan failed tasks",
      group: "Run",
      operation: "replan_run",
      when: canReplan(run) && !replan.isPending,
      run: () => replan.mutate({ id }),
    },
    retry: {
      id: "run-retry",
      label: "Retry failed tasks",
      group: "Run",
      operation: "execute_run",
      when: run?.state === "failed" && run.failures.length > 0 && !retry.isPending,
      run: () => retry.mutate({ id, retry: run?.failures.map((task) => task.id) }),
    },
    execute: {
      id: "run-execute",
      label: run?.state === "planned" ? "Run" : "Resume",
      group: "Run",
      keys: "r r",
      operation: "execute_run",
      when: run?.state === "planned" || isReopened(run) || (run?.state === "stopped" && !isShort(run)),
      run: () => open("start"),
    },
    pause: {
      id: "run-pause",
      label: "Pause",
      group: "Run",
      keys: "r p",
      operation: "pause_run",
      when: run?.state === "running" && !pause.isPending,
      run: () => pause.mutate({ id }),
    },
    cancel: {
      id: "run-cancel",
      label: "Cancel run",
      group: "Run",
      operation: "cancel_run",
      when: run !== undefined && ["planning", "planned", "running", "stopped"].includes(run.state),
      run: () => open("cancel"),
    },
  };
  const busy = {
    retry: retry.isPending,
    planAgain: planAgain.isPending,
    replan: replan.isPending,
    pause: pause.isPending,
  };
  return { actions, busy };
}

/** A failed run whose tasks were reopened one by one. */
export const isReopened = (run: Run | undefined) =>
  run?.state === "failed" && run.tasks.length > 0 && !run.tasks.some(({ state }) => state === "failed");

/** A run whose planner ended without a plan; planning continues with the tasks that it had submitted. */
export const hasNoPlan = (run: Run | undefined) => run?.state === "failed" && run.tasks.length === 0;

export const canReplan = (run: Run | undefined) =>
  run !== undefined &&
  ["stopped", "failed"].includes(run.state) &&
  run.failures.length > 0 &&
  run.plan_change === undefined;

export const canMerge = (run: Run | undefined) =>
  run !== undefined &&
  ["completed", "failed", "stopped"].includes(run.state) &&
  run.tasks.some(({ state, deliverable }) => state === "completed" && deliverable === "files");
