import { processName, processState } from "../../kernel/process-name.ts";
import { type Result, refuse } from "../../kernel/result.ts";
import { storeClock } from "../../store/clock.ts";
import type { RunRow } from "../../store/crew-tables.ts";
import type { Database, Query } from "../../store/database.ts";
import { appendEvent } from "../../store/events.ts";
import {
  type Carried,
  carriedRuns,
  renewCarrier,
  renewShared,
  startLeases,
  takeCarrier,
} from "../../store/queries/crew-queue.ts";
import { lastEvent } from "../../store/queries/event-log.ts";
import { findRun, lockRun } from "../../store/queries/runs.ts";
import type { Run, RunStep } from "../rules/run.ts";
import type { CrewApp } from "./crew-app.ts";
import { hostOf, isOurs, refuseElsewhere } from "./elsewhere.ts";

/**
 * A run that is planned or executed, and a change of its plan that is drafted, belong to one process at a time, the
 * carrier, under a lease. The carrier of an executed run answers questions, and finishes the run; tasks have claims of
 * their own, so that any process may work on them. When the lease has expired, because the carrier was killed, cut off
 * or handed the run over, another process takes the run over.
 */
export type CarrierKind = "server" | "worker" | "command" | "shared" | "planner" | "researcher";

/** How often a process looks for runs that no process carries. */
export const takeOverMs = 3000;

/** `shared`: no single process executes the run, and each that works on it renews the lease. */
export const carrierOf = (kind: CarrierKind) => `${processName()}/${kind}`;

export const isShared = (carrier: string) => carrier.endsWith("/shared");

/** A program of the library had something researched, and nobody else knows what it does next. */
const isResearcher = (carrier: string) => carrier.endsWith("/researcher");

export async function leaseEnd(
  { db, config }: Pick<CrewApp, "db" | "config">,
  query: Query = db.read,
): Promise<number> {
  return (await storeClock(query, db.engine)) + config.claims.leaseMs;
}

/** What a process carries. */
export type Burden = {
  about: { run: string } | { change: string };
  /** False if this process has it no longer. */
  renew(tx: Query, until: number): Promise<boolean>;
  isElsewhere(query: Query): Promise<boolean>;
};

export const carriedRun = (run: string, state: Carried["state"], carrier: string): Burden => ({
  about: { run },
  renew: (tx, until) => renewCarrier(tx, { run, state, carrier }, until),
  async isElsewhere(query) {
    const now = await findRun(query, run);
    return now?.state === state && now.carried_by !== carrier;
  },
});

/** A running run that no single process executes; or all of them. */
export const sharedRuns = (run: string | undefined): Burden => ({
  about: { run: run ?? "" },
  async renew(tx, until) {
    await renewShared(tx, run, until);
    return true;
  },
  isElsewhere: async () => false,
});

/** Renews a lease while this process carries its burden. `lost` aborts when another process has it. */
export function keepCarrying(app: CrewApp, { about, renew, isElsewhere }: Burden) {
  const lost = new AbortController();
  const beat = async () => {
    try {
      const isRenewed = await app.db.write(async (tx) => renew(tx, await leaseEnd(app, tx)));
      if (!isRenewed && (await isElsewhere(app.db.read))) lost.abort();
    } catch (error) {
      // The database may answer again before the lease runs out.
      app.log.warn({ ...about, error: String(error) }, "lease-not-renewed");
    }
  };
  const heart = setInterval(() => void beat(), app.config.claims.leaseMs / 3);
  return {
    lost: lost.signal,
    end: () => clearInterval(heart),
    /** Lets the next process take over at once. */
    handOver: () => app.db.write((tx) => renew(tx, 0)),
  };
}

type Lease = { carrier: string; until: number | null };

/** True if nobody carries it: its lease has expired, or its process is gone from this machine. */
export const isAbandoned = ({ carrier, until }: Lease, now: number) =>
  (until !== null && until < now) || (!isShared(carrier) && processState(carrier) === "gone");

/**
 * Earlier versions recorded no lease. Their process may be alive on another machine, so that it keeps for an hour what
 * it carries.
 */
const unrecordedMs = 60 * 60_000;

export async function recordLeases({ db }: Pick<CrewApp, "db">): Promise<void> {
  await db.write(async (tx) => startLeases(tx, (await storeClock(tx, db.engine)) + unrecordedMs));
}

