import * as z from "zod";
import { operation, people } from "../../kernel/operation.ts";
import { ok } from "../../kernel/result.ts";
import { snakeKeys } from "../../kernel/wire.ts";
import { proposal } from "../../review/proposals/operations.ts";
import { runsThatWait } from "../../store/queries/runs.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { budget, question, runLine } from "./show.ts";

/** Everything that waits for a person, in one place: the page, its badge and the command show the same. */
export const inbox = operation({
  name: "inbox",
  summary: "Show what waits for a person: proposals, agents' questions and stopped runs.",
  effect: "reads",
  reads: ["proposal", "topic", "job", "run", "task", "question"],
  callers: people,
  group: "review",
  http: { method: "get", path: "/inbox" },
  input: z.object({}),
  output: z.object({
    waiting: z.int().describe("Number of decisions"),
    proposals: z.array(proposal),
    runs: z
      .array(runLine.extend({ reason: z.string().nullable(), budget, questions: z.array(question) }))
      .describe("Stopped runs with their reason, and runs with open questions"),
  }),
  async run(app: CrewApp) {
    const [proposals, found] = await Promise.all([app.proposals.list("open"), runsThatWait(app.db.read)]);
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
      waiting: decisions.reduce((sum, count) => sum + count, proposals.length),
      proposals: proposals.map(snakeKeys),
      runs,
    });
  },
});
