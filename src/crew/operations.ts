import * as z from "zod";
import { type Caller, claimFor, nameOf } from "../kernel/caller.ts";
import { operation, writers } from "../kernel/operation.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import type { NamedClaim } from "../store/fence.ts";
import { lastAttempt } from "../store/queries/attempts.ts";
import { runTask } from "../store/queries/runs.ts";
import { findTask } from "../store/queries/tasks.ts";
import * as tasks from "../tasks/operations.ts";
import { longestOutput } from "../tasks/transition.ts";
import type { CrewApp } from "./record/crew-app.ts";
import { doubtedCitations, shareOfDoubted } from "./record/doubted-citations.ts";
import { type Fence, hashOf } from "./record/facts.ts";
import { askQuestion } from "./record/questions.ts";
import { seenBy } from "./record/seen.ts";
import { stepsOf } from "./record/steps.ts";
import { contextFor } from "./record/task-context.ts";
import { plan } from "./rules/plan.ts";
import { step } from "./rules/step.ts";

const taskId = z
  .string()
  .max(64)
  .optional()
  .describe("Id of your task; required unless your connection is bound to it");
const epoch = z.int().min(1).optional().describe("The epoch of your claim");
const secret = z
  .string()
  .max(200)
  .optional()
  .describe("The secret of your claim; needed if you claimed with lock_todo");
const line = z.string().trim().min(1).max(1000);
const ref = z.string().trim().max(400).default("");
const lines = z.string().trim().max(20).default("").describe("Of a file: 12 or 12-20");
const cites = z.array(z.string().max(200)).max(200).default([]).describe("Ids of nodes and entries that you used");

/** The name of a caller in records: an agent of the crew by its own name, others by their role. */
export const actorOf = (caller: Caller) =>
  caller.kind === "agent" && caller.crew ? caller.crew.agent : nameOf(caller);

/** The claim a write is made under. The task that the system bound the caller to overrides its input. */
function fenceOf(caller: Caller, said: { task?: string | undefined } & NamedClaim): Result<Fence> {
  const bound = caller.kind === "agent" ? caller : undefined;
  const task = bound?.task ?? said.task;
  const { epoch, secret } = claimFor(caller, task, said);
  if (bound?.task !== undefined && said.task !== undefined && said.task !== bound.task)
    return refuse("denied", `your connection is bound to task ${bound.task}, not to ${said.task}`);
  if (task === undefined || epoch === undefined)
    return refuse("invalid", "task and epoch: missing; expected those of your claim, with its secret", {
      next: [{ operation: "lock_todo", to: "claim a task" }],
    });
  return ok({ task, epoch, secret });
}

export const submitPlan = operation({
  name: "submit_plan",
  summary: "Submit the plan for a request: task 0, which validates the environment, and tasks 1.1, 1.2 and so on.",
  guidance:
    "Submit the entire plan at once. An invalid plan is refused with every error and its field: correct them and submit again. " +
    "A worker sees only its own task, so put everything it needs into the requirements. Add a `check` to every criterion that a program can test. " +
    "People can edit the plan before it runs.",
  effect: "writes",
  touches: ["run", "task"],
  callers: writers,
  group: "crew",
  audience: "planner",
  http: { method: "post", path: "/plans" },
  input: plan.safeExtend({
    request: z
      .string()
      .trim()
      .min(1)
      .max(100_000)
      .optional()
      .describe("The request; required unless you were started for a run"),
  }),
  output: z.object({
    run: z.string(),
    chain: z.string().describe("File of the plan"),
    tasks: z.array(z.object({ id: z.string(), number: z.string(), title: z.string() })),
  }),
  async run(app: CrewApp, { request, ...wanted }, caller) {
    const crew = caller.kind === "agent" ? caller.crew : undefined;
    if (crew && crew.part !== "pm") return refuse("denied", `only the planner can submit a plan; you are ${crew.part}`);
    if (!crew && request === undefined)
      return refuse("invalid", "request: missing; expected the request that the plan is for");
    const id = crew?.run ?? (await app.runs.create(request ?? "", actorOf(caller))).id;
    const adopted = await app.runs.adopt(id, wanted, actorOf(caller));
    return adopted.ok ? ok({ run: id, chain: app.runs.chainPath(id), tasks: adopted.value.tasks }) : adopted;
  },
});

