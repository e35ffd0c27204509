import { createHash } from "node:crypto";
import * as z from "zod";
import { fileNameProblem } from "../../kernel/file-name.ts";

const oneLine = /^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]+$/u;
const manyLines = /^(?:[^\p{Cc}\p{Cs}]|[\n\t])*$/u;

/** One line without control characters, so that a file of lines can hold it. */
const line = (most: number) =>
  z
    .string()
    .trim()
    .min(1, "expected some text")
    .max(most)
    .regex(oneLine, "expected one line without control characters");

const text = (most: number) =>
  z
    .string()
    .overwrite((value) => value.replaceAll("\r\n", "\n"))
    .max(most)
    .regex(manyLines, "expected text without control characters");

/** A line that a task with a worker needs and a question to a person lacks; `wholeTask` checks which of them it is. */
const workersLine = (most: number) =>
  z
    .string()
    .trim()
    .max(most)
    .regex(/^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]*$/u, "expected one line without control characters")
    .default("");

const somethingIn = (value: string) => value.trim() !== "";

/** Inside the folder that the work is done in, spelled in one way only. */
export const filePath = line(400)
  .refine(
    (path) => !/^[/~]|^[A-Za-z]:|\\/.test(path) && path.split("/").every((part) => !["", ".", ".."].includes(part)),
    "expected a path inside the workspace, such as src/main.ts",
  )
  .refine(
    (path) => fileNameProblem(path) === undefined,
    "expected a path without hidden characters and without names of git's own files, such as src/main.ts",
  );

const command = z
  .array(z.string().max(2000).regex(manyLines, "expected text without control characters"))
  .min(1, "expected a program and its arguments")
  .max(50);

const check = z.union([
  z.strictObject({
    run: command.describe("The program and its arguments; no shell"),
    exits: z.int().min(0).max(255).default(0).describe("Expected exit code"),
    prints: line(500).optional().describe("Text that its output must contain"),
  }),
  z.strictObject({
    file: filePath.describe("A file of the deliverable"),
    exists: z.boolean(),
  }),
  z.strictObject({ file: filePath, contains: line(500) }),
  z.strictObject({ file: filePath, lacks: line(500) }),
]);

const criterion = z.strictObject({
  criterion: line(500).describe("What must be true of the deliverable"),
  check: check.optional().describe("How a program tests it: {run: [...]} or {file, exists | contains | lacks}"),
});

/** The number of a task in its plan. */
export const taskNumber = z.string().regex(/^(0|1\.[1-9]\d{0,3})$/, "expected 0, or 1.1, 1.2, 1.3 and so on");

const plainTask = z.strictObject({
  number: taskNumber.describe("0, 1.1, 1.2 …"),
  title: line(200).describe("What to do, in one line"),
  requirements: text(20_000)
    .refine(somethingIn, "a task needs requirements")
    .describe("Everything that a worker who reads nothing else needs, and when the task is done"),
  worker_role: workersLine(500).describe("Who does it: the expertise in one sentence"),
  qc_role: workersLine(500).describe("Who verifies it: a different, critical expertise in one sentence"),
  verification: z
    .array(criterion)
    .max(30)
    .default([])
    .describe("Criteria for the deliverable; add a check wherever a program can test it"),
  execution: z.array(line(500)).max(50).default([]).describe("Steps, each with the tool it uses"),
  estimated_tool_calls: z
    .int()
    .min(1)
    .max(1000)
    .optional()
    .describe("Expected number of tool calls; the limit is 1.5 times that"),
  max_retries: z.int().min(0).max(10).default(2).describe("Attempts after the first"),
  model: line(100).optional().describe("Model to use, if the default is not enough"),
  depends_on: z.array(taskNumber).max(100).default([]).describe("Numbers of the tasks that must be accepted first"),
  files: z.array(filePath).max(100).default([]).describe("Files it reads or writes"),
  deliverable: z
    .enum(["files", "text"])
    .default("files")
    .describe("files: changes in the repository; text: a written answer"),
  gate: z
    .enum(["person"])
    .optional()
    .describe(
      "person: a person approves the verified result before it is merged. Without worker_role, qc_role, verification and execution the task only asks them; their note is its output",
    ),
  on_reject: z
    .enum(["fail", "stop"])
    .optional()
    .describe("For a task that only asks: a rejection fails it, or stops the run (default)"),
  notes: text(50_000).default("").describe("Research and alternatives; workers do not see it"),
});

const workersFields = {
  worker_role: "a task needs a worker: the expertise in one sentence",
  qc_role: "a task needs a verifier: a different, critical expertise in one sentence",
  verification: "a task needs at least one verification criterion",
  execution: "expected at least one step that names its tool",
} as const;

/** A step that no agent works on: it asks a person, whose note is its output. */
export const isQuestion = ({ gate, worker_role, qc_role, verification, execution }: z.infer<typeof plainTask>) =>
  gate === "person" && [worker_role, qc_role, verification, execution].every((one) => one.length === 0);

