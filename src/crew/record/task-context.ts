import { nodesAround } from "../../graph/walk.ts";
import { ok, type Result } from "../../kernel/result.ts";
import type { SteeringMessageRow } from "../../store/crew-tables.ts";
import { noSuch } from "../../store/no-such.ts";
import { type Attempt, attemptsOf } from "../../store/queries/attempts.ts";
import { edgesBetween } from "../../store/queries/edges.ts";
import { nodesByType } from "../../store/queries/node-types.ts";
import { nodeLines } from "../../store/queries/nodes.ts";
import { questionsOf } from "../../store/queries/questions.ts";
import { runTask, tasksOfRun } from "../../store/queries/runs.ts";
import { steeringOf } from "../../store/queries/steering.ts";
import { checksOf } from "../../store/queries/verdicts.ts";
import { fromRow } from "../../tasks/task.ts";
import {
  type Context,
  type Limits,
  pmContext,
  qcContext,
  type TaskRecord,
  workerContext,
} from "../rules/agent-context.ts";
import { answerTokensOf, boundsFor } from "../rules/breakers.ts";
import { commandsOf, unsupportedWords } from "../rules/commands.ts";
import type { PlanTask } from "../rules/plan.ts";
import { dependenciesOf } from "../rules/plan.ts";
import { unproven } from "../rules/verdict.ts";
import type { CrewApp } from "./crew-app.ts";
import { disputesOf } from "./disputes.ts";
import { doubtedCitations, shareOfDoubted } from "./doubted-citations.ts";
import { seenBy } from "./seen.ts";

const builders = { pm: pmContext, worker: workerContext, qc: qcContext };

/** The context of a task for this kind of agent (O6). */
export async function contextFor(
  app: CrewApp,
  task: string,
  kind: Context["kind"],
  /** For the verifier: what the delivered commit changes. */
  diff = "",
): Promise<Result<Context>> {
  const record = await taskRecord(app, task, kind);
  return record.ok ? ok(builders[kind]({ ...record.value, diff })) : record;
}

/** The part of the record that one kind of context is made from. */
async function taskRecord(app: CrewApp, id: string, kind: Context["kind"]): Promise<Result<Omit<TaskRecord, "diff">>> {
  const query = app.db.read;
  const detail = await runTask(query, id);
  const run = detail && (await app.runs.find(detail.run_id));
  const planned = run?.plan?.tasks.find((task) => task.number === detail?.number);
  if (!detail || !run?.plan || !planned) return noSuch(query, "task", id);
  const attempts = await attemptsOf(query, { task: id });
  const last = attempts.findLast((row) => row.phase !== "abandoned");
  return ok({
    request: run.request,
    brief: run.brief,
    plan: run.plan,
    survey: kind === "pm" ? await surveyOf(app) : "",
    task: { ...planned, id },
    dependencies: kind === "pm" ? [] : await dependenciesBefore(app, detail.run_id, planned),
    errors: attempts.flatMap((row) => row.error_context ?? []),
    answers: (await questionsOf(query, { task: id })).flatMap(({ question, answer }) =>
      answer === null ? [] : [{ question, answer }],
    ),
    steering:
      kind === "pm" ? [] : (await steeringOf(query, id)).filter((sent) => kind === "worker" || wasSeen(sent, last)),
    output: last?.output ?? "",
    filesChanged: last?.files_changed ?? [],
    commit: last?.commit_id ?? null,
    checks: kind === "qc" && last ? await checksOf(query, id, last.epoch) : [],
    ...(kind === "qc" && last ? await workOnRecord(app, last, detail.deliverable) : { commands: [], unproven: [] }),
    limits: limitsFor(app, kind === "qc" ? "qc" : "worker", detail.estimated_tool_calls),
    topics: kind === "qc" ? (last?.topics ?? []) : [],
    subgraph: kind === "qc" ? await subgraphOf(app, [`task:${id}`, ...(last?.cites ?? [])]) : { nodes: [], edges: [] },
  });
}

/** Whether the worker of an attempt got a message: its context also has those to the workers before it. */
const wasSeen = ({ epoch }: SteeringMessageRow, attempt: Attempt | undefined) =>
  epoch !== null && attempt !== undefined && epoch <= attempt.epoch;

