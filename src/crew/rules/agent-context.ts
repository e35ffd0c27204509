import { fenced } from "../../kernel/fenced.ts";
import type { CheckResultRow, ErrorContext } from "../../store/crew-tables.ts";
import { checkLine } from "./chain-criteria.ts";
import type { RanCommand } from "./commands.ts";
import { placeOf } from "./evidence.ts";
import { type Fragment, merged, shortened } from "./fingerprint.ts";
import { type Criterion, isQuestion, type Plan, type PlanTask } from "./plan.ts";
import { topicCriteria } from "./verdict.ts";

/** The part of a run's record that the context of one task is made from. */
export type TaskRecord = {
  request: string;
  brief: string | null;
  plan: Plan;
  /** The workspace in outline: files, entries, nodes. */
  survey: string;
  task: PlanTask & { id: string };
  dependencies: {
    number: string;
    id: string;
    title: string;
    /** Of a step that asks a person, whose answer is its output; null for a task with a worker. */
    question: string | null;
    output: string;
    files: string[];
  }[];
  errors: ErrorContext[];
  answers: { question: string; answer: string }[];
  /** What people told the workers of this task; for the verifier, the messages that the worker of its attempt got. */
  steering: { sent_by: string; content: string }[];
  limits: Limits;
  /** For the verifier. */
  output: string;
  filesChanged: string[];
  commit: string | null;
  /** What the delivered commit changes; empty if there is none. */
  diff: string;
  checks: CheckResultRow[];
  /** The commands that the worker ran. */
  commands: RanCommand[];
  unproven: string[];
  topics: string[];
  subgraph: {
    nodes: { id: string; type: string; title: string }[];
    edges: { from: string; type: string; to: string }[];
  };
};

/** Of one agent: its tool calls, the tokens of one answer, the seconds of one command, and its time. */
export type Limits = { toolCalls: number; answerTokens: number; commandSeconds: number; minutes: number };

export type SentFragment = { kind: Fragment["kind"]; hash: string; characters: number; sent: number; times: number };

export type Context = {
  kind: "pm" | "worker" | "qc";
  text: string;
  parts: { name: string; characters: number; tokens: number }[];
  fragments: SentFragment[];
};

const mostFiles = 10;
const mostDependencies = 5;
const mostOutput = 12_000;
/** A longer diff is read with show_diff, so that a large change does not fill the context of its verifier. */
const mostDiff = 12_000;
const mostCommands = 20;
/** Of people, for a verifier: characters of each, and their number. */
const mostWords = 8000;
const mostMessages = 20;

/** An estimate for limits and records: four characters per token. */
export const tokensIn = (text: string) => Math.ceil(text.length / 4);

/** The request, the workspace and the whole plan. It does not grow while workers run. */
export function pmContext({ request, brief, plan, survey }: TaskRecord): Context {
  return assembled("pm", [
    ["request", `# Request\n\n${request}`],
    ["brief", brief === null ? "" : `# Brief\n\n${brief}`],
    ["survey", survey === "" ? "" : `# The workspace\n\n${survey}`],
    [
      "summary",
      [`# Plan: ${plan.title}`, plan.summary, ...plan.assumptions.map((one) => `- assumed: ${one}`)].join("\n\n"),
    ],
    ["tasks", plan.tasks.map(wholeTask).join("\n\n")],
  ]);
}

/** A task of the plan with its notes, for the planner. */
export const wholeTask = (task: PlanTask) =>
  [
    `## Task ${task.number}: ${task.title}`,
    [
      ...(isQuestion(task)
        ? [`No worker: it asks a person; a rejection ${task.on_reject === "fail" ? "fails it" : "stops the run"}`]
        : [`Worker: ${task.worker_role}`, `QC: ${task.qc_role}`]),
      `Depends on: ${task.depends_on.join(", ") || "nothing"}`,
      ...(task.gate ? [`Gate: ${task.gate}`] : []),
    ].join("\n"),
    task.requirements,
    ...(task.verification.length > 0 ? [`Verification:\n${criteria(task.verification)}`] : []),
    ...(task.execution.length > 0 ? [`Execution:\n${task.execution.map((step) => `- ${step}`).join("\n")}`] : []),
    ...(task.files.length > 0 ? [`Files: ${task.files.join(", ")}`] : []),
    ...(task.notes === "" ? [] : [`Notes:\n${task.notes}`]),
  ].join("\n\n");

const criteria = (list: Criterion[]) =>
  list
    .map((one, i) => `${i + 1}. ${one.criterion}${one.check ? ` (checked: ${checkLine(one.check)})` : ""}`)
    .join("\n");

