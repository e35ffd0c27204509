import { hunksBetween, unifiedDiff } from "../../kernel/hunks.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { State } from "../../tasks/task.ts";
import { chainName, writeChain } from "./chain-file.ts";
import type { Plan, PlanTask } from "./plan.ts";

/** A task of a run as far as a change of its plan must know it; `epoch` is 0 if nobody ever claimed it. */
export type Standing = { id: string; number: string; state: State; epoch: number };

export type PlanChange = { changed: PlanTask[]; added: PlanTask[]; removed: string[] };

/** Tasks in these states have no work that the old text of the task would judge. */
const editable: readonly State[] = ["pending", "preparing_retry", "failed", "cancelled"];

/** What has to change in the tasks of a run that has started, or every reason why it cannot. */
export function planChange(before: Plan, after: Plan, standing: readonly Standing[]): Result<PlanChange> {
  const old = new Map(before.tasks.map((task) => [task.number, task]));
  const kept = new Set(after.tasks.map(({ number }) => number));
  const change: PlanChange = {
    changed: after.tasks.filter((task) => old.has(task.number) && !isSame(task, old.get(task.number))),
    added: after.tasks.filter((task) => !old.has(task.number)),
    removed: before.tasks.map(({ number }) => number).filter((number) => !kept.has(number)),
  };
  const known = new Map(standing.map((task) => [task.number, task]));
  const problems = [
    ...change.changed.flatMap(({ number }) => whyNotChanged(known.get(number))),
    ...[...old.values()].flatMap((task) => whyNotUngated(task, after)),
    ...change.removed.flatMap((number) => whyNotRemoved(known.get(number))),
  ];
  return problems.length === 0 ? ok(change) : refuse("conflict", problems.join("\n"), { problems });
}

function whyNotChanged(task: Standing | undefined): string[] {
  if (!task || editable.includes(task.state)) return [];
  if (task.state === "completed")
    return [
      `task ${task.number} is completed and cannot be changed; restore it in the plan, or declare it wrong first: scriptorium task overturn ${task.id} --reason "…"`,
    ];
  return [`task ${task.number} is in progress and cannot be changed now; wait until its attempt has ended`];
}

/** A gate must not be opened by an edit of a file that agents may be able to write. */
function whyNotUngated({ number, gate }: PlanTask, after: Plan): string[] {
  const now = after.tasks.find((task) => task.number === number);
  if (gate === undefined || now?.gate === gate) return [];
  return [
    `task ${number} has a gate, which cannot be removed from a run that has started; restore it, and approve its result when it waits`,
  ];
}

function whyNotRemoved(task: Standing | undefined): string[] {
  if (!task || (task.epoch === 0 && editable.includes(task.state))) return [];
  return [`task ${task.number} has been started and cannot be removed; restore it in the plan, or change its text`];
}

const isSame = (a: PlanTask, b: PlanTask | undefined) => JSON.stringify(a) === JSON.stringify(b);

/** The change of a plan as the diff of its file. */
export function planDiff(about: { run: string; request: string }, before: Plan, after: Plan): string {
  const text = (plan: Plan) => writeChain({ ...about, plan });
  return unifiedDiff(chainName, chainName, hunksBetween(text(before), text(after)));
}

/** The change for people, with the tasks that it does not start by itself. */
export const changeText = ({ diff, ended }: { diff: string; ended: readonly { id: string; number: string }[] }) =>
  [
    diff,
    ...ended.map(
      ({ id, number }) => `task ${number} has ended; run it with its new text: scriptorium task retry ${id}`,
    ),
  ].join("\n");
