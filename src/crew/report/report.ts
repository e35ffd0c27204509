import { fenced } from "../../kernel/fenced.ts";
import { ok, type Result } from "../../kernel/result.ts";
import type { Failure, QuestionRow } from "../../store/crew-tables.ts";
import { noSuch } from "../../store/no-such.ts";
import { type Attempt, attemptsOf } from "../../store/queries/attempts.ts";
import { contextsOf, type StoredContext } from "../../store/queries/contexts.ts";
import { questionsOf } from "../../store/queries/questions.ts";
import { tasksOfRun } from "../../store/queries/runs.ts";
import { type Verdict, verdictsOf } from "../../store/queries/verdicts.ts";
import { fromRow, shownState } from "../../tasks/task.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { known } from "../record/facts.ts";
import { acceptedBranch } from "../rules/branches.ts";
import { failureOf, type Impact, impactOf } from "../rules/failure.ts";
import { dependenciesOf } from "../rules/plan.ts";
import type { Run } from "../rules/run.ts";
import { plainly, table } from "./markdown.ts";
import { type Figure, metricsOf } from "./metrics.ts";
import { waitingFor } from "./waiting.ts";

type Reported = {
  number: string;
  id: string;
  title: string;
  state: string;
  attempts: Attempt[];
  verdicts: Verdict[];
  failure?: { report: Failure; impact: Impact };
};

type Whole = {
  run: Run;
  tasks: Reported[];
  contexts: StoredContext[];
  questions: QuestionRow[];
  /** Open proposals of the workspace. */
  proposals: number;
  figures: Figure[];
};

/** The report of a run as it stands, from the record alone. */
export async function reportOf(app: CrewApp, id: string): Promise<Result<string>> {
  const run = await app.runs.find(id);
  if (!run) return noSuch(app.db.read, "run", id);
  const query = app.db.read;
  const rows = await tasksOfRun(query, id);
  const attempts = await attemptsOf(query, { run: id });
  const verdicts = await verdictsOf(query, { run: id });
  const measured = await metricsOf.of(app, id);
  const planned = (run.plan?.tasks ?? []).map((task) => ({
    number: task.number,
    title: task.title,
    dependsOn: dependenciesOf(task),
    estimatedToolCalls: task.estimated_tool_calls ?? null,
  }));
  const tasks = rows.map((row): Reported => {
    const own = {
      attempts: attempts.filter((one) => one.task_id === row.task_id),
      verdicts: verdicts.filter((one) => one.task_id === row.task_id),
    };
    const task = {
      number: row.number,
      id: row.task_id,
      title: row.task.title,
      state: shownState(fromRow(row.task)),
      ...own,
    };
    if (task.state !== "failed") return task;
    const report = row.failure ?? failureOf(own.attempts, own.verdicts);
    return { ...task, failure: { report, impact: impactOf(task, planned, report) } };
  });
  return ok(
    writeReport({
      run,
      tasks,
      contexts: await contextsOf(query, { run: id }),
      questions: await questionsOf(query, { run: id }),
      proposals: (await app.proposals.list("open")).length,
      figures: measured.ok ? measured.value.figures : [],
    }),
  );
}

/** A first screen that a manager can act on, then each task, then the figures. */
export function writeReport(whole: Whole): string {
  return [
    `# Report: ${plainly(whole.run.title)}`,
    ...firstScreen(whole),
    "## Tasks",
    table(
      ["task", "state", "attempts", "score", "what"],
      whole.tasks.map((task) => [task.number, task.state, String(rounds(task).length), scores(task), task.title]),
    ),
    ...whole.tasks.filter((task) => task.failure).map(failurePart),
    "## In detail",
    ...whole.tasks.map(taskPart),
    "## Figures",
    table(
      ["figure", "value", "target", "met", "counted from"],
      whole.figures.map((one) => [
        one.name.replaceAll("_", " "),
        shown(one),
        one.target ?? "–",
        one.met === null ? "–" : one.met ? "yes" : "no",
        one.counted,
      ]),
    ),
    ...usedPart(whole.contexts),
    ...networkPart(whole.contexts),
    "",
  ].join("\n\n");
}

