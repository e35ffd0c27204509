import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../store/database.ts";
import { type Changes, watchChanges } from "../store/wait-for-change.ts";
import type { TaskEngine } from "./engine.ts";
import type { State, Task } from "./task.ts";

type Options = { task: string; epoch: number; secret: string; leaseMs: number };

/** The reason of the signal when the claim has ended. */
export const leaseLost = Symbol("lease lost");

/** Between two looks at the claim while the database changes. */
const lookMs = 500;

/**
 * Renews the lease of a claim while its work goes on. A lease that cannot be renewed has gone to another
 * worker, or a person released it: `signal` aborts the work, whose result would be refused. With `db` a release by
 * another is noticed soon after it happened, and not at the next renewal.
 */
export function keepLease(
  tasks: Pick<TaskEngine, "renew" | "find">,
  { task, epoch, secret, leaseMs }: Options,
  outer: AbortSignal,
  db?: Pick<Database, "onChange">,
) {
  const inner = new AbortController();
  const over = new AbortController();
  const changes = db && watchChanges(db);
  let lost = false;
  const end = () => {
    clearInterval(heart);
    over.abort();
    changes?.close();
  };
  const lose = () => {
    lost = true;
    end();
    inner.abort(leaseLost);
  };
  const beat = async () => {
    // An error is not a refusal: the store may answer again before the lease runs out.
    const renewed = await tasks.renew(task, { epoch, secret }, leaseMs).catch(() => undefined);
    if (renewed && !renewed.ok) lose();
  };
  const heart = setInterval(() => void beat(), leaseMs / 3);
  const find = () => tasks.find(task).catch(() => undefined);
  if (changes) void takenAway(changes, find, epoch, over.signal).then((isTaken) => isTaken && lose());
  return {
    signal: AbortSignal.any([inner.signal, outer]),
    lost: () => lost,
    end,
  };
}

/** Resolves with true when another ended the claim, and with false when its work is over. */
async function takenAway(
  changes: Changes,
  find: () => Promise<Task | undefined>,
  epoch: number,
  over: AbortSignal,
): Promise<boolean> {
  let claimed: State | undefined;
  while (!over.aborted) {
    const seen = changes.count();
    const task = await find();
    if (over.aborted) break;
    if (task?.holder != null) claimed ??= task.state;
    else if (task?.epoch === epoch && isReleased(task.state, claimed)) return true;
    await changes.after(seen, longestWaitMs, over);
    await sleep(lookMs, undefined, { signal: over }).catch(() => undefined);
  }
  return false;
}

/** An agent that has delivered, whose task moved on, may end by itself: only these states follow a release. */
const isReleased = (state: State, claimed: State | undefined) =>
  state === "cancelled" ||
  state === "pending" ||
  (claimed === "worker_executing" && state === "preparing_retry") ||
  (claimed === "qc_executing" && state === "worker_completed");

const longestWaitMs = 2 ** 31 - 1;
