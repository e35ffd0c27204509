import { fenced } from "../../kernel/fenced.ts";
import { ok, type Result } from "../../kernel/result.ts";
import type { Failure, GateRow, QuestionRow } from "../../store/crew-tables.ts";
import { noSuch } from "../../store/no-such.ts";
import { type AgentReport, agentReportsOf } from "../../store/queries/agent-reports.ts";
import { type Attempt, attemptsOf } from "../../store/queries/attempts.ts";
import { contextsOf, type StoredContext } from "../../store/queries/contexts.ts";
import { gatesOf } from "../../store/queries/gates.ts";
import { questionsOf } from "../../store/queries/questions.ts";
import { tasksOfRun } from "../../store/queries/runs.ts";
import { type SetupRecord, setupsOf } from "../../store/queries/setups.ts";
import { checksOfTask, type Verdict, verdictsOf } from "../../store/queries/verdicts.ts";
import { fromRow, shownState } from "../../tasks/task.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { known } from "../record/facts.ts";
import { aboutFailure, aboutOutcome } from "../rules/agent-report.ts";
import { acceptedBranch } from "../rules/branches.ts";
import { behindIn, failureOf, type Impact, impactOf } from "../rules/failure.ts";
import type { Run } from "../rules/run.ts";
import { commandLines } from "../rules/setup.ts";
import { noneAsked } from "../rules/verdict.ts";
import { analysisPart } from "./analysis.ts";
import { failurePart } from "./failure-part.ts";
import { nodeLink, plainly, table } from "./markdown.ts";
import { type Figure, metricsOf, spelled } from "./metrics.ts";
import { waitingFor } from "./waiting.ts";

type Reported = {
  number: string;
  id: string;
  title: string;
  state: string;
  attempts: Attempt[];
  verdicts: Verdict[];
  /** For a task that only asks a person: what they decided, oldest first. */
  answers: GateRow[] | undefined;
  failure?: { report: Failure; impact: Impact; written: AgentReport[] };
};

type Whole = {
  run: Run;
  tasks: Reported[];
  contexts: StoredContext[];
  questions: QuestionRow[];
  setups: SetupRecord[];
  /** Open proposals of the workspace. */
  proposals: number;
  figures: Figure[];
  /** The final report on this outcome. */
  written: AgentReport | undefined;
  /** Who writes the analysis; `none` leaves it out, with the tables, which repeat the details or say nothing about the work. */
  analysis: "agents" | "facts" | "none";
};

/** The report of a run as it stands: the record, and beside it what agents wrote about it; `factsOnly` is for an agent that writes about it. */
export async function reportOf(app: CrewApp, id: string, { factsOnly = false } = {}): Promise<Result<string>> {
  const run = await app.runs.find(id);
  if (!run) return noSuch(app.db.read, "run", id);
  const query = app.db.read;
  const of = { run: id };
  const rows = await tasksOfRun(query, id);
  const [attempts, verdicts, contexts, questions, written] = [
    await attemptsOf(query, of),
    await verdictsOf(query, of),
    await contextsOf(query, of),
    await questionsOf(query, of),
    factsOnly ? [] : await agentReportsOf(query, of),
  ];
  const measured = await metricsOf.of(app, id);
  const tasks: Reported[] = [];
  for (const row of rows) {
    const own = <T extends { task_id: string | null }>(all: T[]) => all.filter((one) => one.task_id === row.task_id);
    const task = {
      number: row.number,
      id: row.task_id,
      title: row.task.title,
      state: shownState(fromRow(row.task)),
      attempts: own(attempts),
      verdicts: own(verdicts),
      answers: row.on_reject === null ? undefined : await gatesOf(query, row.task_id),
    };
    if (task.state !== "failed") {
      tasks.push(task);
      continue;
    }
    const checks = await checksOfTask(query, row.task_id);
    const report = row.failure ?? failureOf({ ...task, checks, contexts: own(contexts) });
    const impact = impactOf({ ...task, run: id }, behindIn(run), report);
    const about = aboutFailure(task.id, rounds(task).at(-1)?.epoch ?? 0);
    tasks.push({ ...task, failure: { report, impact, written: written.filter((one) => one.about === about) } });
  }
  const outcome = aboutOutcome(rows.map(({ task }) => task));
  return ok(
    writeReport({
      run,
      tasks,
      contexts,
      questions,
      setups: await setupsOf(query, id),
      proposals: (await app.proposals.list("open")).length,
      figures: measured.ok ? measured.value.figures : [],
      written: written.find((one) => one.about === outcome),
      analysis: factsOnly ? "none" : app.config.crew.reports,
    }),
  );
}