/** The runs that another process may execute or plan. */
export async function abandonedRuns(db: Database, state: Carried["state"]): Promise<Carried[]> {
  const carried = (await carriedRuns(db.read)).filter((one) => one.state === state);
  if (carried.length === 0) return [];
  if (carried.some(({ until }) => until === null)) await recordLeases({ db });
  const now = await storeClock(db.read, db.engine);
  return carried.filter((one) => isAbandoned(one, now) && !isResearcher(one.carrier));
}

/** False if another process was faster. */
export const takeOver = (app: CrewApp, read: Carried, carrier: string): Promise<boolean> =>
  app.db.write(async (tx) => {
    if (!(await takeCarrier(tx, read, carrier, await leaseEnd(app, tx)))) return false;
    await appendEvent(tx, {
      ...{ at: app.now().toISOString(), actor: carrier, kind: "run-taken-over", subject: `run:${read.run}` },
      data: { from: read.carrier, carried_by: carrier },
    });
    return true;
  });

/** Lets this process plan a run; refused while a planner works on it, here or elsewhere. */
export async function beginPlanning(
  app: CrewApp,
  id: string,
  by: string,
  isPlannedHere: () => boolean,
): Promise<Result<Run>> {
  const { db } = app;
  await recordLeases(app);
  return db.write(async (tx): Promise<Result<Run>> => {
    const row = await lockRun(tx, db.engine, id);
    if (row?.state === "planning" && row.carried_by) {
      const { carried_by: carrier, carrier_until } = row;
      const until = carrier_until === null ? null : Number(carrier_until);
      const isPlanned = isOurs(carrier)
        ? isPlannedHere()
        : !isAbandoned({ carrier, until }, await storeClock(tx, db.engine));
      if (isPlanned)
        return refuse("conflict", `run ${id} is being planned; wait for its plan: scriptorium run show ${id}`);
    }
    const also = { carried_by: carrierOf("planner"), carrier_until: await leaseEnd(app, tx) };
    return app.runs.stepWithin(tx, id, { type: "reopen" }, by, also);
  });
}

/** A step of a run that this process carries; refused if another has it. */
export const stepAsCarrier = (app: CrewApp, run: string, carrier: string, wanted: RunStep, by: string) =>
  app.db.write(async (tx): Promise<Result<Run>> => {
    const row = await findRun(tx, run);
    if (row && row.carried_by !== carrier)
      return refuseElsewhere(run, row.carried_by) ?? refuse("conflict", `run ${run} is not carried by this process`);
    return app.runs.stepWithin(tx, run, wanted, by, {});
  });

/** Records once that a server cannot take a run over. */
export async function noteStalled({ db, now }: CrewApp, run: string, reason: string): Promise<void> {
  const subject = `run:${run}`;
  await db.write(async (tx) => {
    const last = await lastEvent(tx, subject, ["run-stall", "run-start", "run-taken-over"]);
    if (last?.kind === "run-stall" && last.data.reason === reason) return;
    const at = now().toISOString();
    await appendEvent(tx, { at, actor: "scriptorium", kind: "run-stall", subject, data: { reason } });
  });
}

/** Says why a run that should be running or planned is not. */
export const whyStalled =
  (now: number) =>
  ({ id, state, reason, carried_by: carrier, carrier_until }: RunRow): string | undefined => {
    if ((state !== "running" && state !== "planning") || carrier === null || carrier === "") return undefined;
    const until = carrier_until === null ? null : Number(carrier_until);
    if (!isAbandoned({ carrier, until }, now)) return undefined;
    const [, kind = "process"] = /\/(\w+)$/.exec(carrier) ?? [];
    const last = isShared(carrier) ? "the last that worked on it" : `the last one, a ${kind} on ${hostOf(carrier)},`;
    const ended = until === 0 ? "the last one handed it over" : `${last} is gone or was cut off`;
    if (state === "running")
      return `no process executes it: ${ended}. The next scriptorium serve or work goes on; or here: scriptorium run resume ${id}`;
    const here = `scriptorium plan --resume ${id}`;
    if (isResearcher(carrier)) return `no process researches it: ${ended}. To plan it without findings: ${here}`;
    const cannot = reason === null ? "" : `. A server could not plan it: ${reason}`;
    return `no process plans it: ${ended}${cannot}. The next scriptorium serve goes on; or here: ${here}`;
  };