/** One task only: no research, no notes, no other task's requirements. */
export function workerContext({ task, dependencies, errors, answers, steering, limits }: TaskRecord): Context {
  const files = merged([
    ...task.files.map((path): Fragment => ({ kind: "file", text: path, where: `task ${task.number}` })),
    ...dependencies.flatMap(({ number, files }) =>
      files.map((path): Fragment => ({ kind: "file", text: path, where: `changed by task ${number}` })),
    ),
  ]);
  const before = merged(
    dependencies.slice(0, mostDependencies).map(({ number, id, title, output }): Fragment => {
      return {
        kind: "dependency",
        text: `Task ${number}: ${title}\n${output}`,
        where: `get_task_context {"id": "${id}"}`,
      };
    }),
  );
  const wrong = merged(
    errors.flatMap(({ attempt, ...error }) =>
      complaints(error).map((text): Fragment => ({ kind: "error", text, where: `attempt ${attempt}` })),
    ),
  );
  const last = errors.at(-1);
  return assembled(
    "worker",
    [
      ["role", `You are: ${task.worker_role}`],
      ["title", `# Task ${task.number}: ${task.title}`],
      ["requirements", task.requirements],
      [
        "description",
        `Steps:\n${task.execution.map((step) => `- ${step}`).join("\n")}\nThe deliverable is ${task.deliverable === "files" ? "changed files in your folder" : "a text: the output that you submit"}.`,
      ],
      ["criteria", `Verified by the checks and another agent:\n${criteria(task.verification)}`],
      ["limits", limitLines(limits)],
      [
        "files",
        files.length === 0
          ? ""
          : `Files:\n${files
              .slice(0, mostFiles)
              .map((file) => `- ${file.text}${note(file.wheres, task.number)}`)
              .join("\n")}${more(files.length, mostFiles)}`,
      ],
      [
        "dependencies",
        before.length === 0
          ? ""
          : `Output of the dependencies:\n${before.map((one) => data("an accepted task", shortened(one))).join("\n")}${more(dependencies.length, mostDependencies)}`,
      ],
      [
        "previous",
        last
          ? `Output of attempt ${last.attempt} (score ${last.score ?? "none"}):\n${data(`attempt ${last.attempt}`, clipped(last.output, mostOutput))}`
          : "",
      ],
      ["answers", answers.map(({ question, answer }) => `Asked: ${question}\nAnswer: ${answer}`).join("\n")],
      [
        "errors",
        wrong.length === 0
          ? ""
          : `Problems of earlier attempts, to be fixed now:\n${wrong.map((one) => `- ${one.text.length > 400 ? shortened(one) : one.text} (${one.wheres.join(", ")})`).join("\n")}`,
      ],
      [
        "steering",
        steering.length === 0
          ? ""
          : `Messages of people who oversee this task; follow them:\n${steering.map(({ sent_by, content }) => `${sent_by}: ${content}`).join("\n")}`,
      ],
    ],
    [...files, ...before, ...wrong],
  );
}

const limitLines = ({ toolCalls, answerTokens, commandSeconds, minutes }: Limits) =>
  `Limits: ${toolCalls} tool calls, ${minutes} minutes, ${answerTokens} tokens per answer (write longer files in parts), ${commandSeconds} seconds per command, without network.`;

const complaints = (error: Omit<ErrorContext, "attempt">) => [
  ...(error.stoppedBecause ? [`stopped: ${error.stoppedBecause}`] : []),
  ...(error.feedback ? [error.feedback] : []),
  ...error.issues,
  ...error.requiredFixes.map((fix) => `required fix: ${fix}`),
  ...error.checks.map((check) => `the check of criterion ${check.criterion} failed: ${check.detail}`),
  ...error.evidence.map((one) => `criterion ${one.criterion} is not met, seen in ${placeOf(one)}: ${one.quote}`),
];

const note = (wheres: string[], number: string) => {
  const others = wheres.filter((where) => where !== `task ${number}`);
  return others.length === 0 ? "" : ` (${others.join(", ")})`;
};

const more = (count: number, most: number) =>
  count > most ? `\n- and ${count - most} more: get_task_context shows them` : "";

