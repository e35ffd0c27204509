import { processName, processState } from "../../kernel/process-name.ts";
import { storeClock } from "../../store/clock.ts";
import type { RunRow } from "../../store/crew-tables.ts";
import type { Database, Query } from "../../store/database.ts";
import { appendEvent } from "../../store/events.ts";
import { type Carried, carriedRuns, renewCarrier, takeCarrier } from "../../store/queries/crew-queue.ts";
import { lastEvent } from "../../store/queries/event-log.ts";
import type { CrewApp } from "./crew-app.ts";

/**
 * A run that is executed belongs to one process at a time, its carrier, under a lease. The carrier answers questions,
 * and finishes the run; tasks have claims of their own, so that any process may work on them. When the lease has
 * expired, because the carrier was killed, cut off or handed the run over, another process takes the run over.
 */
export type CarrierKind = "server" | "worker" | "command" | "shared";

/** How often a process looks for runs that no process executes. */
export const takeOverMs = 3000;

/** `shared`: no single process executes the run. */
export const carrierOf = (kind: CarrierKind) => `${processName()}/${kind}`;

export const isShared = (carrier: string) => carrier.endsWith("/shared");

export async function leaseEnd(
  { db, config }: Pick<CrewApp, "db" | "config">,
  query: Query = db.read,
): Promise<number> {
  return (await storeClock(query, db.engine)) + config.claims.leaseMs;
}

/** Renews the lease of a run while this process executes it. `signal` aborts when another process has the run. */
export function keepCarrying(app: CrewApp, run: string, carrier: string) {
  const lost = new AbortController();
  const renew = async () => {
    try {
      const isOurs = await app.db.write(async (tx) => renewCarrier(tx, run, carrier, await leaseEnd(app, tx)));
      if (!isOurs && (await stateAndCarrier(app, run, carrier))) lost.abort();
    } catch (error) {
      // The database may answer again before the lease runs out.
      app.log.warn({ run, error: String(error) }, "run-lease-not-renewed");
    }
  };
  const heart = setInterval(() => void renew(), app.config.claims.leaseMs / 3);
  return {
    lost: lost.signal,
    end: () => clearInterval(heart),
    /** Lets the next process take the run over at once. */
    handOver: () => app.db.write((tx) => renewCarrier(tx, run, carrier, 0)),
  };
}

/** True if another process carries the running run. */
async function stateAndCarrier({ db }: CrewApp, run: string, carrier: string): Promise<boolean> {
  const now = (await carriedRuns(db.read)).find((one) => one.run === run);
  return now !== undefined && now.carrier !== carrier;
}

/** True if nobody executes the run: its lease has expired, or its process is gone from this machine. */
const isAbandoned = ({ carrier, until }: Pick<Carried, "carrier" | "until">, now: number) =>
  !isShared(carrier) && ((until !== null && until < now) || processState(carrier) === "gone");

/** The running runs that another process may take over. */
export async function abandonedRuns(db: Pick<Database, "read" | "engine">): Promise<Carried[]> {
  const carried = await carriedRuns(db.read);
  if (carried.length === 0) return [];
  const now = await storeClock(db.read, db.engine);
  return carried.filter((one) => isAbandoned(one, now));
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

/** Says why a run that should be running is not. */
export const whyStalled =
  (now: number) =>
  ({ id, state, carried_by: carrier, carrier_until }: RunRow): string | undefined => {
    if (state !== "running" || carrier === null) return undefined;
    const until = carrier_until === null ? null : Number(carrier_until);
    if (!isAbandoned({ carrier, until }, now)) return undefined;
    const [, kind = "process"] = /\/(\w+)$/.exec(carrier) ?? [];
    const ended =
      until === 0
        ? "the last one handed it over"
        : `the last one, a ${kind} on ${carrier.split(":")[0]}, is gone or was cut off`;
    return `no process executes it: ${ended}. The next scriptorium serve or work goes on; or here: scriptorium run resume ${id}`;
  };
