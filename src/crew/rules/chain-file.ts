import { ok, type Result, refuse } from "../../kernel/result.ts";
import { criteriaLines, readCriteria } from "./chain-criteria.ts";
import { readSetup, setupLines } from "./chain-setup.ts";
import { type Section, sectionsOf, Trouble, textLines, textOf } from "./chain-text.ts";
import { isQuestion, type Plan, type PlanTask, planHash, plan as planSchema } from "./plan.ts";

/** A plan as a file that people read and change before it runs. `readChain(writeChain(x))` is x, whatever its texts hold. */
export type Chain = {
  run: string;
  request: string;
  plan: Plan;
  /** `baseOf` the plan that the file was written from. Left out in files of older versions and in diffs. */
  base?: string;
};

/** Names a stored plan in its file: enough of its hash for a person to compare. */
export const baseOf = (planHash: string) => planHash.slice(0, 16);

/** The file of a stored plan. */
export const planFile = (run: { id: string; request: string }, plan: Plan): string =>
  writeChain({ run: run.id, request: run.request, plan, base: baseOf(planHash(plan)) });

export const chainName = "chain-output.md";

const advice =
  "<!-- Edit this plan before it runs; `scriptorium execute` reports errors with line numbers. " +
  "A text in which every line starts with > is read literally. -->";

type Kind = "line" | "number" | "numbers" | "text" | "lines" | "criteria" | "setup";
type Field<K> = { key: K; label: string; kind: Kind };

/** In the head of a task, one line each; in this order when written. */
const heads: Field<keyof PlanTask>[] = [
  { key: "worker_role", label: "Worker", kind: "line" },
  { key: "qc_role", label: "QC", kind: "line" },
  { key: "depends_on", label: "Depends on", kind: "numbers" },
  { key: "deliverable", label: "Deliverable", kind: "line" },
  { key: "gate", label: "Gate", kind: "line" },
  { key: "on_reject", label: "On reject", kind: "line" },
  { key: "estimated_tool_calls", label: "Estimated tool calls", kind: "number" },
  { key: "max_retries", label: "Max retries", kind: "number" },
  { key: "model", label: "Model", kind: "line" },
];

/** The lines in the head of a task that only asks a person. */
const ofQuestions: (keyof PlanTask)[] = ["depends_on", "gate", "on_reject"];

const bodies: Field<keyof PlanTask>[] = [
  { key: "requirements", label: "Requirements", kind: "text" },
  { key: "verification", label: "Verification", kind: "criteria" },
  { key: "execution", label: "Execution", kind: "lines" },
  { key: "files", label: "Files", kind: "lines" },
  { key: "notes", label: "Notes", kind: "text" },
];

const overall: Field<"request" | "summary" | "assumptions" | "cites" | "setup">[] = [
  { key: "request", label: "Request", kind: "text" },
  { key: "summary", label: "Summary", kind: "text" },
  { key: "assumptions", label: "Assumptions", kind: "lines" },
  { key: "cites", label: "Cites", kind: "lines" },
  { key: "setup", label: "Setup", kind: "setup" },
];

export function writeChain({ run, request, plan, base }: Chain): string {
  const { title, tasks, ...rest } = plan;
  const whole: Record<string, unknown> = { request, ...rest };
  return [
    `# Plan: ${title}`,
    "",
    `Run: ${run}`,
    ...(base === undefined ? [] : [`Based on: ${base}`]),
    "",
    advice,
    ...overall.flatMap((field) => block("##", field, whole[field.key])),
    ...tasks.flatMap(taskLines),
    "",
  ].join("\n");
}

const taskLines = (task: PlanTask): string[] => [
  "",
  `## Task ${task.number}: ${task.title}`,
  "",
  ...heads
    .filter(({ key }) => !isQuestion(task) || ofQuestions.includes(key))
    .flatMap((field) => headLine(field, task[field.key])),
  ...bodies.flatMap((field) => block("###", field, task[field.key])),
];

function headLine({ label, kind }: Field<unknown>, value: unknown): string[] {
  if (value === undefined || (kind === "numbers" && (value as string[]).length === 0)) return [];
  return [`- ${label}: ${kind === "numbers" ? (value as string[]).join(", ") : String(value)}`];
}

function block(mark: string, { label, kind }: Field<unknown>, value: unknown): string[] {
  const lines = blockLines(kind, value);
  return lines.length === 0 ? [] : ["", `${mark} ${label}`, "", ...lines];
}

function blockLines(kind: Kind, value: unknown): string[] {
  if (kind === "text") return textLines(value as string);
  if (kind === "criteria") return criteriaLines(value as PlanTask["verification"]);
  if (kind === "setup") return setupLines(value as Plan["setup"]);
  return (value as string[]).map((item) => `- ${item}`);
}

