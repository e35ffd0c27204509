import * as z from "zod";
import { partsOfAgentName } from "../../kernel/agent-name.ts";
import { operation, people } from "../../kernel/operation.ts";
import { ok } from "../../kernel/result.ts";
import { noSuch } from "../../store/no-such.ts";
import { spentOn } from "../../store/queries/spends.ts";
import { type TimelineRows, timelineRows, usageOverTime } from "../../store/queries/timeline.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { currentBudget } from "../rules/run-budget.ts";
import {
  type AttemptTimes,
  attemptEpoch,
  type Block,
  isIdle,
  lanesOf,
  phases,
  type Span,
  spansOf,
} from "../rules/timeline.ts";
import { budget } from "./show.ts";

const id = z.string().max(64).describe("Id of the run, such as run-…");

const stage = z.object({
  lane: z.int().describe("Index in `lanes`"),
  task: z.string().nullable().describe("Id of the task; null for agents without one"),
  number: z.string().nullable(),
  attempt: z.int().nullable(),
  epoch: z.int().nullable().describe("Tells attempts with the same number apart, after a rerun"),
  phase: z
    .enum(phases)
    .describe("preparing: checkout and dependencies; waiting: for a verifier; approval: for a person at the gate"),
  start_ms: z.number().describe("Since `started_at`"),
  end_ms: z.number().nullable().describe("Null while it lasts"),
  outcome: z.enum(["passed", "failed", "abandoned"]).nullable().describe("Of the attempt, at its last stage"),
});
type Stage = z.infer<typeof stage>;

export const runTimeline = operation({
  name: "run_timeline",
  summary: "Show when each attempt of a run was worked on, checked, verified and merged, by worker.",
  effect: "reads",
  reads: ["run", "task", "attempt"],
  callers: people,
  group: "runs",
  http: { method: "get", path: "/runs/{id}/timeline" },
  input: z.object({
    id,
    limit: z.int().min(1).max(10_000).default(5000).describe("Maximum number of attempts; the last ones are shown"),
  }),
  output: z.object({
    id: z.string(),
    started_at: z.string().describe("Time from which the milliseconds are counted"),
    now_ms: z.number().describe("End of the timeline: now, or when the run ended"),
    running: z.boolean(),
    lanes: z
      .array(z.object({ name: z.string(), kind: z.enum(["planner", "worker", "person"]) }))
      .describe("One per worker that was busy at the same time as others; a worker may work on many tasks in turn"),
    stages: z.array(stage).describe("In order of their start"),
    earlier: z.boolean().describe("True if the run has attempts before the first of these"),
  }),
  async run(app: CrewApp, { id, limit }) {
    const run = await app.runs.find(id);
    if (!run) return noSuch(app.db.read, "run", id);
    const rows = await timelineRows(app.db.read, id, limit + 1);
    const earlier = rows.attempts.length > limit;
    if (earlier) rows.attempts.shift();
    const blocks = [...plannerBlocks(rows), ...attemptBlocks(rows)];
    const origin = blocks.reduce((first, { start }) => Math.min(first, start), ms(run.startedAt ?? run.createdAt));
    const { lanes, placed } = lanesOf(blocks);
    const stages = placed
      .flatMap(({ lane, of }) =>
        of.spans.map(
          ({ phase, start, end }, at): Stage => ({
            ...{ lane, task: of.task, number: of.number, attempt: of.attempt, epoch: of.epoch, phase },
            start_ms: start - origin,
            end_ms: end === null ? null : end - origin,
            outcome: at === of.spans.length - 1 ? of.outcome : null,
          }),
        ),
      )
      .sort((a, b) => a.start_ms - b.start_ms || a.lane - b.lane);
    const running = run.state === "running" || run.state === "planning";
    const last = stages.reduce((most, { start_ms, end_ms }) => Math.max(most, end_ms ?? start_ms), 0);
    const isOpen = running || stages.some(({ end_ms }) => end_ms === null);
    return ok({
      id,
      started_at: new Date(origin).toISOString(),
      now_ms: isOpen ? Math.max(last, app.now().getTime() - origin) : last,
      running,
      lanes: lanes.map(({ group, n }) => laneName(group, n)),
      stages,
      earlier,
    });
  },
});

