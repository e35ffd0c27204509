import type { Event } from "../store/events.ts";
import { isLost, type Task } from "./task.ts";
import { type Step, transition } from "./transition.ts";

/** A task rebuilt from its events. Leases are left out because renewals write no event, secrets because no event has them. */
export type Replayed = Omit<Task, "num" | "claimedAt" | "leaseUntil" | "secretHash">;

type Created = Pick<Task, "run" | "title" | "description" | "priority"> & {
  depends_on: string[];
  max_retries: number;
};

/**
 * Applies every recorded step again by the rules of `transition`, in order. The rows must equal the
 * result. Throws at a step that the rules refuse: then the log or the rules are wrong.
 */
export function replayTasks(events: Iterable<Omit<Event, "id">>): Map<string, Replayed> {
  const tasks = new Map<string, Replayed>();
  const dependsOn = new Map<string, string[]>();
  const dependents = new Map<string, string[]>();
  for (const { kind, subject, at, actor, data } of events) {
    if (!kind.startsWith("task-") || kind === "task-write-refused") continue;
    const id = subject.slice("task:".length);
    if (kind === "task-created") {
      const { depends_on: before, max_retries: maxRetries, ...words } = data as Created;
      dependsOn.set(id, before);
      for (const other of before) {
        dependents.set(other, [...(dependents.get(other) ?? []), id]);
        const awaited = tasks.get(other);
        if (awaited) tasks.set(other, { ...awaited, awaited: true });
      }
      const blockersLeft = before.filter((other) => tasks.get(other)?.state !== "completed").length;
      const born = { createdAt: at, createdBy: actor, updatedAt: at };
      tasks.set(id, { ...fresh, ...words, maxRetries, id, blockersLeft, awaited: dependents.has(id), ...born });
      continue;
    }
    if (kind === "task-removed") {
      tasks.delete(id);
      for (const [other, waiting] of dependents)
        dependents.set(
          other,
          waiting.filter((one) => one !== id),
        );
      continue;
    }
    const task = tasks.get(id);
    if (!task) throw new Error(`${kind} of ${id}, which was never created`);
    if (kind === "task-replanned") {
      const { depends_on: before, max_retries: maxRetries, ...words } = data as Created;
      for (const other of dependsOn.get(id) ?? [])
        dependents.set(
          other,
          (dependents.get(other) ?? []).filter((one) => one !== id),
        );
      dependsOn.set(id, before);
      for (const other of before) {
        dependents.set(other, [...(dependents.get(other) ?? []), id]);
        const awaited = tasks.get(other);
        if (awaited) tasks.set(other, { ...awaited, awaited: true });
      }
      const blockersLeft = before.filter((other) => tasks.get(other)?.state !== "completed").length;
      tasks.set(id, { ...task, ...words, maxRetries, blockersLeft, version: task.version + 1, updatedAt: at });
      continue;
    }
    const next = kind === "task-edited" ? (data as Partial<Task>) : stepped(task, kind, data);
    tasks.set(id, { ...task, ...next, version: task.version + 1, updatedAt: at });
    const change = Number(task.state === "completed") - Number((next.state ?? task.state) === "completed");
    if (change !== 0) for (const other of dependents.get(id) ?? []) waitFor(tasks, other, change);
  }
  for (const task of tasks.values()) task.lostBlockers = lostBefore(task.id, tasks, dependsOn);
  return tasks;
}

const fresh = {
  state: "pending",
  attempt: 0,
  lostBlockers: 0,
  epoch: 0,
  holder: null,
  result: {},
  version: 1,
} as const;

function stepped(task: Replayed, kind: string, data: unknown): Partial<Task> {
  const step = { ...(data as object), type: kind.slice("task-".length) } as Step;
  const next = transition(task, step);
  if (!next.ok) throw new Error(`${kind} of ${task.id} is in the record, but ${next.problem.message}`);
  return next.value;
}

function waitFor(tasks: Map<string, Replayed>, id: string, more: number): void {
  const task = tasks.get(id);
  if (task) tasks.set(id, { ...task, blockersLeft: task.blockersLeft + more });
}

/** How many of its ancestors are failed or cancelled. */
function lostBefore(id: string, tasks: Map<string, Replayed>, dependsOn: Map<string, string[]>): number {
  const seen = new Set<string>();
  const open = [...(dependsOn.get(id) ?? [])];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (seen.has(next)) continue;
    seen.add(next);
    open.push(...(dependsOn.get(next) ?? []));
  }
  return [...seen].filter((other) => isLost(tasks.get(other)?.state ?? "pending")).length;
}
