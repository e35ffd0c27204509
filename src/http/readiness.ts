import { setTimeout as sleep } from "node:timers/promises";
import type { Context } from "hono";
import type { App } from "../app.ts";
import { version } from "../kernel/version.ts";
import type { Health } from "../store/database.ts";

const patienceMs = 2000;
/** Anybody may ask, as often as they like. */
const reusedMs = 500;

/**
 * `/readyz`: whether requests can be answered now, for load balancers. Without a token, so it says that the database
 * does not answer, and not which one. `/healthz` says only that the process is alive: a restart would not help.
 */
export function readiness({ db, config }: Pick<App, "db" | "config">) {
  let asked: { at: number; health: Promise<Health | undefined> } | undefined;

  function health(): Promise<Health | undefined> {
    if (asked && performance.now() - asked.at < reusedMs) return asked.health;
    const answer = db.health().catch(() => undefined);
    const inTime = Promise.race([answer, sleep(patienceMs, undefined, { ref: false })]);
    asked = { at: performance.now(), health: inTime };
    return inTime;
  }

  return async (c: Context) => {
    const notReady = (reason: string) =>
      c.json({ status: "not_ready", reason }, { status: 503, headers: { "retry-after": "2" } });
    if (db.trouble() !== undefined) return notReady("the database was deleted or replaced; restart the server");
    const found = await health();
    if (!found) return notReady("the database does not answer");
    const { restart, invalid } = config.unused();
    const state = { restart_needed: restart, config: invalid ? "invalid" : "valid" };
    // It still serves: migrations only add what the previous version does not need.
    if (found.newer !== undefined)
      return c.json({
        status: "upgrade_needed",
        reason: `a newer version of Scriptorium has migrated the database; this is ${version}`,
        ...state,
      });
    return c.json({ status: restart.length > 0 ? "restart_needed" : "ready", ...state });
  };
}
