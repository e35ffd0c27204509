/** The worker thread of `src/kernel/threads/threads.ts`, with the tasks that it can run. */
import { parentPort } from "node:worker_threads";
import { searchTask } from "./crew/agent/desk/search-task.ts";
import { ownThread } from "./kernel/threads/cpu-time.ts";
import type { ThreadRequest, ThreadTask } from "./kernel/threads/threads.ts";
import { impactTask } from "./review/proposals/impact.ts";
import { placeLinesTask } from "./review/proposals/line-comments.ts";
import { refindTask } from "./review/topics/refind-task.ts";
import { blameTask } from "./wiki/merge/blame.ts";
import { diffTask } from "./wiki/merge/diff-task.ts";
import { mergeByHeadingTask, mergeLinesTask } from "./wiki/merge/merge-task.ts";

// biome-ignore lint/suspicious/noExplicitAny: each task has its own input, and its name comes with it.
const tasks: ThreadTask<any, unknown>[] = [
  impactTask,
  placeLinesTask,
  refindTask,
  mergeLinesTask,
  mergeByHeadingTask,
  diffTask,
  blameTask,
  searchTask,
];
const byName = new Map(tasks.map((task) => [task.name, task]));

parentPort?.on("message", ({ name, input }: ThreadRequest) => {
  try {
    parentPort?.postMessage({ answer: byName.get(name)?.run(input) });
  } catch (error) {
    parentPort?.postMessage({ error: String(error) });
  }
});
parentPort?.postMessage({ ready: true, thread: ownThread() });