/** Requirements, deliverable and criteria; the deliverable is fenced as data. */
export function qcContext(record: TaskRecord): Context {
  const {
    task,
    dependencies,
    steering,
    output,
    filesChanged,
    commit,
    diff,
    checks,
    commands,
    unproven,
    topics,
    subgraph,
    limits,
  } = record;
  return assembled("qc", [
    ["role", `You are: ${task.qc_role}`],
    ["title", `# Verify task ${task.number}: ${task.title}`],
    ["requirements", `Requirements:\n${task.requirements}`],
    [
      "criteria",
      `Criteria, each of which needs evidence:\n${criteria([...task.verification, ...topicCriteria(topics)])}`,
    ],
    ["person", personsWords(dependencies, steering)],
    [
      "checks",
      checks.length === 0
        ? ""
        : `Checks that the system ran:\n${checks.map((one) => `- criterion ${one.criterion}: ${one.passed === 1 ? "passed" : "failed"}: ${clipped(withoutCommand(one.detail, task), 400)}`).join("\n")}`,
    ],
    [
      "files",
      filesChanged.length > 0
        ? `Files changed, according to git${commit ? ` (${commit.slice(0, 12)})` : ""}:\n${filesChanged.map((file) => `- ${file}`).join("\n")}`
        : task.deliverable === "files"
          ? "Files changed: none"
          : "",
    ],
    [
      "commands",
      commands.length === 0
        ? "Commands that the worker ran, according to the record: none"
        : `Commands that the worker ran, according to the record:\n${commands
            .slice(-mostCommands)
            .map(({ command, exit }) => `- ${command}: ${exit === null ? "stopped" : `exit code ${exit}`}`)
            .join("\n")}`,
    ],
    [
      "unproven",
      unproven.length === 0
        ? ""
        : `Statements of the worker whose evidence is not in the record or is disputed; each is an issue unless you confirm it:\n${unproven.map((statement) => `- ${statement}`).join("\n")}`,
    ],
    ["limits", limitLines(limits)],
    ["diff", diff === "" ? "" : diffLines(diff)],
    ["output", `The deliverable in the worker's words:\n${data("the worker", clipped(output, mostOutput))}`],
    ["subgraph", subgraph.nodes.length === 0 ? "" : subgraphLines(subgraph)],
  ]);
}

/** The list of criteria above has the commands of their checks. */
const withoutCommand = (detail: string, { verification }: PlanTask) => {
  const commands = verification.flatMap(({ check }) => (check && "run" in check ? [`${check.run.join(" ")}: `] : []));
  const shown = commands.find((command) => detail.startsWith(command));
  return shown ? detail.slice(shown.length) : detail;
};

/** Edges name nodes by their number in the list: ids are long, and most nodes have several edges. */
function subgraphLines({ nodes, edges }: TaskRecord["subgraph"]): string {
  const number = new Map(nodes.map(({ id }, i) => [id, i + 1]));
  const byType = new Map<string, string[]>();
  for (const { from, type, to } of edges)
    byType.set(type, [...(byType.get(type) ?? []), `${number.get(from)}→${number.get(to)}`]);
  return [
    "Related nodes of the graph:",
    ...nodes.map(
      ({ id, type, title }, i) => `${i + 1}. ${id}${id.startsWith(`${type}:`) ? "" : ` (${type})`}: ${title}`,
    ),
    ...[...byType].map(([type, pairs]) => `${type}: ${pairs.join(", ")}`),
  ].join("\n");
}

/** Messages of people to the worker: work that follows them is not wrong for that. */
function personsWords(dependencies: TaskRecord["dependencies"], steering: TaskRecord["steering"]): string {
  const words = [
    ...dependencies.flatMap(({ number, question, output }) =>
      question === null
        ? []
        : `Asked in task ${number}: ${clipped(question, mostWords)}\nAnswer: ${clipped(output, mostWords)}`,
    ),
    ...steering.map(({ sent_by, content }) => `${sent_by} to the worker: ${clipped(content, mostWords)}`),
  ];
  if (words.length === 0) return "";
  return `Words of the people who oversee this task. The worker had to follow them; where they contradict the requirements, they take precedence:\n${words.slice(-mostMessages).join("\n")}`;
}

const diffLines = (diff: string) =>
  diff.length <= mostDiff
    ? `The whole change as show_diff returns it:\n${data("the delivered commit", diff)}`
    : `The change has ${diff.split("\n").length} lines: read it with show_diff.`;

const data = (from: string, text: string) => fenced(`data from ${from}`, text);

const clipped = (text: string, most: number) =>
  text.length <= most
    ? text
    : `${text.slice(0, most * 0.7)}\n… (${text.length - most} characters left out) …\n${text.slice(-most * 0.3)}`;

type Named = [name: string, text: string];

function assembled(kind: Context["kind"], named: Named[], fragments: ReturnType<typeof merged> = []): Context {
  const there = named.filter(([, text]) => text !== "");
  return {
    kind,
    text: there.map(([, text]) => text).join("\n\n"),
    parts: there.map(([name, text]) => ({ name, characters: text.length, tokens: tokensIn(text) })),
    fragments: fragments.map((one) => ({
      kind: one.kind,
      hash: one.hash,
      characters: one.text.length,
      sent: shortened(one).length,
      times: one.times,
    })),
  };
}
