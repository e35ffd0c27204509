import { isDeepStrictEqual } from "node:util";
import type { CrewApp } from "../../crew/record/crew-app.ts";
import { storeClock } from "../../store/clock.ts";
import { contradictoryAttempts } from "../../store/queries/attempts.ts";
import { newestEventTime, taskEvents } from "../../store/queries/event-log.ts";
import { damagedRows, databaseReport, databaseVersion } from "../../store/queries/health.ts";
import { replayTasks } from "../../tasks/replay.ts";
import { type Finding, findingsOf } from "../finding.ts";

export async function checkDatabase({ db }: CrewApp): Promise<Finding> {
  const { ok, problem } = findingsOf("wiki", "database");
  const version = await databaseVersion[db.engine](db.read);
  const damage = await databaseReport[db.engine](db.read);
  if (damage === undefined) return ok(`${version}, no damage found`);
  const fix = "stop Scriptorium, then: mv .scriptorium/scriptorium.db .scriptorium/damaged.db && scriptorium doctor";
  return problem(`${version} reports: ${damage}`, fix);
}

export async function checkRows({ db }: CrewApp): Promise<Finding> {
  const { ok, problem } = findingsOf("wiki", "rows");
  const damaged = await damagedRows(db.read);
  if (damaged.length === 0) return ok("all rows are readable");
  return problem(`unreadable: ${damaged.slice(0, 5).join(", ")}`, "restore a backup of the database");
}

const toleratedMs = 5000;

/** Leases use the database's clock, dates this machine's. On SQLite, leases end by a clock that nobody sets. */
export async function checkClock({ db, now }: CrewApp): Promise<Finding> {
  const { ok, warning } = findingsOf("wiki", "clock");
  const ahead = now().getTime() - (await storeClock(db.read, db.engine));
  if (Math.abs(ahead) > toleratedMs) {
    if (db.engine === "sqlite")
      return warning(
        `the time of day was set while tasks were claimed; leases are not affected`,
        "timedatectl set-ntp true",
      );
    const by = `${Math.round(Math.abs(ahead) / 1000)} s ${ahead > 0 ? "ahead of" : "behind"}`;
    return warning(`this machine's clock is ${by} the database's`, "timedatectl set-ntp true");
  }
  const newest = await newestEventTime(db.read);
  if (newest !== undefined && Date.parse(newest) > now().getTime() + toleratedMs) {
    return warning(`the newest event is from ${newest}, after this machine's time`, "timedatectl set-ntp true");
  }
  return ok("this machine and the database agree");
}

/** Replaying the event log must yield the rows of all tasks. */
export async function checkTasks(app: CrewApp): Promise<Finding> {
  const { ok, problem } = findingsOf("crew", "tasks");
  try {
    const replayed = replayTasks(await taskEvents(app.db.read));
    const rows = await app.tasks.list({ limit: Number.MAX_SAFE_INTEGER });
    const differing = rows.filter(({ num: _, claimedAt: __, leaseUntil: ___, secretHash: ____, ...task }) => {
      return !isDeepStrictEqual(replayed.get(task.id), task);
    });
    if (differing.length === 0)
      return ok(rows.length === 1 ? "1 task matches its events" : `${rows.length} tasks match their events`);
    const ids = differing.slice(0, 5).map((task) => task.id);
    return problem(`tasks that do not match their events: ${ids.join(", ")}`, "restore a backup of the database");
  } catch (error) {
    return problem((error as Error).message);
  }
}

/** `tasks` and `attempts` both say how far a task is; see `crew/record/attempts.ts`. */
export async function checkAttempts({ db }: CrewApp): Promise<Finding> {
  const { ok, problem } = findingsOf("crew", "attempts");
  const found = await contradictoryAttempts(db.read);
  if (found.length === 0) return ok("attempts agree with their tasks");
  const named = found.slice(0, 5).map(({ task, state, phase }) => `${task} is ${state}, its attempt ${phase}`);
  return problem(`attempts disagree with their tasks: ${named.join("; ")}`, "restore a backup of the database");
}
