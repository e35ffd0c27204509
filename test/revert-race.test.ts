import { sql } from "kysely";
import { expect, test } from "vitest";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { agent, newWorkspace, person } from "./support/workspace.ts";

/** Keeps the locks of a statement for a while, so that two transactions that take them in opposite order must meet. */
const slowly = (table: string) =>
  sql.raw(
    `CREATE FUNCTION slow_${table}() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.3); RETURN NULL; END';
     CREATE TRIGGER slow AFTER UPDATE ON ${table} EXECUTE FUNCTION slow_${table}()`,
  );

test("N3: a handoff and a revert of the same run at once do not deadlock, and the run is left as one of them leaves it", async () => {
  const { app, open } = await newWorkspace({ store: "database", engine: "postgres" });
  const other = await open();
  unwrap(await app.knowledge(agent("planner", "r-1")).transferFocus("architect", "read design"));
  for (const table of ["handoffs", "focus"]) await slowly(table).execute(app.db.read);
  const deadlocks = async () => {
    await sql`SELECT pg_stat_clear_snapshot()`.execute(app.db.read);
    const { rows } = await sql<{
      deadlocks: string;
    }>`SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`.execute(app.db.read);
    return Number(rows[0]?.deadlocks);
  };
  const [handed, reverted] = await Promise.all([
    app.knowledge(agent("architect", "r-1")).transferFocus("engineer", "build it"),
    operations.revert_run.perform(other, { run: "r-1", confirm: true }, person()),
  ]);
  unwrap(reverted);
  const focus = await app.db.read.selectFrom("focus").selectAll().where("run", "=", "r-1").executeTakeFirstOrThrow();
  // The statistics of a connection are reported when it is idle.
  await new Promise((done) => setTimeout(done, 1500));
  expect(await deadlocks()).toBe(0);
  if (handed.ok) expect(focus).toMatchObject({ step: 2 });
  else expect(focus).toMatchObject({ ended: "reverted", step: 1 });
  const waiting = await app.db.read.selectFrom("handoffs").selectAll().where("taken_at", "is", null).execute();
  expect(waiting.length === 0).toBe(focus.holder === null);
});
