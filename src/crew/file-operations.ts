import * as z from "zod";
import { nameOf } from "../kernel/caller.ts";
import { collaborators, operation, people } from "../kernel/operation.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import { waitingFiles } from "../store/queries/held-files.ts";
import type { CrewApp } from "./record/crew-app.ts";
import { type Decision, decideFiles } from "./record/held-files.ts";
import { heldFiles, shownFiles } from "./report/held-files.ts";

const task = z.string().max(64).describe("Id of the task whose files wait");
const hash = z.string().max(64).describe("`hash` of `show_held_files`, so that you decide about what you saw");

/** The size of a diff in an answer, in characters. */
const longestDiff = 200_000;

export const showHeldFiles = operation({
  name: "show_held_files",
  summary: "Show the files of a task that instruct agents or run programs unasked and wait for your decision.",
  effect: "reads",
  reads: ["run", "attempt"],
  callers: people,
  group: "runs",
  http: { method: "get", path: "/held-files/{task}" },
  input: z.object({ task }),
  output: heldFiles.extend({
    diff: z.string().describe("The change of these files as a unified diff"),
    truncated: z.boolean().describe("True if the diff was too long to show whole"),
  }),
  async run(app: CrewApp, { task }) {
    const held = (await waitingFiles(app.db.read)).find(({ task_id }) => task_id === task);
    if (!held) return refuse("not_found", `no files of task ${task} wait for a decision`);
    const { base_id, commit_id, files } = held;
    await app.packs.bringAttempts(held.run_id, [held, { commit_id: base_id }]);
    const paths = files.map(({ path }) => `:(top,literal)${path}`);
    const diff = await app.git.text([
      ...["diff", "--no-ext-diff", "--no-textconv", "--no-color", base_id, commit_id, "--"],
      ...paths,
    ]);
    return ok({ ...shownFiles(held), diff: diff.slice(0, longestDiff), truncated: diff.length > longestDiff });
  },
});

const outcome = z.object({
  task: z.string(),
  run: z.string(),
  state: z.string().describe("State of the run: a stopped run has to be resumed"),
});

async function decide(app: CrewApp, decision: Decision, actor: string): Promise<Result<z.infer<typeof outcome>>> {
  const decided = await decideFiles(app, decision, actor);
  if (!decided.ok) return decided;
  const run = decided.value.run_id;
  return ok({ task: decision.task, run, state: (await app.runs.find(run))?.state ?? "cancelled" });
}

export const allowFiles = operation({
  name: "allow_files",
  summary: "Allow files of a task that instruct agents or run programs unasked; the task is then verified.",
  effect: "writes",
  touches: ["run", "attempt"],
  callers: collaborators,
  group: "runs",
  http: { method: "post", path: "/held-files/{task}/allow" },
  decision: true,
  input: z.object({ task, hash }),
  output: outcome,
  run: (app: CrewApp, { task, hash }, caller) =>
    decide(app, { task, hash, decision: "allowed", note: null }, nameOf(caller)),
});

export const refuseFiles = operation({
  name: "refuse_files",
  summary: "Refuse such files; the attempt fails with your reason and the next worker starts without them.",
  effect: "writes",
  touches: ["run", "attempt"],
  callers: collaborators,
  group: "runs",
  http: { method: "post", path: "/held-files/{task}/refuse" },
  decision: true,
  input: z.object({
    task,
    hash,
    note: z.string().trim().min(1).max(2000).optional().describe("The reason, for the next worker"),
  }),
  output: outcome,
  run: (app: CrewApp, { task, hash, note }, caller) =>
    decide(app, { task, hash, decision: "refused", note: note ?? null }, nameOf(caller)),
});
