import * as z from "zod";
import { crewPart, workersOnTask } from "../kernel/audience.ts";
import { type Caller, nameOf } from "../kernel/caller.ts";
import { operation, writers } from "../kernel/operation.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import { findTask } from "../store/queries/tasks.ts";
import * as tasks from "../tasks/operations.ts";
import { longestOutput } from "../tasks/transition.ts";
import type { CrewApp } from "./record/crew-app.ts";
import { type Fence, hashOf } from "./record/facts.ts";
import { askQuestion } from "./record/questions.ts";
import { contextFor } from "./record/task-context.ts";
import { plan } from "./rules/plan.ts";

const taskId = z
  .string()
  .max(64)
  .optional()
  .describe("The task you work on; needed when your connection is not bound to one");
const epoch = z.int().min(1).optional().describe("The epoch of your claim on it");
const line = z.string().trim().min(1).max(1000);
const cites = z.array(z.string().max(200)).max(200).default([]).describe("Ids of the nodes and entries that you used");

/** The name of a caller in records: an agent of the crew by its own name, others by their role. */
export const actorOf = (caller: Caller) =>
  caller.kind === "agent" && caller.crew ? caller.crew.agent : nameOf(caller);

/** The claim a write is made under. The task that the system bound the caller to overrides its input. */
function fenceOf(caller: Caller, said: { task?: string | undefined; epoch?: number | undefined }): Result<Fence> {
  const bound = caller.kind === "agent" ? caller : undefined;
  const task = bound?.task ?? said.task;
  const epoch = bound?.epoch ?? said.epoch;
  if (bound?.task !== undefined && said.task !== undefined && said.task !== bound.task)
    return refuse("denied", `you work on task ${bound.task}, not on ${said.task}`);
  if (task === undefined || epoch === undefined)
    return refuse("invalid", "task and epoch: missing; name the task you hold and the epoch of your claim");
  return ok({ task, epoch });
}

export const submitPlan = operation({
  name: "submit_plan",
  summary: "Hand in the plan for a request: task 0, which validates the environment, and tasks 1.1, 1.2 and so on.",
  guidance:
    "The whole plan at once; a wrong one comes back with every mistake by its field, so correct and submit again. " +
    "Each task must be clear to someone who reads nothing else. Say with `check` how a program can tell that a criterion is met. " +
    "People can change the plan in its file before it runs.",
  effect: "writes",
  touches: ["run", "task"],
  callers: writers,
  visibleTo: crewPart("pm"),
  http: { method: "post", path: "/plans" },
  input: plan.safeExtend({
    request: z
      .string()
      .trim()
      .min(1)
      .max(100_000)
      .optional()
      .describe("What was asked for; needed unless you were started for a run"),
  }),
  output: z.object({
    run: z.string(),
    chain: z.string().describe("The plan's file"),
    tasks: z.array(z.object({ id: z.string(), number: z.string(), title: z.string() })),
  }),
  async run(app: CrewApp, { request, ...wanted }, caller) {
    const crew = caller.kind === "agent" ? caller.crew : undefined;
    if (crew && crew.part !== "pm")
      return refuse("denied", `only the planner may submit a plan; you are the ${crew.part}`);
    if (!crew && request === undefined) return refuse("invalid", "request: missing; expected what was requested");
    const id = crew?.run ?? (await app.runs.create(request ?? "", actorOf(caller))).id;
    const adopted = await app.runs.adopt(id, wanted, actorOf(caller));
    return adopted.ok ? ok({ run: id, chain: app.runs.chainPath(id), tasks: adopted.value.tasks }) : adopted;
  },
});

