import * as z from "zod";
import { collaborators, operation, people } from "../kernel/operation.ts";
import { ok, refuse } from "../kernel/result.ts";
import { snakeKeys } from "../kernel/wire.ts";
import { appendEvent } from "../store/events.ts";
import { noSuch } from "../store/no-such.ts";
import { closeRun, lockRun } from "../store/queries/runs.ts";
import { actorOf } from "./operations.ts";
import type { CrewApp } from "./record/crew-app.ts";
import { answer } from "./record/questions.ts";
import { metricsOf } from "./report/metrics.ts";
import { reportOf } from "./report/report.ts";
import { runDetails, runLine } from "./report/show.ts";

const runId = z.string().max(64).describe("Id of the run, such as run-…");

export const listRuns = operation({
  name: "list_runs",
  summary: "List runs, newest first.",
  effect: "reads",
  reads: ["run", "task"],
  callers: people,
  group: "runs",
  http: { method: "get", path: "/runs" },
  input: z.object({
    limit: z.int().min(1).max(200).default(20).describe("Maximum number of runs"),
    after: z.string().max(64).optional().describe("Id of the last run of the previous answer, for the next page"),
  }),
  output: z.object({ runs: z.array(runLine) }),
  async run(app: CrewApp, { limit, after }) {
    const runs = await app.runs.list(limit, after);
    return ok({
      runs: runs.map(({ id, state, title, createdAt, createdBy, endedAt }) =>
        snakeKeys({ id, state, title, createdAt, createdBy, endedAt }),
      ),
    });
  },
});

export const showRun = operation({
  name: "show_run",
  summary: "Show a run: tasks with attempts and scores, usage and open questions.",
  effect: "reads",
  reads: ["run", "task", "attempt", "question"],
  callers: people,
  group: "runs",
  http: { method: "get", path: "/runs/{id}" },
  input: z.object({ id: runId }),
  output: runDetails.schema,
  run: (app: CrewApp, { id }) => runDetails.of(app, id),
});

export const runReport = operation({
  name: "run_report",
  summary: "Read the report of a run: results, failures and figures.",
  effect: "reads",
  reads: ["run", "task", "attempt", "question"],
  callers: people,
  group: "runs",
  http: { method: "get", path: "/runs/{id}/report" },
  input: z.object({ id: runId }),
  output: z.object({ id: z.string(), file: z.string(), content: z.string() }),
  async run(app: CrewApp, { id }) {
    const report = await reportOf(app, id);
    return report.ok ? ok({ id, file: app.runs.reportPath(id), content: report.value }) : report;
  },
});

export const metrics = operation({
  name: "metrics",
  summary: "Show the ten metrics of one run or of all runs.",
  effect: "reads",
  reads: ["run", "task", "attempt", "question"],
  callers: people,
  group: "runs",
  http: { method: "get", path: "/metrics" },
  input: z.object({ run: runId.optional() }),
  output: metricsOf.schema,
  run: (app: CrewApp, { run }) => metricsOf.of(app, run),
});

export const answerQuestion = operation({
  name: "answer_question",
  summary: "Answer a question of an agent; the next attempt at its task gets the answer.",
  effect: "writes",
  touches: ["question"],
  callers: collaborators,
  group: "runs",
  http: { method: "post", path: "/questions/{id}" },
  input: z.object({
    id: z.string().max(64).describe("Id of the question, as in show_run"),
    answer: z.string().trim().min(1, "expected some text").max(20_000).describe("The answer"),
  }),
  output: z.object({ id: z.string(), task: z.string() }),
  run: (app: CrewApp, input, caller) => answer(app, input, actorOf(caller)),
});

export const pauseRun = operation({
  name: "pause_run",
  summary: "Pause a run in every process: agents end their stage and nothing new starts until it is resumed.",
  effect: "writes",
  touches: ["run", "task"],
  callers: collaborators,
  group: "runs",
  http: { method: "post", path: "/runs/{id}/pause" },
  input: z.object({
    id: runId,
    reason: z.string().trim().min(1).max(1000).optional().describe("Why it is paused"),
    now: z
      .boolean()
      .default(false)
      .describe("Also stop the agents: their tasks are released as they were, and no attempt is used"),
  }),
  output: z.object({
    id: z.string(),
    state: z.string(),
    reason: z.string().nullable(),
    in_progress: z.int().describe("Number of agents that end their stage"),
    released: z.array(z.string()).describe("Tasks that were taken from their agents"),
  }),
  async run(app: CrewApp, { id, reason, now }, caller) {
    const paused = await app.runs.pause(id, { reason, now }, actorOf(caller));
    if (!paused.ok) return paused;
    const { run, released, inProgress } = paused.value;
    return ok({ id, state: run.state, reason: run.reason, in_progress: inProgress, released });
  },
});

export const cancelRun = operation({
  name: "cancel_run",
  summary: "Cancel a run and stop its agents.",
  effect: "destroys",
  touches: ["run", "task"],
  callers: collaborators,
  group: "runs",
  http: { method: "post", path: "/runs/{id}/cancel" },
  input: z.object({
    id: runId,
    reason: z.string().trim().min(1).max(1000).default("cancelled").describe("The reason"),
  }),
  output: z.object({ id: z.string(), state: z.string(), cancelled: z.int().describe("Number of cancelled tasks") }),
  async run(app: CrewApp, { id, reason }, caller) {
    const given = await app.runs.cancel(id, reason, actorOf(caller));
    return given.ok ? ok({ id, state: given.value.run.state, cancelled: given.value.tasks }) : given;
  },
});

export const closeFailedRun = operation({
  name: "close_run",
  summary: "Remove a failed run from the inbox. Its record stays, and it can still be retried.",
  effect: "writes",
  touches: ["run"],
  callers: collaborators,
  group: "runs",
  http: { method: "post", path: "/runs/{id}/close" },
  input: z.object({ id: runId }),
  output: z.object({ id: z.string() }),
  run: (app: CrewApp, { id }, caller) =>
    app.db.write(async (tx) => {
      const run = await lockRun(tx, app.db.engine, id);
      if (!run) return noSuch(tx, "run", id);
      if (run.state !== "failed") return refuse("conflict", `run ${id} is ${run.state}; only a failed run is closed`);
      if (!(await closeRun(tx, run))) return refuse("conflict", `run ${id} is closed already`);
      const at = app.now().toISOString();
      await appendEvent(tx, { at, actor: actorOf(caller), kind: "run-closed", subject: `run:${id}`, data: {} });
      return ok({ id });
    }),
});
