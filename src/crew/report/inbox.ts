import * as z from "zod";
import { waitingItems } from "../../config/trust-items.ts";
import { operation, people } from "../../kernel/operation.ts";
import { ok } from "../../kernel/result.ts";
import { listedProposal, withPending } from "../../review/proposals/operations.ts";
import { waitingFiles } from "../../store/queries/held-files.ts";
import { runsThatWait } from "../../store/queries/runs.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { heldFiles, shownFiles } from "./held-files.ts";
import { budget, question, runLine } from "./show.ts";

/** Everything that waits for a person, in one place: the page, its badge and the command show the same. */
export const inbox = operation({
  name: "inbox",
  summary: "Show what waits for a person: proposals, agents' questions, held files, stopped runs and settings.",
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
      .describe("Stopped and waiting runs with their reason, and runs with open questions"),
    files: z.array(heldFiles).describe("Files of tasks that instruct agents or run programs unasked"),
    settings: z
      .array(z.object({ name: z.string(), keys: z.array(z.string()) }))
      .describe("Settings of the repository that nobody has allowed on this machine"),
  }),
  async run(app: CrewApp) {
    const [proposals, found, held, untrusted] = await Promise.all([
      app.proposals.list("open"),
      runsThatWait(app.db.read),
      waitingFiles(app.db.read),
      waitingItems(app.config),
    ]);
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
    const decisions = runs.map(({ state, questions }) => questions.length + (state === "stopped" ? 1 : 0));
    return ok({
      waiting: decisions.reduce((sum, count) => sum + count, proposals.length + held.length + untrusted.length),
      proposals: proposals.map((one) => withPending(app, one)),
      runs,
      files: held.map(shownFiles),
      settings: untrusted.map(({ item, changes }) => ({ name: item.name, keys: changes.map(({ key }) => key) })),
    });
  },
});