function firstScreen({ run, tasks, contexts, questions, proposals }: Whole): string[] {
  const count = (state: string) => tasks.filter((task) => task.state === state).length;
  const files = new Set(tasks.flatMap((task) => accepted(task)?.files ?? []));
  const failed = tasks.flatMap(({ failure, ...task }) => (failure ? [{ ...task, failure }] : []));
  const waiting = waitingFor({ run, failed, questions, proposals });
  const branch = acceptedBranch(run.id);
  const cost = known(contexts.map((row) => row.cost_usd));
  const tokens = known(contexts.flatMap((row) => [row.input_tokens, row.output_tokens]));
  return [
    `**${outcome(run, tasks)}** ${count("completed")} of ${tasks.length} tasks accepted${lostPart(count("failed"), count("stale"), count("blocked"))}. ${files.size === 0 ? "No files changed." : `${files.size} ${files.size === 1 ? "file" : "files"} changed.`}`,
    table(
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
    ),
    waiting.length === 0
      ? "Nothing waits for you."
      : `Waiting for you:\n\n${waiting.map((one) => `- ${one}`).join("\n")}`,
    ...(files.size === 0
      ? []
      : [`The accepted files are on the branch \`${branch}\`. Merge them with: \`git merge ${branch}\`.`]),
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

/** Both levels of a failure: what the verifier saw, and what it means for the rest (O9). */
function failurePart({ number, title, failure }: Reported): string {
  if (!failure) return "";
  const { report, impact } = failure;
  const rising = report.scores.progression.join(" → ") || "no score";
  return [
    `## Task ${number} failed: ${plainly(title)}`,
    `Impact: ${impact.blocked.length === 0 ? "no task depends on it" : `${impact.blocked.map((one) => `${one.number} (${plainly(one.title)})`).join(", ")} cannot start`}. Delay: ${impact.delay}. Risk: ${impact.risk}.`,
    `Next steps:\n\n${impact.nextActions.map((one) => `- ${plainly(one)}`).join("\n")}`,
    `Lessons:\n\n${impact.lessons.map((one) => `- ${plainly(one)}`).join("\n")}`,
    `Scores: ${rising} (lowest ${report.scores.lowest ?? "–"}, highest ${report.scores.highest ?? "–"}, average ${report.scores.average ?? "–"})`,
    table(
      ["attempt", "at", "worker", "verifier", "score", "outcome", "why"],
      report.timeline.map((one) => [
        String(one.attempt),
        one.at.slice(0, 19).replace("T", " "),
        one.worker,
        one.verifier ?? "–",
        String(one.score ?? "–"),
        one.outcome,
        one.reason,
      ]),
    ),
    `Root causes:\n\n${report.rootCauses.map((one) => `- ${plainly(one.cause)} (attempts ${one.attempts.join(", ")})`).join("\n") || "- unknown"}`,
  ].join("\n\n");
}

function taskPart(task: Reported): string {
  const last = rounds(task).at(-1);
  const verdict = task.verdicts.findLast((one) => one.epoch === last?.epoch);
  const made = accepted(task);
  const decisions = last?.decisions ?? [];
  const spent = [
    ...(last ? [`${known(rounds(task).map((row) => row.duration_ms)) ?? 0} ms`] : []),
    `${known(rounds(task).map((row) => row.tool_calls)) ?? "an unknown number of"} tool calls`,
    `${known(rounds(task).flatMap((row) => [row.input_tokens, row.output_tokens])) ?? "an unknown number of"} tokens`,
  ];
  return [
    `### Task ${task.number}: ${plainly(task.title)}`,
    `${task.state}${made ? ` on attempt ${made.attempt}` : ""}, score ${scores(task)}; node \`task:${task.id}\`${last?.commit_id ? `; commit \`${last.commit_id.slice(0, 12)}\`` : ""}. ${spent.join(", ")}.`,
    ...(made && made.files.length > 0
      ? [
          `Files changed:\n\n${made.files.map((file) => `- [${plainly(file)}](<../../${file.replaceAll(/[<>]/g, encodeURIComponent)}>)`).join("\n")}`,
        ]
      : []),
    ...(decisions.length > 0 ? [`Decisions:\n\n${decisions.map((one) => `- ${plainly(one)}`).join("\n")}`] : []),
    ...(last?.stopped_because ? [`Attempt ${last.attempt} was stopped: ${plainly(last.stopped_because)}`] : []),
    ...(verdict ? [`Verifier${verdict.voided_at ? " (void)" : ""}: ${plainly(verdict.feedback)}`] : []),
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

/** Every destination of the run's agents. Names come from agents. */
function networkPart(contexts: StoredContext[]): string[] {
  const rows = contexts.flatMap(({ part, attempt, destinations }) =>
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

const rounds = (task: Reported) => task.attempts.filter((row) => row.phase !== "abandoned");
const scores = (task: Reported) => task.verdicts.map((row) => row.score).join(" → ") || "–";

function accepted(task: Reported): { attempt: number; files: string[] } | undefined {
  const row = task.state === "completed" ? rounds(task).findLast((one) => one.phase === "qc_passed") : undefined;
  return row && { attempt: row.attempt, files: row.files_changed };
}

const shown = ({ value, unit }: Figure) =>
  value === null ? "–" : unit === "share" ? `${(value * 100).toFixed(1)} %` : `${value.toFixed(value < 10 ? 1 : 0)} ms`;

const excerpt = (text: string) => (text.length <= 1500 ? text : `${text.slice(0, 1500)} …`);
