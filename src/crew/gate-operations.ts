import * as z from "zod";
import { nameOf } from "../kernel/caller.ts";
import { collaborators, operation, people } from "../kernel/operation.ts";
import { ok, type Result } from "../kernel/result.ts";
import { findAttempt } from "../store/queries/attempts.ts";
import { runTask } from "../store/queries/runs.ts";
import { verdictsOf } from "../store/queries/verdicts.ts";
import type { CrewApp } from "./record/crew-app.ts";
import { decideAtGate, type GateDecision, waitingAt } from "./record/gates.ts";
import { gateLine, shownGate } from "./report/gates.ts";

const id = z.string().max(64).describe("Id of the task that waits for approval, as in the inbox");
const hash = z.string().max(64).describe("`hash` of `show_gate`, so that you decide about what you saw");

/** The size of a diff in an answer, in characters. */
const longestDiff = 200_000;

export const showGate = operation({
  name: "show_gate",
  summary:
    "Show what waits for your approval: the verified result of a task with its verdict and diff, or a question of the plan.",
  effect: "reads",
  reads: ["run", "task", "attempt"],
  callers: people,
  group: "runs",
  http: { method: "get", path: "/tasks/{id}/gate" },
  input: z.object({ id }),
  output: gateLine.extend({
    requirements: z.string().describe("Of a task that only asks: the question"),
    output: z.string().describe("What the worker submitted; for a text task, the text itself"),
    files_changed: z.array(z.string()),
    score: z.int().nullable(),
    feedback: z.string().describe("The verifier's words"),
    diff: z.string().describe("The change as a unified diff; empty for a text"),
    truncated: z.boolean().describe("True if the diff was too long to show whole"),
  }),
  async run(app: CrewApp, { id }) {
    const gate = await waitingAt(app, id);
    if (!gate.ok) return gate;
    const { run_id, epoch, base_id, commit_id } = gate.value;
    await app.packs.bringAttempts(run_id, [gate.value, { commit_id: base_id }]);
    const [attempt, detail, verdicts] = await Promise.all([
      findAttempt(app.db.read, id, epoch),
      runTask(app.db.read, id),
      verdictsOf(app.db.read, { task: id }),
    ]);
    const verdict = verdicts.findLast((one) => one.epoch === epoch && one.voided_at === null);
    const diff =
      base_id === null || commit_id === null
        ? ""
        : await app.git.text(["diff", "--no-ext-diff", "--no-textconv", "--no-color", base_id, commit_id, "--"]);
    return ok({
      ...shownGate(gate.value),
      requirements: detail?.requirements ?? "",
      output: attempt?.output ?? "",
      files_changed: attempt?.files_changed ?? [],
      score: verdict?.score ?? null,
      feedback: verdict?.feedback ?? "",
      diff: diff.slice(0, longestDiff),
      truncated: diff.length > longestDiff,
    });
  },
});

const outcome = z.object({
  id: z.string(),
  run: z.string(),
  state: z.string().describe("State of the run: a stopped run has to be resumed"),
});

async function decide(app: CrewApp, decision: GateDecision, actor: string): Promise<Result<z.infer<typeof outcome>>> {
  const decided = await decideAtGate(app, decision, actor);
  if (!decided.ok) return decided;
  const run = decided.value.run_id;
  return ok({ id: decision.task, run, state: (await app.runs.find(run))?.state ?? "cancelled" });
}

export const approveTask = operation({
  name: "approve_task",
  summary: "Approve the verified result of a task with a gate, which is merged, or a question; dependent tasks start.",
  effect: "writes",
  touches: ["run", "task", "attempt"],
  callers: collaborators,
  group: "runs",
  http: { method: "post", path: "/tasks/{id}/approve" },
  decision: true,
  input: z.object({
    id,
    hash,
    note: z
      .string()
      .trim()
      .min(1)
      .max(2000)
      .optional()
      .describe("Kept with the decision; for a question, the answer that dependent tasks get"),
  }),
  output: outcome,
  run: (app: CrewApp, { id, hash, note }, caller) =>
    decide(app, { task: id, hash, decision: "approved", note: note ?? null }, nameOf(caller)),
});

export const rejectTask = operation({
  name: "reject_task",
  summary: "Reject a question of the plan: its task fails, or the run stops, as the plan says.",
  effect: "writes",
  touches: ["run", "task", "attempt"],
  callers: collaborators,
  group: "runs",
  http: { method: "post", path: "/tasks/{id}/reject" },
  decision: true,
  input: z.object({
    id,
    hash,
    note: z.string().trim().min(1).max(2000).optional().describe("Why; kept with the decision"),
  }),
  output: outcome,
  run: (app: CrewApp, { id, hash, note }, caller) =>
    decide(app, { task: id, hash, decision: "rejected", note: note ?? null }, nameOf(caller)),
});

export const returnTask = operation({
  name: "return_task",
  summary: "Return the result of a task with a gate; the next attempt gets your note, and no attempt is used up.",
  effect: "writes",
  touches: ["run", "task", "attempt"],
  callers: collaborators,
  group: "runs",
  http: { method: "post", path: "/tasks/{id}/return" },
  decision: true,
  input: z.object({
    id,
    hash,
    note: z.string().trim().min(1, "say what must change").max(4000).describe("What must change, for the next worker"),
  }),
  output: outcome,
  run: (app: CrewApp, { id, hash, note }, caller) =>
    decide(app, { task: id, hash, decision: "returned", note }, nameOf(caller)),
});