async function dependenciesBefore(app: CrewApp, run: string, task: PlanTask): Promise<TaskRecord["dependencies"]> {
  const wanted = dependenciesOf(task);
  const rows = (await tasksOfRun(app.db.read, run)).filter((row) => wanted.includes(row.number));
  const before = await Promise.all(
    rows.map(async ({ number, task, on_reject, requirements }) => {
      const accepted = (await attemptsOf(app.db.read, { task: task.id })).findLast((row) => row.phase === "qc_passed");
      return {
        number,
        id: task.id,
        title: task.title,
        question: on_reject === null ? null : requirements,
        output: on_reject === null ? (accepted?.output ?? "") : String(fromRow(task).result.output ?? ""),
        files: accepted?.files_changed ?? [],
      };
    }),
  );
  return before;
}

function limitsFor({ config }: CrewApp, part: "worker" | "qc", estimatedToolCalls: number | null): Limits {
  const { toolCalls } = boundsFor(part, part === "worker" ? estimatedToolCalls : null);
  const answerTokens = answerTokensOf(config.crew, part);
  const { command_seconds: commandSeconds, attempt_minutes: minutes } = config.crew;
  return { toolCalls, answerTokens, commandSeconds, minutes };
}

/** The worker's commands, and what it says without evidence in the record or against another source. */
async function workOnRecord(
  app: CrewApp,
  attempt: Attempt,
  deliverable: "files" | "text",
): Promise<Pick<TaskRecord, "commands" | "unproven">> {
  const { epoch } = attempt;
  // Statements that 0.1 recorded have no `ref`.
  const claims = attempt.claims.map((one) => ({ ...one, ref: one.ref ?? "", lines: one.lines ?? "" }));
  const seen = await seenBy(app, attempt, { epoch, part: "worker" }, claims);
  const output = attempt.output ?? "";
  const commands = commandsOf(seen.calls);
  const doubted = await doubtedCitations(app, claims);
  const share = shareOfDoubted(doubted, claims.length);
  return {
    commands,
    unproven: [
      ...unproven(claims, { ...seen, checks: new Map(), text: deliverable === "text" ? output : null }),
      ...unsupportedWords(output, commands),
      ...(await disputesOf(app, claims)),
      ...(share ? [share] : []),
      ...doubted.map(({ statement, doubt }) => `${statement} (${doubt})`),
    ],
  };
}

const mostNodes = 40;
const mostEdges = 60;

/** The nodes within two edges of the task and of the worker's citations. */
async function subgraphOf(app: CrewApp, starts: string[]): Promise<TaskRecord["subgraph"]> {
  const ids = new Set<string>();
  for (const start of starts.slice(0, 10)) {
    if (ids.size >= mostNodes) break;
    for (const id of (await nodesAround(app.db, start, { depth: 2, maxNodes: mostNodes })).ids) ids.add(id);
  }
  const nodes = await nodeLines(app.db, [...ids].slice(0, mostNodes));
  if (nodes.length === 0) return { nodes, edges: [] };
  const kept = nodes.map((node) => node.id);
  const edges = await edgesBetween(app.db, kept, kept, undefined, mostEdges);
  return { nodes, edges };
}

const mostPaths = 1500;

/** The workspace in outline, for the planner's prompt. */
export async function surveyOf(app: CrewApp): Promise<string> {
  const entries = await app.entries.list();
  const listed = await app.git.maybe(["ls-files"]);
  const files = (listed ?? "").split("\n").filter((path) => path !== "");
  const nodes = await nodesByType(app.db.read);
  return [
    `Entries of the wiki:\n${entries.map((entry) => `- ${entry.id}: ${entry.title} (${entry.wordCount} words)`).join("\n")}`,
    ...(nodes.length > 0 ? [`Nodes of the graph: ${nodes.map((row) => `${row.count} ${row.type}`).join(", ")}`] : []),
    `Files:\n${files
      .slice(0, mostPaths)
      .map((path) => `- ${path}`)
      .join("\n")}${files.length > mostPaths ? `\n- and ${files.length - mostPaths} more` : ""}`,
  ].join("\n\n");
}