export const submitOutput = operation({
  name: "submit_output",
  summary: "Hand in what you made for a task, with evidence for each statement.",
  guidance:
    "Call it once, at the end. For every one of your `statements` quote what a tool really printed (`evidence`) and where (`from`: the id of the tool call, or a file). " +
    "A statement without evidence counts against you. Files you changed are found by git; do not list them as proof. Another agent verifies it.",
  effect: "writes",
  touches: ["task", "attempt"],
  callers: writers,
  visibleTo: workersOnTask,
  http: { method: "post", path: "/tasks/{task}/output" },
  input: z.object({
    task: taskId,
    epoch,
    output: z
      .string()
      .min(1)
      .max(400_000)
      .describe(`What was done and how; kept to ${longestOutput} characters. For a text task, the text itself`),
    statements: z
      .array(z.object({ statement: line, evidence: z.string().max(4000), from: z.string().max(400) }))
      .max(100)
      .default([])
      .describe("Each thing you say is so, what shows it, and where that was seen"),
    decisions: z.array(line).max(50).default([]).describe("Choices you made that others must know, one line each"),
    cites,
  }),
  output: z.object({ status: z.literal("submitted"), attempt: z.int(), message: z.string() }),
  async run(app: CrewApp, { task, epoch, ...said }, caller) {
    const crew = caller.kind === "agent" ? caller.crew : undefined;
    if (crew && crew.part !== "worker")
      return refuse("denied", `only the worker may submit an output; you are the ${crew.part}`);
    const fence = fenceOf(caller, { task, epoch });
    if (!fence.ok) return fence;
    if (!crew) {
      const held = await findTask(app.db.read, fence.value.task);
      if (held && held.run === null)
        return refuse("invalid", "this task does not belong to a run", {
          next: [{ operation: "update_todo", input: { id: held.id, status: "completed" }, to: "complete it" }],
        });
      const begun = await app.attempts.begin(fence.value, held?.holder ?? actorOf(caller));
      if (!begun.ok) return begun;
    }
    const kept = await app.attempts.submitOutput(fence.value, said, actorOf(caller));
    if (!kept.ok) return kept;
    if (crew)
      return ok({
        status: "submitted" as const,
        attempt: kept.value.attempt,
        message: "recorded; you are done, stop now",
      });
    const made = { hash: hashOf(said.output), filesChanged: [], branch: null, commit: null };
    const completed = await app.attempts.completeWork(fence.value, made, unknownSpent, actorOf(caller));
    if (!completed.ok) return completed;
    return ok({
      status: "submitted" as const,
      attempt: kept.value.attempt,
      message: "recorded; another agent verifies it",
    });
  },
});

const unknownSpent = {
  durationMs: 0,
  inputTokens: null,
  outputTokens: null,
  toolCalls: null,
  messages: null,
  contextTokens: null,
  costUsd: null,
};

export const submitVerdict = operation({
  name: "submit_verdict",
  summary: "Give your verdict on the deliverable that you were started to verify.",
  guidance:
    "Judge the deliverable, not how it was made. For each criterion cite what you saw yourself: `from` is check, file and its path, the id of your tool call, or output when the deliverable is a text. " +
    "PASS takes a score of 80 or more, green checks and evidence for every criterion; the answer tells what it came to. On FAIL say what must be fixed.",
  effect: "writes",
  touches: ["task", "attempt"],
  callers: ["agent"],
  visibleTo: crewPart("qc"),
  http: { method: "post", path: "/tasks/{task}/verdict" },
  input: z
    .object({
      task: taskId,
      epoch,
      verdict: z.enum(["PASS", "FAIL"]).describe("Your judgement"),
      score: z.int().min(0).max(100).describe("0 to 100; 80 passes"),
      feedback: z.string().trim().min(1).max(2000).describe("Two or three sentences"),
      issues: z.array(line).max(50).default([]).describe("What is wrong, one thing each"),
      required_fixes: z.array(line).max(50).default([]).describe("What the next attempt must do"),
      evidence: z
        .array(
          z.object({
            criterion: z.int().min(1).max(100),
            met: z.boolean(),
            quote: z.string().max(2000),
            from: z.string().max(400),
          }),
        )
        .max(200)
        .describe("For each criterion by its number: whether it is met, what you saw, and where"),
      caused_by: z
        .array(z.string().max(20))
        .max(20)
        .default([])
        .describe("Numbers of accepted tasks in which the fault lies, if it is not in this one"),
    })
    .superRefine((said, context) => {
      if (said.verdict === "FAIL" && said.issues.length + said.required_fixes.length === 0)
        context.addIssue({
          code: "custom",
          path: ["issues"],
          message: "a FAIL needs at least one issue or required fix",
        });
    }),
  output: z.object({ outcome: z.enum(["PASS", "FAIL"]), objections: z.array(z.string()), state: z.string() }),
  async run(app: CrewApp, { task, epoch, caused_by, required_fixes, ...said }, caller) {
    if (caller.kind !== "agent" || caller.crew?.part !== "qc")
      return refuse("denied", "only the agent that was started to verify this task may submit a verdict");
    const fence = fenceOf(caller, { task, epoch });
    if (!fence.ok) return fence;
    const judged = await app.attempts.submitVerdict(
      fence.value,
      { ...said, requiredFixes: required_fixes },
      caused_by,
      caller.crew.agent,
    );
    if (!judged.ok) return judged;
    const { outcome, objections, task: now } = judged.value;
    return ok({ outcome, objections, state: now.state });
  },
});