type Work = Pick<Stage, "task" | "number" | "attempt" | "epoch" | "outcome"> & { spans: Span[] };

const ms = (at: string) => Date.parse(at);
const msOrNull = (at: string | null | undefined) => (at ? Date.parse(at) : null);
const planner = "planner";
const keyOf = (task: string | null, epoch: number | null) => `${task} ${epoch}`;

/** The process of a worker or verifier; undefined for a person who took over. */
function processOf(agent: string): string | undefined {
  const parts = partsOfAgentName(agent);
  return parts?.part && parts.process;
}

function laneName(group: string, n: number): { name: string; kind: "planner" | "worker" | "person" } {
  if (group === planner) return { name: n === 0 ? "Planner" : `Planner ${n + 1}`, kind: "planner" };
  if (group.startsWith("process ")) {
    const host = group.slice("process ".length).split(":")[0];
    return { name: `Worker ${n + 1} on ${host}`, kind: "worker" };
  }
  return { name: group.slice("agent ".length), kind: "person" };
}

const groupOf = (agent: string) => {
  const process = processOf(agent);
  return process === undefined ? `agent ${agent}` : `process ${process}`;
};

const partPhases: Partial<Record<string, Span["phase"]>> = { brief: "planning", pm: "planning", reporter: "report" };

function plannerBlocks({ agents }: TimelineRows): Block<Work>[] {
  return agents.flatMap(({ task_id, part, started_at, ended_at }) => {
    const phase = partPhases[part];
    if (task_id !== null || phase === undefined) return [];
    const span = { phase, start: ms(started_at), end: msOrNull(ended_at) };
    const none = { task: null, number: null, attempt: null, epoch: null, outcome: null };
    return [{ group: planner, ...span, of: { ...none, spans: [span] } }];
  });
}

function attemptBlocks({ attempts, agents, gates, completed }: TimelineRows): Block<Work>[] {
  const epochs = new Map<string, number[]>();
  for (const { task_id, epoch } of attempts) epochs.set(task_id, [...(epochs.get(task_id) ?? []), epoch]);
  const started = new Map<string, number>();
  // The first agent counts: a second verifier, after a void verdict, continues the verification.
  for (const { task_id, epoch, part, started_at } of agents) {
    if (task_id === null || epoch === null) continue;
    const key = `${part} ${keyOf(task_id, attemptEpoch(epochs.get(task_id) ?? [], epoch) ?? null)}`;
    if (!started.has(key)) started.set(key, ms(started_at));
  }
  const gateOf = new Map(gates.map((gate) => [keyOf(gate.task_id, gate.epoch), gate]));
  const last = new Map(attempts.map(({ task_id, epoch }) => [task_id, epoch]));
  return attempts.flatMap((row): Block<Work>[] => {
    const { task_id: task, epoch, number, attempt, phase, worker, verifier } = row;
    const gate = gateOf.get(keyOf(task, epoch));
    const begun = ms(row.started_at);
    const within = (part: string, from: number | null) => {
      const at = started.get(`${part} ${keyOf(task, epoch)}`);
      return at === undefined || from === null || at < from ? null : at;
    };
    const qcStarted = msOrNull(row.qc_started_at);
    const times: AttemptTimes = {
      started: begun,
      agent: within("worker", begun),
      workerEnded: msOrNull(row.worker_ended_at),
      qcStarted,
      verifier: within("qc", qcStarted),
      ended: msOrNull(row.ended_at),
      gate: gate ? { held: ms(gate.held_at), decided: msOrNull(gate.decided_at) } : null,
      completed: last.get(task) === epoch ? msOrNull(completed.get(task)) : null,
      isPassed: phase === "qc_passed",
    };
    const { work, verify } = spansOf(times);
    const of = { task, number, attempt, epoch };
    const outcome = outcomes[phase] ?? null;
    return [
      blockOf(groupOf(worker), { ...of, outcome: verify.length > 0 ? null : outcome, spans: work }),
      ...(verify.length > 0 ? [blockOf(groupOf(verifier ?? worker), { ...of, outcome, spans: verify })] : []),
    ];
  });
}