/** Reports what a task with a worker lacks, also beside other errors. */
const workersRule = z.check<z.infer<typeof plainTask>>((payload) => {
  const task = payload.value;
  if (typeof task !== "object" || task === null) return;
  const missing = (Object.keys(workersFields) as (keyof typeof workersFields)[]).filter(
    (key) => (typeof task[key] === "string" || Array.isArray(task[key])) && task[key].length === 0,
  );
  const add = (key: string, message: string) =>
    payload.issues.push({ code: "custom", input: undefined, path: [key], message });
  if (task.gate === "person" && missing.length === 4) {
    if (task.number === "0") add("gate", "task 0 validates the environment and needs a worker");
    return;
  }
  for (const key of missing) add(key, workersFields[key]);
  if (task.on_reject !== undefined)
    add("on_reject", "a task with a worker is returned, not rejected; leave it out, or leave out the worker");
});
workersRule._zod.def.when = () => true;

/** A question has no fields of a worker, however it was written. */
const withoutWorker = (task: z.infer<typeof plainTask>): z.infer<typeof plainTask> => {
  if (!isQuestion(task)) return task;
  const { number, title, requirements, depends_on, gate, on_reject = "stop", notes } = task;
  return {
    ...{ number, title, requirements, worker_role: "", qc_role: "", verification: [], execution: [], max_retries: 0 },
    ...{ depends_on, files: [], deliverable: "text", gate, on_reject, notes },
  };
};

export const planTask = plainTask.check(workersRule).overwrite(withoutWorker);

const setup = z.strictObject({
  run: z.array(command).max(20).describe("Commands, in order; no shell. An empty list installs nothing"),
  inputs: z
    .array(filePath)
    .max(50)
    .default([])
    .describe(
      "Files and folders that decide whether it must run again: lockfiles. Without any, it runs for every commit",
    ),
});

const plain = z.strictObject({
  title: line(200).describe("What the run is about, in one line"),
  summary: text(20_000).default("").describe("How the work is divided, and why"),
  assumptions: z.array(line(1000)).max(50).default([]).describe("Assumptions where the request is silent"),
  cites: z.array(line(200)).max(500).default([]).describe("Ids of nodes and entries that the plan is based on"),
  setup: setup
    .optional()
    .describe(
      "Installs what tasks and checks need, once: uv sync, go mod vendor. If left out, npm, pnpm or yarn installs what a lockfile names",
    ),
  tasks: z.array(planTask).min(1).max(500).describe("Task 0 validates the environment; 1.x do the work"),
});

/** A plan without its tasks. */
export const planHead = plain.omit({ tasks: true });

export const plan = plain.superRefine(({ tasks }, context) => {
  for (const { path, message } of contradictions(tasks)) context.addIssue({ code: "custom", path, message });
});

export type Plan = z.infer<typeof plan>;
export type PlanTask = z.infer<typeof planTask>;
export type Setup = z.infer<typeof setup>;
export type Criterion = z.infer<typeof criterion>;
export type Check = z.infer<typeof check>;

type Contradiction = { path: (string | number)[]; message: string };

/** Errors that concern several fields. */
function contradictions(tasks: PlanTask[]): Contradiction[] {
  const found: Contradiction[] = [];
  const numbers = new Set(tasks.map((task) => task.number));
  if (!numbers.has("0"))
    found.push({ path: ["tasks"], message: "task 0, which validates the environment, is missing" });
  const seen = new Set<string>();
  for (const [i, task] of tasks.entries()) {
    if (seen.has(task.number))
      found.push({ path: ["tasks", i, "number"], message: `task number ${task.number} is used twice` });
    seen.add(task.number);
    const path = ["tasks", i, "depends_on"];
    const unknown = task.depends_on.filter((other) => !numbers.has(other));
    if (unknown.length > 0) found.push({ path, message: `task ${unknown.join(", ")} does not exist` });
    if (new Set(task.depends_on).size < task.depends_on.length)
      found.push({ path, message: "a dependency is listed twice" });
    if (task.number === "0" && task.depends_on.length > 0)
      found.push({ path, message: "task 0 runs first and cannot have dependencies" });
  }
  const circle = found.length === 0 ? cycle(tasks) : undefined;
  if (circle) {
    const last = tasks.findIndex((task) => task.number === circle[0]);
    found.push({
      path: ["tasks", last, "depends_on"],
      message: `dependency cycle: ${circle.join(" → ")}`,
    });
  }
  return found;
}

/** A way along dependencies that comes back to where it began. */
function cycle(tasks: PlanTask[]): string[] | undefined {
  const next = new Map(tasks.map((task) => [task.number, task.depends_on]));
  const done = new Set<string>();
  for (const { number } of tasks) {
    const way: string[] = [];
    const waiting: (string | null)[] = [number];
    while (waiting.length > 0) {
      const at = waiting.pop();
      if (at === null) {
        done.add(way.pop() ?? "");
      } else if (at !== undefined && !done.has(at)) {
        if (way.includes(at)) return [...way.slice(way.indexOf(at)), at];
        way.push(at);
        waiting.push(null, ...(next.get(at) ?? []));
      }
    }
  }
  return undefined;
}

/** Dependencies as they run: what names none waits for task 0, for nothing is begun in a broken environment. */
export const dependenciesOf = (task: PlanTask): string[] =>
  task.number === "0" || task.depends_on.length > 0 ? task.depends_on : ["0"];

export const planHash = (value: Plan) => createHash("sha256").update(JSON.stringify(value)).digest("hex");

/** In the order of a plan: 0, 1.1, 1.2, …, 1.10. */
export const byNumber = (a: Pick<PlanTask, "number">, b: Pick<PlanTask, "number">) => rank(a) - rank(b);

const rank = ({ number }: Pick<PlanTask, "number">) => Number(number.split(".")[1] ?? 0);
