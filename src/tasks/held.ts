import { ok, type Result, refuse } from "../kernel/result.ts";
import { lateness } from "../store/fence.ts";
import type { Task } from "./task.ts";

/** Who holds a task, in words for whoever asked for it in vain. */
export type Held = { holder: string; since: string; until: string; alive: boolean };

const mostHeld = 5000;

export const heldBy = (task: Task, clock: number): Held => ({
  holder: task.holder ?? "",
  since: iso(task.claimedAt),
  until: iso(task.leaseUntil),
  alive: (task.leaseUntil ?? 0) >= clock,
});

/** A write under a claim names its epoch; without one, only what nobody holds can be written. */
export function fence(task: Task, clock: number, epoch: number | undefined): Result<true> {
  if (epoch === undefined && task.holder === null) return ok(true);
  if (epoch === undefined) {
    const held = heldBy(task, clock);
    const message = `task ${task.id} is held by ${held.holder} until ${held.until}; a write under a claim names its epoch`;
    return refuse("conflict", message, held);
  }
  const late = lateness(task, clock, epoch);
  return late ? refuse("conflict", late, { late: true, epoch: task.epoch, state: task.state }) : ok(true);
}

/** Tasks as this process's claims left them, so that the step that ends a claim need not read them again. */
export function heldTasks() {
  const tasks = new Map<string, Task>();
  return {
    keep(task: Task) {
      tasks.delete(task.id);
      if (task.holder === null) return;
      tasks.set(task.id, task);
      const [oldest] = tasks.keys();
      if (tasks.size > mostHeld && oldest !== undefined) tasks.delete(oldest);
    },
    /** Whether it was seen before we took it. */
    isPast: ({ id, epoch }: Pick<Task, "id" | "epoch">) => epoch < (tasks.get(id)?.epoch ?? 0),
    under(id: string, epoch: number | undefined): Task | undefined {
      const task = tasks.get(id);
      return task?.epoch === epoch ? task : undefined;
    },
  };
}

export const iso = (ms: number | null) => new Date(Number(ms ?? 0)).toISOString();
