import * as z from "zod";
import { suggest } from "../kernel/nearest.ts";
import { collaborators, operation, people } from "../kernel/operation.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import { appendEvent } from "../store/events.ts";
import { endedFocus, findFocus, listFocus, lockFocus, readsOf, saveFocus } from "../store/queries/focus.ts";
import { handoffsOf } from "../store/queries/handoffs.ts";
import type { FocusRow } from "../store/tables.ts";
import type { Guard } from "./entry.ts";
import { handoffLog } from "./focus.ts";
import { asLogText } from "./log.ts";
import { roleName } from "./schema.ts";
import type { WikiApp } from "./wiki-app.ts";

const handoff = z.object({
  step: z.int(),
  from: z.string(),
  requested: z.string(),
  to: z.string().nullable(),
  summary: z.string(),
  created_at: z.string(),
});

const shownHandoffs = 5;

export const listFocusRuns = operation({
  name: "list_focus",
  summary: "List the runs along the pipeline: which role holds the focus, since when, at which step, and its reads.",
  effect: "reads",
  reads: ["run", "entry"],
  callers: people,
  group: "runs",
  http: { method: "get", path: "/focus" },
  input: z.object({
    run: z.string().max(128).optional().describe("Only this run"),
    limit: z.int().min(1).max(200).default(20).describe("Maximum number of runs, those that have not ended first"),
  }),
  output: z.object({
    pipeline: z.array(z.string()),
    runs: z.array(
      z.object({
        run: z.string(),
        holder: z.string().nullable().describe("null when the run has ended"),
        since: z.string(),
        begun: z.boolean().describe("false while the holder has not read or written anything"),
        step: z.int(),
        max_steps: z.int(),
        epoch: z.int(),
        reads: z.int(),
        read_cap: z.int(),
        ended: z.string().nullable(),
        handoffs: z.array(handoff).describe("The last handoffs, newest first"),
      }),
    ),
  }),
  async run(app: WikiApp, { run, limit }) {
    const schema = await app.schema();
    if (!schema.ok) return schema;
    const { pipeline, maxSteps, readCap } = schema.value;
    const rows = await listFocus(app.db.read, run, limit);
    if (run !== undefined && rows.length === 0) return refuse("not_found", `no run ${run} along the pipeline`);
    const handoffs = await handoffsOf(
      app.db.read,
      rows.map((row) => row.run),
    );
    const runs = await Promise.all(
      rows.map(async (row) => ({
        run: row.run,
        holder: row.holder,
        since: row.since,
        begun: row.begun_at !== null,
        step: row.step,
        max_steps: maxSteps,
        epoch: row.epoch,
        reads: (await readsOf(app.db.read, row.run, row.epoch)).length,
        read_cap: readCap,
        ended: row.ended,
        handoffs: handoffs
          .filter((one) => one.run === row.run)
          .slice(0, shownHandoffs)
          .map(({ step, from_role, requested, to_role, summary, at }) => {
            return { step, from: from_role, requested, to: to_role, summary, created_at: at };
          }),
      })),
    );
    return ok({ pipeline, runs });
  },
});

export const moveFocus = operation({
  name: "move_focus",
  summary: "Give the focus of a run along the pipeline to another role, or end the run.",
  effect: "writes",
  touches: ["run", "entry"],
  callers: collaborators,
  group: "runs",
  decision: true,
  http: { method: "post", path: "/focus/{run}" },
  input: z.object({
    run: z.string().max(128).describe("The run"),
    to: roleName.optional().describe("The role that gets the focus; without it, the run ends"),
    reason: z.string().trim().max(500).default("").describe("Why; people read it in the handoffs log"),
  }),
  output: z.object({ run: z.string(), holder: z.string().nullable(), epoch: z.int() }),
  async run(app: WikiApp, { run, to, reason }, caller) {
    const schema = await app.schema();
    if (!schema.ok) return schema;
    const { pipeline } = schema.value;
    if (to !== undefined && !pipeline.includes(to))
      return refuse("invalid", `role ${to} is not in the pipeline; ${suggest(to, pipeline)}`);
    const found = await findFocus(app.db.read, run);
    if (!found) return refuse("not_found", `no run ${run} along the pipeline`);
    if (found.holder === to) return refuse("conflict", `${to} holds the focus of run ${run} already`);
    const name = caller.kind === "person" ? caller.name : caller.role;
    const at = app.now().toISOString();
    let saved: FocusRow = found;
    const move: Guard = async (tx): Promise<Result<unknown>> => {
      const row = await lockFocus(tx, app.db.engine, found);
      if (row.holder === null) return refuse("conflict", `run ${run} has ended: ${row.ended}`);
      if (row.epoch !== found.epoch)
        return refuse("conflict", `the focus of run ${run} changed meanwhile: ${row.holder} holds it`);
      const passed = { holder: to ?? null, epoch: row.epoch + 1, since: at, begun_at: null, active_at: at };
      saved = { ...row, ...(to === undefined ? endedFocus(`ended by ${name}`, row, at) : passed) };
      await saveFocus(tx, saved);
      const data = { run, from: row.holder, to: to ?? null, reason };
      const kind = to === undefined ? "run-ended" : "run-focus-moved";
      await appendEvent(tx, { at, actor: name, kind, subject: `run:${run}`, data });
      return ok(true);
    };
    const log = handoffLog(schema.value);
    const because = reason === "" ? "" : `: ${asLogText(reason, 500)}`;
    const what =
      to === undefined
        ? `ended the run; ${found.holder} held the focus`
        : `moved the focus from ${found.holder} to ${to}`;
    const by = { name, run, ...(caller.kind === "person" && caller.email ? { email: caller.email } : {}) };
    const done = log ? await app.entries.append(log.id, `${what}${because}`, by, move) : await app.db.write(move);
    return done.ok ? ok({ run, holder: saved.holder, epoch: saved.epoch }) : done;
  },
});
