import * as z from "zod";
import { collaborators, operation } from "../operation.ts";
import { nameOf } from "../people/caller.ts";
import { ok } from "../result.ts";
import { isOver } from "../tasks/task.ts";

export const cancelRun = operation({
  name: "cancel_run",
  summary: "Give a run up: nothing more of it is begun, and what is under way is stopped.",
  effect: "destroys",
  callers: collaborators,
  http: { method: "post", path: "/runs/{id}/cancel" },
  input: z.object({
    id: z.string().max(64).describe("The run's id, such as run-…"),
    reason: z.string().trim().min(1).max(1000).default("cancelled").describe("Why"),
  }),
  output: z.object({ id: z.string(), state: z.string(), cancelled: z.int().describe("How many tasks were given up") }),
  async run(app, { id, reason }, caller) {
    const by = nameOf(caller);
    const stepped = await app.runs.step(id, { type: "cancel", reason }, by);
    if (!stepped.ok) return stepped;
    let cancelled = 0;
    for (const { task } of await app.runs.tasks(id)) {
      // A held task is taken from its worker first: whatever that one still writes comes too late.
      if (task.holder !== null) await app.tasks.release(task.id, by, { force: true });
      const now = await app.tasks.find(task.id);
      if (!now || isOver(now.state)) continue;
      const given = await app.tasks.step(task.id, { type: "cancel", reason }, by);
      if (given.ok) cancelled += 1;
    }
    return ok({ id, state: stepped.value.state, cancelled });
  },
});