/** A first screen that a manager can act on, then each task, then the figures. */
export function writeReport(whole: Whole): string {
  const isForAgent = whole.analysis === "none";
  return [
    `# Report: ${plainly(whole.run.title)}`,
    "## Facts (recorded by the system)",
    ...firstScreen(whole, isForAgent),
    ...finalPart(whole),
    ...(isForAgent ? [] : [tasksPart(whole.tasks)]),
    ...whole.tasks.flatMap((task) =>
      task.failure ? failurePart({ ...task, failure: task.failure }, whole.analysis) : [],
    ),
    "## In detail",
    ...whole.tasks.map((task) => taskPart(task, isForAgent)),
    ...(isForAgent ? [] : [...figuresPart(whole.figures), ...usedPart(whole.contexts)]),
    ...setupPart(whole.setups),
    ...networkPart(whole.contexts, whole.setups),
    "",
  ].join("\n\n");
}

const tasksPart = (tasks: Reported[]) =>
  [
    "## Tasks",
    table(
      ["task", "state", "attempts", "score", "what"],
      tasks.map((task) => [task.number, task.state, String(rounds(task).length), scores(task), task.title]),
    ),
  ].join("\n\n");

const figuresPart = (figures: Figure[]) => [
  "## Figures",
  table(
    ["figure", "value", "target", "met", "counted from"],
    figures.map((one) => [
      one.name.replaceAll("_", " "),
      spelled(one),
      one.target ?? "–",
      one.met === null ? "–" : one.met ? "yes" : "no",
      one.counted,
    ]),
  ),
];

function firstScreen({ run, tasks, contexts, questions, proposals }: Whole, isForAgent: boolean): string[] {
  const count = (state: string) => tasks.filter((task) => task.state === state).length;
  const files = new Set(tasks.flatMap((task) => accepted(task)?.files ?? []));
  const failed = tasks.flatMap(({ failure, ...task }) => (failure ? [{ ...task, failure }] : []));
  const waiting = waitingFor({ run, failed, questions, proposals });
  const branch = acceptedBranch(run.id);
  const cost = known(contexts.map((row) => row.cost_usd));
  const tokens = known(contexts.flatMap((row) => [row.input_tokens, row.output_tokens]));
  const spentTable = table(
    ["started", "took", "tokens", "cost", "attempts", "agents"],
    [
      [
        run.startedAt?.slice(0, 16).replace("T", " ") ?? "not yet",
        lasted(run),
        tokens === null ? "unknown" : String(tokens),
        cost === null ? "unknown" : `$${cost.toFixed(4)}`,
        String(tasks.reduce((sum, task) => sum + rounds(task).length, 0)),
        String(contexts.length),
      ],
    ],
  );
  return [
    `**${outcome(run, tasks)}** ${count("completed")} of ${tasks.length} tasks accepted${lostPart(count("failed"), count("stale"), count("blocked"))}. ${files.size === 0 ? "No files changed." : `${files.size} ${files.size === 1 ? "file" : "files"} changed.`}`,
    ...(isForAgent ? [] : [spentTable]),
    waiting.length === 0
      ? "Nothing waits for you."
      : `Waiting for you:\n\n${waiting.map((one) => `- ${one}`).join("\n")}`,
    ...(files.size === 0 || isForAgent
      ? []
      : [`The accepted files are on the branch \`${branch}\`. Merge them with: \`scriptorium run merge ${run.id}\`.`]),
    `Request:\n\n${fenced("text", run.request)}`,
  ];
}