export const submitOutput = operation({
  name: "submit_output",
  summary: "Submit the result of a task with evidence for each statement.",
  guidance:
    "Call it once, when the work is done; another agent then verifies it. A statement whose quote is not in its source is an issue. Git finds the changed files. " +
    'Example: {"output": "Added retry", "statements": [{"statement": "all tests pass", "evidence": "Tests 42 passed", "from": "call", "ref": "call-7"}]}',
  effect: "writes",
  touches: ["task", "attempt"],
  callers: writers,
  group: "crew",
  audience: "worker",
  http: { method: "post", path: "/tasks/{task}/output" },
  input: z.object({
    task: taskId,
    epoch,
    secret,
    output: z
      .string()
      .min(1)
      .max(400_000)
      .describe(`What was done and how; for a text task, the text. Cut at ${longestOutput} characters`),
    statements: z
      .array(
        z.object({
          statement: line,
          evidence: z.string().max(4000).describe("Exact quote that shows it"),
          from: z.enum(["call", "file"]),
          ref: ref.describe("`call` in the answer to your call, or the path of the file"),
          lines,
        }),
      )
      .max(100)
      .default([])
      .describe("What you assert"),
    decisions: z.array(line).max(50).default([]).describe("Decisions that others must know"),
    cites,
  }),
  output: z.object({ status: z.literal("submitted"), attempt: z.int(), message: z.string() }),
  async run(app: CrewApp, { task, epoch, secret, ...said }, caller) {
    const crew = caller.kind === "agent" ? caller.crew : undefined;
    if (crew && crew.part !== "worker")
      return refuse("denied", `only a worker can submit output; you are ${crew.part}`);
    const fence = fenceOf(caller, { task, epoch, secret });
    if (!fence.ok) return fence;
    if (!crew) {
      const held = await findTask(app.db.read, fence.value.task);
      if (held && held.run === null)
        return refuse("invalid", "this task does not belong to a run", {
          next: [{ operation: "update_todo", input: { id: held.id, status: "completed" }, to: "complete it" }],
        });
      const begun = await app.attempts.begin(fence.value, held?.holder ?? actorOf(caller), actorOf(caller));
      if (!begun.ok) return begun;
      const detail = await runTask(app.db.read, fence.value.task);
      if (detail?.deliverable === "files")
        return refuse(
          "invalid",
          `task ${fence.value.task} delivers files, which are taken from the worktree of a worker that the run starts; release it`,
        );
    }
    const doubted = await doubtedCitations(app, said.statements);
    const kept = await app.attempts.submitOutput(fence.value, { ...said, doubted }, actorOf(caller));
    if (!kept.ok) return kept;
    const share = shareOfDoubted(doubted, said.statements.length);
    const warning = share && `. Warning, which the verifier sees too: ${share}: ${doubted[0]?.doubt}`;
    if (crew)
      return ok({
        status: "submitted" as const,
        attempt: kept.value.attempt,
        message: `recorded; you are done, stop here${warning}`,
      });
    const made = { hash: hashOf(said.output), filesChanged: [], branch: null, commit: null };
    const completed = await app.attempts.completeWork(fence.value, made, unknownSpent, actorOf(caller));
    if (!completed.ok) return completed;
    return ok({
      status: "submitted" as const,
      attempt: kept.value.attempt,
      message: `recorded; another agent verifies it${warning}`,
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
  summary: "Submit your verdict on the deliverable that you verify.",
  guidance:
    "Give evidence for every criterion, met or not. " +
    "The system looks every quote up in its source: quote exactly, with whole words and numbers. If one is not there, you can correct the verdict once. " +
    "PASS needs a score of 80 or more and evidence for every criterion; FAIL needs evidence of a criterion that is not met, and what must be fixed.",
  effect: "writes",
  touches: ["task", "attempt"],
  callers: ["agent"],
  group: "crew",
  audience: "verifier",
  http: { method: "post", path: "/tasks/{task}/verdict" },
  input: z
    .object({
      task: taskId,
      epoch,
      secret,
      verdict: z.enum(["PASS", "FAIL"]),
      score: z.int().min(0).max(100).describe("0 to 100"),
      feedback: z.string().trim().min(1).max(2000).describe("Two or three sentences"),
      issues: z.array(line).max(50).default([]).describe("What is wrong, one line each"),
      required_fixes: z.array(line).max(50).default([]).describe("What the next attempt must change, one line each"),
      evidence: z
        .array(
          z.object({
            criterion: z.int().min(1).max(100).describe("Number of the criterion"),
            met: z.boolean(),
            quote: z.string().max(2000).describe("What you saw, quoted exactly"),
            from: z
              .enum(["call", "file", "check", "output"])
              .describe(
                "Where: the answer to a call of yours, a delivered file, the output of the system's check, or a text deliverable",
              ),
            ref: ref.describe(
              "call: `call` in its answer. file: its path. check: the number of its criterion, if it is another",
            ),
            lines,
            absent: z
              .boolean()
              .default(false)
              .describe(
                "True if the quote, plain text, is missing. The system searches for it: from file, in the file or folder `ref` as delivered (empty: all files); from call, your search for it; from output, the text. An empty quote: the file `ref` does not exist",
              ),
          }),
        )
        .max(200)
        .describe("One item per criterion"),
      caused_by: z
        .array(z.string().max(20))
        .max(20)
        .default([])
        .describe("Numbers of accepted tasks that caused the failure, if it is not this one"),
    })
    .superRefine((said, context) => {
      if (said.verdict === "FAIL" && said.issues.length + said.required_fixes.length === 0)
        context.addIssue({
          code: "custom",
          path: ["issues"],
          message: "a FAIL needs issues or required_fixes",
        });
    }),
  output: z.object({
    outcome: z.enum(["PASS", "FAIL"]),
    void: z.boolean().describe("True if your evidence is not in the record: another verifier is asked"),
    objections: z.array(z.string()),
    state: z.string(),
  }),
  async run(app: CrewApp, { task, epoch, secret, caused_by, required_fixes, ...said }, caller) {
    if (caller.kind !== "agent" || caller.crew?.part !== "qc")
      return refuse("denied", "only the verifier that the run started for this task can submit a verdict");
    const fence = fenceOf(caller, { task, epoch, secret });
    if (!fence.ok) return fence;
    const { agent, context = null, scratch = async () => null } = caller.crew;
    const attempt = await lastAttempt(app.db.read, fence.value.task);
    const own = { epoch: fence.value.epoch, part: "qc" as const, context };
    const seen = attempt
      ? await seenBy(app, attempt, own, said.evidence, said.evidence)
      : { calls: [], files: new Map(), searches: new Map() };
    const judged = await app.attempts.submitVerdict(
      fence.value,
      { said: { ...said, requiredFixes: required_fixes }, causedBy: caused_by },
      { name: agent, context, seen, scratch: await scratch() },
    );
    if (!judged.ok) return judged;
    const { outcome, objections, faults, state } = judged.value;
    return ok({ outcome, void: faults.length > 0, objections: [...objections, ...faults], state });
  },
});

export const ask = operation({
  name: "ask",
  summary: "Ask the planner or a person a question about your task, or read the answer.",
  guidance:
    "Only for what you cannot find out yourself; questions are recorded as gaps in the plan. Do not wait for the answer: continue with the most sensible assumption and mention it in your output. " +
    "Call it again with `id` to read the answer.",
  effect: "writes",
  touches: ["question"],
  callers: writers,
  group: "crew",
  audience: "worker",
  http: { method: "post", path: "/tasks/{task}/questions" },
  input: z.object({
    task: taskId,
    epoch,
    secret,
    question: z.string().trim().min(1).max(4000).optional().describe("One question"),
    id: z.string().max(64).optional().describe("Id of an earlier question, to read its answer"),
  }),
  output: z.object({
    id: z.string(),
    status: z.enum(["asked", "answered"]),
    answer: z.string().nullable(),
    answered_by: z.string().nullable().describe("A person's name, or pm-… for the planner"),
  }),
  async run(app: CrewApp, { task, epoch, secret, question, id }, caller) {
    const fence = fenceOf(caller, { task, epoch, secret });
    if (!fence.ok) return fence;
    return askQuestion(app, fence.value, { question, id }, actorOf(caller));
  },
});

const { decision: _decision, ...taskContext } = tasks.getTaskContext;

export const getTaskContext = operation({
  ...taskContext,
  name: "get_task_context",
  summary: tasks.getTaskContext.summary,
  guidance:
    "Read it before you start on a task. Outputs of dependencies are truncated; blocked_by lists failed tasks that block it. " +
    "For a task of a run, `kind` returns the context of the planner (pm), worker or verifier (qc).",
  input: z.object({
    id: z.string().max(64).describe("Id of the task"),
    kind: z.enum(["pm", "worker", "qc"]).optional().describe("Whose context of a run's task to return"),
  }),
  output: tasks.getTaskContext.output.extend({
    kind: z.enum(["pm", "worker", "qc"]).optional(),
    context: z.string().optional().describe("The context of that agent"),
    parts: z.array(z.object({ name: z.string(), characters: z.int(), tokens: z.int() })).optional(),
    steps: z.array(step).optional().describe("For people: the list of steps that the last worker of the task set"),
  }),
  async run(app: CrewApp, { id, kind }, caller) {
    const part = caller.kind === "agent" ? caller.crew?.part : undefined;
    if (part && kind && part !== "pm" && part !== kind)
      return refuse("denied", `you can read only the context of your own part, ${part}`);
    const base = await tasks.getTaskContext.perform(app, { id }, caller);
    if (!base.ok) return base;
    const steps = caller.kind === "person" ? [...(await stepsOf(app.db.read, id)).values()].at(-1) : undefined;
    if (kind === undefined) return ok({ ...base.value, ...(steps ? { steps } : {}) });
    const context = await contextFor(app, id, kind);
    if (!context.ok) return context;
    return ok({ ...base.value, kind, context: context.value.text, parts: context.value.parts });
  },
});

const { decision: __decision, ...todo } = tasks.updateTodo;

/** A task that is retried takes the text that a person has given it in the plan's file. */
export const updateTodo = operation({
  ...todo,
  output: tasks.updateTodo.output.extend({
    diff: z.string().optional().describe("The change of the plan's file that the reopened task takes with it"),
  }),
  async run(app: CrewApp, input, caller) {
    const run = input.status === "reopened" ? (await findTask(app.db.read, input.id))?.run : null;
    const mayReopen = caller.kind === "person";
    const read = run && mayReopen ? await app.runs.readBack(run, nameOf(caller)) : undefined;
    if (read && !read.ok) return read;
    const done = await tasks.updateTodo.perform(app, input, caller);
    return done.ok && read?.value.diff ? ok({ ...done.value, diff: read.value.diff }) : done;
  },
});
