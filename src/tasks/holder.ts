import { ok, type Result, refuse } from "../kernel/result.ts";
import { lateness } from "../store/fence.ts";
import type { Task } from "./task.ts";

/** The claim that keeps others from a task. */
export type Held = { holder: string; since: string; until: string; alive: boolean };

const cacheSize = 5000;

export const heldBy = (task: Task, clock: number): Held => ({
  holder: task.holder ?? "",
  since: iso(task.claimedAt),
  until: iso(task.leaseUntil),
  alive: (task.leaseUntil ?? 0) >= clock,
});

/** A write under a claim names its epoch; without an epoch, the task must have no holder. */
export function fence(task: Task, clock: number, epoch: number | undefined): Result<true> {
  if (epoch === undefined && task.holder === null) return ok(true);
  if (epoch === undefined) {
    const held = heldBy(task, clock);
    const message = `${held.holder} has claimed task ${task.id} until ${held.until}; if that is you, send the epoch of the claim`;
    return refuse("conflict", message, held);
  }
  const late = lateness(task, clock, epoch);
  return late ? refuse("conflict", late, { late: true, epoch: task.epoch, state: task.state }) : ok(true);
}

/** Tasks as this process's claims left them, so that the step that ends a claim need not read the row again. */
export function claimCache() {
  const tasks = new Map<string, Task>();
  return {
    put(task: Task) {
      tasks.delete(task.id);
      if (task.holder === null) return;
      tasks.set(task.id, task);
      const [oldest] = tasks.keys();
      if (tasks.size > cacheSize && oldest !== undefined) tasks.delete(oldest);
    },
    /** True if this copy was read before our own claim on the task. */
    isStale: ({ id, epoch }: Pick<Task, "id" | "epoch">) => epoch < (tasks.get(id)?.epoch ?? 0),
    get(id: string, epoch: number | undefined): Task | undefined {
      const task = tasks.get(id);
      return task?.epoch === epoch ? task : undefined;
    },
  };
}

/** The refusal of a write that lost a race. */
export const changedMeanwhile = (id: string) =>
  refuse("conflict", `task ${id} changed since it was read; nothing was saved`, {
    next: [{ operation: "get_task_context", input: { id }, to: "read it again" }],
  });

export const iso = (ms: number | null) => new Date(Number(ms ?? 0)).toISOString();