export const ask = operation({
  name: "ask",
  summary: "Ask the planner or a person something that your task leaves open, and see whether it was answered.",
  guidance:
    "Only for what you cannot find out yourself: every question is on record as a gap in the plan. Do not wait: go on with the most sensible assumption and say so in your output. " +
    "Call it again with the id to see whether there is an answer.",
  effect: "writes",
  touches: ["question"],
  callers: writers,
  visibleTo: workersOnTask,
  http: { method: "post", path: "/tasks/{task}/questions" },
  input: z.object({
    task: taskId,
    epoch,
    question: z.string().trim().min(1).max(4000).optional().describe("One question"),
    id: z.string().max(64).optional().describe("The id of a question you asked, to see its answer"),
  }),
  output: z.object({ id: z.string(), status: z.enum(["asked", "answered"]), answer: z.string().nullable() }),
  async run(app: CrewApp, { task, epoch, question, id }, caller) {
    const fence = fenceOf(caller, { task, epoch });
    if (!fence.ok) return fence;
    return askQuestion(app, fence.value, { question, id }, actorOf(caller));
  },
});

export const getTaskContext = operation({
  ...tasks.getTaskContext,
  name: "get_task_context",
  summary: tasks.getTaskContext.summary,
  guidance:
    "Read it before you start. Outputs of the tasks before are cut to what fits; blocked_by names what stands in the way. " +
    "For a task of a run, kind gives what a planner (pm), a worker or a verifier (qc) is told about it, with the size of each part.",
  input: z.object({
    id: z.string().max(64).describe("The task's id, as list_todos shows it"),
    kind: z.enum(["pm", "worker", "qc"]).optional().describe("Whose view of a run's task you want"),
  }),
  output: tasks.getTaskContext.output.extend({
    kind: z.enum(["pm", "worker", "qc"]).optional(),
    context: z.string().optional().describe("What that agent is told"),
    parts: z.array(z.object({ name: z.string(), characters: z.int(), tokens: z.int() })).optional(),
  }),
  async run(app: CrewApp, { id, kind }, caller) {
    const part = caller.kind === "agent" ? caller.crew?.part : undefined;
    if (part && kind && part !== "pm" && part !== kind)
      return refuse("denied", `you were started as ${part} and can only read that view`);
    const base = await tasks.getTaskContext.perform(app, { id }, caller);
    if (!base.ok || kind === undefined) return base;
    const context = await contextFor(app, id, kind);
    if (!context.ok) return context;
    return ok({ ...base.value, kind, context: context.value.text, parts: context.value.parts });
  },
});
