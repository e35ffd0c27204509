import * as z from "zod";
import { operation } from "../../kernel/operation.ts";
import { ok, refuse } from "../../kernel/result.ts";
import type { QuestionRow } from "../../store/crew-tables.ts";
import { questionsOf, unseenQuestions } from "../../store/queries/questions.ts";
import { watchChanges } from "../../store/wait-for-change.ts";
import { checkReady } from "../agent/ready.ts";
import { questionInstructions } from "../agent/report-prompts.ts";
import { runWithoutTask } from "../agent/run-without-task.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { answer, passOn } from "../record/questions.ts";
import { boundsFor } from "../rules/breakers.ts";
import { questionContext } from "../rules/question-context.ts";
import type { Crew } from "./crew.ts";

const recheckMs = 2000;
const estimatedCalls = 3;

/**
 * Lets the planner answer the questions of a run while it is executed, one after the other. A question that it does
 * not answer stays in the inbox; a person may be faster at any time, and the first answer counts.
 */
export function answerQuestions(crew: Crew, run: string, outer: AbortSignal): { end(): Promise<void> } {
  const { app } = crew;
  if (app.config.crew.questions !== "pm") return { end: async () => undefined };
  const changes = watchChanges(app.db);
  const over = new AbortController();
  const signal = AbortSignal.any([outer, over.signal]);
  const loop = async () => {
    while (!signal.aborted) {
      const seen = changes.count();
      const [next] = await unseenQuestions(app.db.read, run);
      if (next) await answerOne(crew, next, signal);
      else await changes.after(seen, recheckMs, signal);
    }
  };
  // The run does not depend on it: an error ends the answering, and people answer what is open.
  const ended = loop().catch((error: Error) => app.log.error({ run, error: error.message }, "answering-failed"));
  return {
    async end() {
      over.abort();
      changes.close();
      await ended;
    },
  };
}

async function answerOne(crew: Crew, asked: QuestionRow, signal: AbortSignal): Promise<void> {
  const { app } = crew;
  const prompt = await promptFor(app, asked);
  const ready = checkReady(crew, ["pm"]);
  const why =
    prompt === undefined
      ? "the run has no plan"
      : ready.ok
        ? await askPlanner(crew, asked, prompt, signal)
        : ready.problem.message;
  if (why !== undefined && !signal.aborted) await passOn(app, asked.id, `the planner did not answer: ${why}`, "crew");
}

/** The reason why the planner neither answered nor passed the question on. */
async function askPlanner(
  crew: Crew,
  asked: QuestionRow,
  prompt: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const agent = { part: "pm" as const, run: asked.run_id, system: questionInstructions, prompt };
  const tools = { operations: [submitAnswer(asked.id)], delivers: "submit_answer" };
  const bounds = boundsFor("pm_failure_analysis", estimatedCalls);
  const ran = await runWithoutTask(crew, { ...agent, ...tools, bounds }, signal);
  if (!ran.ok) return ran.problem.message;
  return ran.value.delivered ? undefined : (ran.value.failure ?? ran.value.why);
}

async function promptFor({ db, runs }: CrewApp, { run_id, task_id, question }: QuestionRow) {
  const run = await runs.find(run_id);
  const numbers = new Map((await runs.tasks(run_id)).map(({ number, task }) => [task.id, number]));
  if (!run?.plan) return undefined;
  const answered = (await questionsOf(db.read, { run: run_id })).flatMap((one) =>
    one.answer === null ? [] : { number: numbers.get(one.task_id) ?? "", question: one.question, answer: one.answer },
  );
  const { request, brief, plan } = run;
  return questionContext({ request, brief, plan, number: numbers.get(task_id) ?? "", question, answered });
}

const submitAnswer = (id: string) =>
  operation({
    name: "submit_answer",
    summary: "Answer the worker's question, or pass it on to a person.",
    guidance: "Send either `answer` or `pass_on`.",
    effect: "writes",
    touches: ["question"],
    callers: ["agent"],
    group: "crew",
    input: z
      .object({
        answer: z.string().trim().min(1).max(8000).optional().describe("The answer, as the plan supports it"),
        pass_on: z.string().trim().min(1).max(500).optional().describe("Why a person must answer"),
      })
      .refine(({ answer, pass_on }) => (answer === undefined) !== (pass_on === undefined), {
        message: "send either answer or pass_on",
      }),
    output: z.object({ status: z.enum(["answered", "passed_on"]) }),
    async run(app: CrewApp, { answer: text, pass_on }, caller) {
      const crew = caller.kind === "agent" ? caller.crew : undefined;
      if (crew?.part !== "pm") return refuse("denied", "only the planner can answer");
      if (text === undefined) {
        await passOn(app, id, pass_on ?? "", crew.agent);
        return ok({ status: "passed_on" as const });
      }
      const kept = await answer(app, { id, answer: text }, crew.agent);
      // A person who was faster has answered it: that is the end of the planner's work as well.
      return kept.ok || kept.problem.code === "conflict" ? ok({ status: "answered" as const }) : kept;
    },
  });