const outcome = (run: Run, tasks: Reported[]) => {
  if (run.state === "completed") return "Completed.";
  if (run.state === "failed") return `Not completed: ${plainly(run.reason ?? "tasks failed")}.`;
  if (run.state === "cancelled" || run.state === "stopped")
    return `${run.state === "stopped" ? "Stopped" : "Cancelled"}: ${plainly(run.reason ?? "")}.`;
  return tasks.length === 0 ? "No plan yet." : `The run is ${run.state}.`;
};

const lostPart = (failed: number, stale: number, blocked: number) =>
  [
    ...(failed > 0 ? [`, ${failed} failed`] : []),
    ...(stale > 0 ? [`, ${stale} stale`] : []),
    ...(failed > 0 && blocked > 0 ? [`, ${blocked} blocked by a failed task`] : []),
  ].join("");

function lasted(run: Run): string {
  if (run.startedAt === null) return "–";
  const ms = Date.parse(run.endedAt ?? run.startedAt) - Date.parse(run.startedAt);
  return ms < 120_000 ? `${Math.round(ms / 1000)} s` : `${Math.round(ms / 60_000)} min`;
}

/** The analysis of a run that is over. */
function finalPart({ run, written, analysis }: Whole): string[] {
  if (analysis === "none" || !["completed", "failed"].includes(run.state)) return [];
  return analysisPart("##", "final", written, analysis);
}

/** A task without a worker: the answers of people. */
function questionPart({ number, title, state, id }: Reported, answers: GateRow[]): string {
  const lines = answers.map(({ decision, decided_by, note }) =>
    decision === null
      ? "- waits for an answer"
      : `- ${decision} by ${plainly(decided_by ?? "a person")}${note ? `: ${plainly(note)}` : ""}`,
  );
  return [
    `### Task ${number}: ${plainly(title)}`,
    `${state}; node ${nodeLink(id)}. It asks a person and has no worker.`,
    ...(lines.length > 0 ? [`Answers:\n\n${lines.join("\n")}`] : []),
  ].join("\n\n");
}

function taskPart(task: Reported, isForAgent: boolean): string {
  if (task.answers) return questionPart(task, task.answers);
  const last = rounds(task).at(-1);
  const verdict = task.verdicts.findLast((one) => one.epoch === last?.epoch);
  const made = accepted(task);
  const decisions = last?.decisions ?? [];
  const spent = [
    ...(last ? [`${known(rounds(task).map((row) => row.duration_ms)) ?? 0} ms`] : []),
    `${known(rounds(task).map((row) => row.tool_calls)) ?? "an unknown number of"} tool calls`,
    `${known(rounds(task).flatMap((row) => [row.input_tokens, row.output_tokens])) ?? "an unknown number of"} tokens`,
  ];
  const ended = `${task.state}${made ? ` on attempt ${made.attempt}` : ""}, score ${scores(task)}`;
  const commit = last?.commit_id ? `; commit \`${last.commit_id.slice(0, 12)}\`` : "";
  return [
    `### Task ${task.number}: ${plainly(task.title)}`,
    isForAgent ? `${ended}.` : `${ended}; node ${nodeLink(task.id)}${commit}. ${spent.join(", ")}.`,
    ...(made && made.files.length > 0
      ? [
          `Files changed:\n\n${made.files.map((file) => `- [${plainly(file)}](<../../${file.replaceAll(/[<>]/g, encodeURIComponent)}>)`).join("\n")}`,
        ]
      : []),
    ...(decisions.length > 0 ? [`Decisions:\n\n${decisions.map((one) => `- ${plainly(one)}`).join("\n")}`] : []),
    ...(last?.stopped_because ? [`Attempt ${last.attempt} was stopped: ${plainly(last.stopped_because)}`] : []),
    ...(verdict ? [`${judgeOf(verdict)}: ${plainly(verdict.feedback)}`] : []),
    ...(last?.output ? [`Worker's output, attempt ${last.attempt}:\n\n${fenced("text", excerpt(last.output))}`] : []),
  ].join("\n\n");
}

