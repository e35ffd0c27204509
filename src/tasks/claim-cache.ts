import type { Task } from "./task.ts";

const cacheSize = 5000;

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
    /** After a refused step: the row differs from this copy. After a failover its epoch may even be lower. */
    drop: (id: string) => void tasks.delete(id),
    /** True if this copy was read before our own claim on the task. */
    isStale: ({ id, epoch }: Pick<Task, "id" | "epoch">) => epoch < (tasks.get(id)?.epoch ?? 0),
    get(id: string, epoch: number | undefined): Task | undefined {
      const task = tasks.get(id);
      return task?.epoch === epoch ? task : undefined;
    },
  };
}