/** The plan in an edited file, or everything that is wrong with it, by line. */
export function readChain(file: string): Result<Chain> {
  const trouble = new Trouble();
  const sections = sectionsOf(file.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n"), trouble);
  const { run, request, base, ...raw } = interpret(sections, trouble);
  const read = planSchema.safeParse(raw, { reportInput: true });
  if (!read.success) trouble.addIssues(read.error.issues);
  if (run === "") trouble.add(1, "the run's id is missing; expected a line such as Run: run-1");
  if (read.success && trouble.isNone())
    return ok({ run, request, plan: read.data, ...(base === undefined ? {} : { base }) });
  const problems = trouble.sorted();
  return refuse("invalid", problems.map(({ line, message }) => `${chainName}:${line}: ${message}`).join("\n"), {
    problems,
  });
}

type Raw = { run: string; request: string; base?: string; title?: string; tasks: Record<string, unknown>[] } & Record<
  string,
  unknown
>;

function interpret(sections: Section[], trouble: Trouble): Raw {
  const raw: Raw = { run: "", request: "", tasks: [] };
  const given = new Set<string>();
  let task: Record<string, unknown> | undefined;
  for (const section of sections) {
    const { level, heading, line } = section;
    if (level === 0) {
      trouble.unexpected(section.body, "expected # Plan: and the title in the first line");
    } else if (level === 1) {
      task = undefined;
      if (given.has("title")) trouble.add(line, "the title may occur only once, in the first line");
      given.add("title");
      raw.title = heading.replace(/^Plan: ?/, "");
      trouble.at("title", line);
      if (!heading.startsWith("Plan:")) trouble.add(line, "expected # Plan: and a title");
      Object.assign(raw, readOrigin(section, trouble));
    } else if (level === 2 && heading.startsWith("Task ")) {
      task = readHead(section, raw.tasks.length, trouble);
      raw.tasks.push(task);
    } else if (level === 2) {
      task = undefined;
      readBlock(section, overall, raw, "", trouble);
    } else if (task) {
      readBlock(section, bodies, task, `tasks.${raw.tasks.length - 1}.`, trouble);
    } else {
      trouble.add(line, `### ${heading} belongs below a task`);
    }
  }
  trouble.at("tasks", sections.at(-1)?.line ?? 1);
  return raw;
}

function readOrigin({ body }: Section, trouble: Trouble): { run?: string; base?: string } {
  const found: { run?: string; base?: string } = {};
  for (const { line, text } of body) {
    const run = /^Run: *([\w-]{1,64}) *$/s.exec(text)?.[1];
    const base = /^Based on: *([0-9a-f]{16}) *$/s.exec(text)?.[1];
    if (run !== undefined) found.run = run;
    else if (base !== undefined) found.base = base;
    else if (text.trim() !== "" && !/^<!--.*-->\s*$/.test(text))
      trouble.add(line, "expected Run: and the run's id, Based on: and the plan's hash, or ## Request");
  }
  return found;
}

function readHead({ heading, line, body }: Section, index: number, trouble: Trouble): Record<string, unknown> {
  const named = /^Task (\S+?): ?(.*)$/s.exec(heading);
  if (!named)
    trouble.add(line, "expected ## Task, its number, a colon and its title, such as ## Task 1.2: Write the parser");
  const task: Record<string, unknown> = { number: named?.[1] ?? "", title: named?.[2] ?? "" };
  trouble.at(`tasks.${index}`, line);
  for (const { line, text } of body) {
    if (text.trim() === "") continue;
    const [, label, value = ""] = /^[-*] ([^:]+):(?: (.*))?$/s.exec(text) ?? [];
    const field = heads.find((candidate) => candidate.label === label);
    if (!field) {
      trouble.add(
        line,
        `expected one of ${heads.map((candidate) => `"- ${candidate.label}:"`).join(", ")}, or ### Requirements`,
      );
    } else if (field.key in task) {
      trouble.add(line, `${field.label} occurs twice`);
    } else {
      task[field.key] = headValue(field.kind, value.trim());
      trouble.at(`tasks.${index}.${field.key}`, line);
    }
  }
  return task;
}

function headValue(kind: Kind, value: string): unknown {
  if (kind === "numbers")
    return value === "" || value === "none" ? [] : value.split(",").map((number) => number.trim());
  if (kind === "number") return /^\d{1,9}$/.test(value) ? Number(value) : value;
  return value;
}

function readBlock(
  section: Section,
  fields: Field<string>[],
  into: Record<string, unknown>,
  path: string,
  trouble: Trouble,
): void {
  const { heading, line } = section;
  const field = fields.find((candidate) => candidate.label === heading.trim());
  if (!field) {
    const known = fields.map((candidate) => candidate.label).join(", ");
    return trouble.add(line, `unknown heading "${heading}"; expected ${known}${path ? "" : " or Task"}`);
  }
  if (trouble.knows(path + field.key)) return trouble.add(line, `${field.label} occurs twice`);
  trouble.at(path + field.key, line);
  if (field.kind === "text") into[field.key] = textOf(section, trouble);
  else if (field.kind === "setup") into[field.key] = readSetup(section, trouble);
  else if (field.kind === "criteria") into[field.key] = readCriteria(section, path + field.key, trouble);
  else into[field.key] = readItems(section, path + field.key, trouble);
}

function readItems({ body }: Section, path: string, trouble: Trouble): string[] {
  const items: string[] = [];
  for (const { line, text } of body) {
    if (text.trim() === "") continue;
    const item = /^(?:[-*]|\d+\.) (.*)$/s.exec(text);
    if (!item) trouble.add(line, "expected an item: one line that starts with -");
    trouble.at(`${path}.${items.length}`, line);
    items.push(item?.[1] ?? text.trim());
  }
  return items;
}