function usedPart(contexts: StoredContext[]): string[] {
  const parts = [...new Set(contexts.map((row) => row.part))];
  if (parts.length === 0) return [];
  const rows = parts.map((part) => {
    const own = contexts.filter((row) => row.part === part);
    const sizes = own.map((row) => row.tokens);
    const total = (of: (row: StoredContext) => number | null) => String(known(own.map(of)) ?? "unknown");
    return [
      part,
      String(own.length),
      String(Math.round(sizes.reduce((sum, one) => sum + one, 0) / own.length)),
      total((row) => row.input_tokens),
      total((row) => row.output_tokens),
      total((row) => row.cost_usd),
    ];
  });
  return [
    "## Usage",
    table(["part", "agents", "context tokens each", "input tokens", "output tokens", "dollars"], rows),
  ];
}

/** How the dependencies of the run were installed. */
function setupPart(setups: SetupRecord[]): string[] {
  if (setups.length === 0) return [];
  const seconds = ({ started_at, ended_at }: SetupRecord) =>
    ended_at === null ? "–" : `${((Date.parse(ended_at) - Date.parse(started_at)) / 1000).toFixed(1)} s`;
  const rows = setups.map((one) => [
    ...[commandLines(one.commands), one.origin, one.state, seconds(one)],
    one.bytes === null ? "–" : `${(one.bytes / 1e6).toFixed(1)} MB`,
  ]);
  const errors = setups.flatMap(({ error }) => (error === null ? [] : [fenced("text", error)]));
  return ["## Setup", table(["commands", "from", "state", "took", "size"], rows), ...errors];
}

/** Every destination of the run's agents and setups. Names come from agents. */
function networkPart(contexts: StoredContext[], setups: SetupRecord[]): string[] {
  const installs = setups.map(({ destinations }) => ({ part: "setup", attempt: null, destinations }));
  const rows = [...installs, ...contexts].flatMap(({ part, attempt, destinations }) =>
    (destinations ?? []).map((one) => [
      part,
      attempt === null ? "–" : String(attempt),
      one.destination,
      one.allowed ? "allowed" : "refused",
      String(one.requests),
      `${one.bytes_sent} / ${one.bytes_received}`,
      one.reason ?? "",
    ]),
  );
  if (rows.length === 0) return [];
  const head = ["part", "attempt", "destination", "decision", "requests", "bytes sent / received", "reason"];
  return ["## Network", table(head, rows)];
}

const judgeOf = ({ objections, voided_at }: Verdict) => {
  if (objections.some((one) => one.endsWith(noneAsked))) return "System";
  return voided_at ? "Verifier (void)" : "Verifier";
};
const rounds = (task: Reported) => task.attempts.filter((row) => row.phase !== "abandoned");
/** Without verdicts that were void from the start: their scores say nothing about the work. */
const scores = (task: Reported) =>
  task.verdicts
    .filter((row) => row.voided_at !== row.at)
    .map((row) => row.score)
    .join(" → ") || "–";

function accepted(task: Reported): { attempt: number; files: string[] } | undefined {
  const row = task.state === "completed" ? rounds(task).findLast((one) => one.phase === "qc_passed") : undefined;
  return row && { attempt: row.attempt, files: row.files_changed };
}

const excerpt = (text: string) => (text.length <= 1500 ? text : `${text.slice(0, 1500)} …`);
