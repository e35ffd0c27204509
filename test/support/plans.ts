import type { App } from "../../src/app.ts";
import type { Spent } from "../../src/crew/record/facts.ts";
import { type Plan, plan } from "../../src/crew/rules/plan.ts";
import { type Caller, type CrewPart, newTurn } from "../../src/kernel/caller.ts";
import { unwrap } from "../../src/kernel/result.ts";
import type { Claim } from "../../src/tasks/engine.ts";

type Shape = Partial<Plan["tasks"][number]> & { number: string };

/** A plan of the tasks named, each whole; what a test does not care about is filled in. */
export const planOf = (tasks: Shape[], rest: Partial<Plan> = {}): Plan =>
  plan.parse({
    title: "A small plan",
    ...rest,
    tasks: tasks.map((task) => ({
      title: `Task number ${task.number}`,
      requirements: `Do what task ${task.number} is about.`,
      worker_role: "A careful engineer",
      qc_role: "A sceptical reviewer",
      verification: [{ criterion: "It is done" }],
      execution: ["Write the file with write_file"],
      deliverable: "text",
      ...task,
    })),
  });

export const crewAgent = (
  part: CrewPart,
  run: string,
  agent: string,
  at: { task?: string; epoch?: number; secret?: string } = {},
): Caller => ({
  kind: "agent",
  role: part,
  turn: newTurn(run, true),
  crew: { run, part, agent },
  ...at,
});

export const spent: Spent = {
  durationMs: 20,
  inputTokens: 100,
  outputTokens: 10,
  toolCalls: 2,
  messages: 3,
  contextTokens: 80,
  costUsd: null,
};

export const passing = (criteria: number, quote: string) => ({
  verdict: "PASS",
  score: 90,
  feedback: "It does what was asked.",
  evidence: Array.from({ length: criteria }, (_, i) => ({ criterion: i + 1, met: true, quote, from: "output" })),
});

export async function plannedRun(app: App, wanted: Plan, request = "Make it so") {
  const run = await app.runs.create(request, "Ada");
  const { tasks } = unwrap(await app.runs.adopt(run.id, wanted, "Ada"));
  const id = (number: string) => tasks.find((task) => task.number === number)?.id ?? "";
  return { run: run.id, id };
}

/** A worker claims the task, submits, and is done. */
export async function work(app: App, task: string, worker: string, output: string, hash = `hash of ${output}`) {
  const { epoch, secret } = unwrap(await app.tasks.lock(task, worker)) as Claim;
  const fence = { task, epoch, secret };
  unwrap(await app.attempts.begin(fence, worker));
  unwrap(await app.attempts.submitOutput(fence, { output, statements: [], decisions: [], cites: [] }, worker));
  unwrap(await app.attempts.completeWork(fence, { hash, filesChanged: [], branch: null, commit: null }, spent, worker));
  return fence;
}
