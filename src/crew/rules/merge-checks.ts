import { type Check, dependenciesOf, type PlanTask } from "./plan.ts";

/** A check that must hold on the merged files: of this task, or of a task that was accepted before. */
export type MergeCheck = { number: string; criterion: number; words: string; check: Check };

type Merging = {
  number: string;
  /** Tasks of the plan. */
  tasks: readonly PlanTask[];
  /** Numbers of accepted tasks. */
  accepted: ReadonlySet<string>;
  /** False if the merged files are those that were verified: its own checks have run on them. */
  isNew: boolean;
};

/**
 * The checks that decide whether work may be merged, each command once. A task that depends on another may change
 * what that one made, so its checks are left out. Between independent tasks the order of acceptance is chance, and so
 * the checks of both must hold once both are merged.
 */
export function mergeChecks({ number, tasks, accepted, isNew }: Merging): MergeCheck[] {
  const before = ancestorsIn(tasks);
  const own = tasks.filter((task) => isNew && task.number === number);
  const others = tasks.filter(
    (task) =>
      task.number !== number &&
      accepted.has(task.number) &&
      task.deliverable === "files" &&
      !before(number).has(task.number) &&
      !before(task.number).has(number),
  );
  const found = new Map<string, MergeCheck>();
  // A check of this task that has run on these files need not run again for another task.
  const hasRun = new Set(isNew ? [] : checksOf(tasks.filter((task) => task.number === number)).map(keyOf));
  for (const one of checksOf([...own, ...others]))
    if (!found.has(keyOf(one)) && !hasRun.has(keyOf(one))) found.set(keyOf(one), one);
  return [...found.values()];
}

const keyOf = ({ check }: MergeCheck) => JSON.stringify(check);

const checksOf = (tasks: readonly PlanTask[]): MergeCheck[] =>
  tasks.flatMap(({ number, verification }) =>
    verification.flatMap(({ criterion, check }, i) =>
      check ? [{ number, criterion: i + 1, words: criterion, check }] : [],
    ),
  );

function ancestorsIn(tasks: readonly PlanTask[]): (number: string) => ReadonlySet<string> {
  const byNumber = new Map(tasks.map((task) => [task.number, task]));
  return (number) => {
    const found = new Set<string>();
    const waiting = [number];
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      const task = byNumber.get(at);
      for (const one of task ? dependenciesOf(task) : []) {
        if (!found.has(one)) waiting.push(one);
        found.add(one);
      }
    }
    return found;
  };
}

/** Why work that passed by itself is not merged, for the next worker and for people. */
export const failedAfterMerge = (number: string, { number: of, criterion, words }: MergeCheck, detail: string) =>
  `${of === number ? "" : `task ${of}: `}the check of criterion ${criterion} (${words}) fails on the files merged with ` +
  `the work accepted since, though each passed by itself: ${detail}`;
