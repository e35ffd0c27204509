import * as z from "zod";
import { waitingItems } from "../../config/trust-items.ts";
import { operation, people } from "../../kernel/operation.ts";
import { ok } from "../../kernel/result.ts";
import { listedProposal, withPending } from "../../review/proposals/operations.ts";
import type { RunRow } from "../../store/crew-tables.ts";
import { waitingGates } from "../../store/queries/gates.ts";
import { waitingFiles } from "../../store/queries/held-files.ts";
import { failedRuns, runsThatWait, tasksOfRun } from "../../store/queries/runs.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { openChanges } from "../record/plan-changes.ts";
import { gateLine, shownGate } from "./gates.ts";
import { heldFiles, shownFiles } from "./held-files.ts";
import { budget, question, runLine } from "./show.ts";

/** Everything that waits for a person, in one place: the page, its badge and the command show the same. */
export const inbox = operation({
  name: "inbox",
  summary:
    "Show what waits for a person: proposals, agents' questions, plan changes, held files, results to approve, stopped and failed runs, and settings.",
  effect: "reads",
  reads: ["proposal", "topic", "job", "run", "task", "question", "setting"],
  callers: people,
  group: "review",
  http: { method: "get", path: "/inbox" },
  input: z.object({}),
  output: z.object({
    waiting: z.int().describe("Number of decisions"),
    proposals: z.array(listedProposal),
    runs: z
      .array(runLine.extend({ reason: z.string().nullable(), budget, questions: z.array(question) }))
      .describe("Stopped, failed and waiting runs with their reason, and runs with open questions"),
    plan_changes: z
      .array(
        z.object({
          id: z.string(),
          run: z.string(),
          title: z.string(),
          tasks: z.array(z.string()),
          reason: z.string().nullable(),
          proposed_at: z.string().nullable(),
        }),
      )
      .describe("Changes of plans that the planner proposes for failed tasks"),
    files: z.array(heldFiles).describe("Files of tasks that instruct agents or run programs unasked"),
    gates: z
      .array(gateLine)
      .describe(
        "Verified results, which a person approves or returns, and questions of plans, which they approve or reject",
      ),
    settings: z
      .array(z.object({ name: z.string(), keys: z.array(z.string()) }))
      .describe("Settings of the repository that nobody has allowed on this machine"),
  }),
  async run(app: CrewApp) {
    const [proposals, waiting, failed, changes, held, gates, untrusted] = await Promise.all([
      app.proposals.list("open"),
      runsThatWait(app.db.read),
      failedRuns(app.db.read),
      openChanges(app),
      waitingFiles(app.db.read),
      waitingGates(app.db.read),
      waitingItems(app.config),
    ]);
    const found = [
      ...waiting,
      ...(await Promise.all(failed.map(async (run) => ({ run: await explained(app, run), questions: [] })))),
    ];
    const runs = found.map(({ run, questions }) => ({
      id: run.id,
      state: run.state,
      title: run.title,
      created_by: run.created_by,
      created_at: run.created_at,
      ended_at: run.ended_at,
      reason: run.reason,
      questions,
      budget: { tokens: run.budget_tokens, usd: run.budget_usd },
    }));
    const decisions = runs.map(
      ({ state, questions }) => questions.length + (["stopped", "failed"].includes(state) ? 1 : 0),
    );
    return ok({
      waiting: [...decisions, proposals.length, changes.length, held.length, gates.length, untrusted.length].reduce(
        (a, b) => a + b,
      ),
      proposals: proposals.map((one) => withPending(app, one)),
      runs,
      plan_changes: changes.map(({ id, run_id: run, title, wanted: tasks, reason, proposed_at }) => ({
        ...{ id, run, title, tasks, reason, proposed_at },
      })),
      files: held.map(shownFiles),
      gates: gates.map(shownGate),
      settings: untrusted.map(({ item, changes }) => ({ name: item.name, keys: changes.map(({ key }) => key) })),
    });
  },
});

/** The reason of a run that failed by its tasks has only their number; the causes say more. */
async function explained({ db }: CrewApp, run: RunRow): Promise<RunRow> {
  const failed = (await tasksOfRun(db.read, run.id)).filter(({ task }) => task.state === "failed");
  const causes = failed.map(({ number, failure }) => {
    const [cause = "see its record"] = (failure?.rootCauses[0]?.cause ?? "").split("\n", 1).filter((one) => one !== "");
    return `task ${number} failed: ${cause}`;
  });
  return causes.length === 0 ? run : { ...run, reason: causes.slice(0, mostCauses).join("; ") };
}

const mostCauses = 3;