const outcomes: Partial<Record<TimelineRows["attempts"][number]["phase"], Stage["outcome"]>> = {
  qc_passed: "passed",
  qc_failed: "failed",
  abandoned: "abandoned",
};

/** The time for which a worker is busy with it: while it waits, its worker does something else. */
function blockOf(group: string, of: Work): Block<Work> {
  const busy = of.spans.filter(({ phase }) => !isIdle(phase));
  return { group, start: busy[0]?.start ?? 0, end: busy.at(-1)?.end ?? null, of };
}

const mostSteps = 120;

export const runBurn = operation({
  name: "run_burn",
  summary: "Show how the tokens and the cost of a run grew, by part and model, and what is left of its budget.",
  effect: "reads",
  reads: ["run", "attempt"],
  callers: people,
  group: "runs",
  http: { method: "get", path: "/runs/{id}/burn" },
  input: z.object({ id }),
  output: z.object({
    id: z.string(),
    started_at: z.string(),
    step_ms: z.number().describe("Time between two amounts of a series"),
    series: z.array(
      z.object({
        part: z.string(),
        model: z.string().nullable().describe("Null is the default model of its runner"),
        runner: z.string(),
        tokens: z.array(z.number()).describe("Tokens used until the end of each step, by agents that had ended"),
        usd: z.array(z.number()).describe("The same in US dollars; 0 where no price is known"),
      }),
    ),
    budget,
    spent: z.object({ tokens: z.number(), usd: z.number() }).describe("With what running agents have reserved"),
    left: budget.describe("Null is without limit"),
  }),
  async run(app: CrewApp, { id }) {
    const run = await app.runs.find(id);
    if (!run) return noSuch(app.db.read, "run", id);
    const [used, reserved] = await Promise.all([usageOverTime(app.db.read, id), spentOn(app.db.read, { run: id })]);
    const from = used[0] ? ms(used[0].started_at) : ms(run.createdAt);
    const to = used.reduce((most, { started_at, ended_at }) => Math.max(most, ms(ended_at ?? started_at)), from);
    const step = Math.max(1, Math.ceil((to - from) / mostSteps));
    const steps = Math.floor((to - from) / step) + 1;
    const series = new Map<
      string,
      { part: string; model: string | null; runner: string; tokens: number[]; usd: number[] }
    >();
    for (const { part, model, runner, ended_at, input_tokens, output_tokens, cost_usd } of used) {
      const key = JSON.stringify([part, model, runner]);
      const one = series.get(key) ?? { part, model, runner, tokens: zeros(steps), usd: zeros(steps) };
      series.set(key, one);
      if (ended_at === null) continue;
      const at = Math.floor((ms(ended_at) - from) / step);
      one.tokens[at] = (one.tokens[at] ?? 0) + Number(input_tokens ?? 0) + Number(output_tokens ?? 0);
      one.usd[at] = (one.usd[at] ?? 0) + Number(cost_usd ?? 0);
    }
    const counted = [...series.values()].map((one) => ({ ...one, tokens: summed(one.tokens), usd: summed(one.usd) }));
    const total = (of: "tokens" | "usd") => counted.reduce((sum, one) => sum + (one[of].at(-1) ?? 0), 0);
    const limit = currentBudget(run, app.config.crew.budget);
    const spent = {
      tokens: Math.max(reserved.tokens, total("tokens")),
      usd: Math.max(reserved.usd, total("usd")),
    };
    const left = (of: "tokens" | "usd") => (limit[of] === null ? null : Math.max(0, limit[of] - spent[of]));
    return ok({
      id,
      started_at: new Date(from).toISOString(),
      step_ms: step,
      series: counted,
      budget: { tokens: limit.tokens, usd: limit.usd },
      spent,
      left: { tokens: left("tokens"), usd: left("usd") },
    });
  },
});

const zeros = (count: number): number[] => Array.from({ length: count }, () => 0);

function summed(amounts: number[]): number[] {
  let sum = 0;
  return amounts.map((amount) => (sum += amount));
}
