import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import type { PlanTask } from "../src/crew/rules/plan.ts";
import { serveProcess } from "./support/commands.ts";
import { planned } from "./support/crew.ts";
import { emptyHost, gate, inboxOf, key, planOf, repositoryHost, rows, shown, until, watch } from "./support/hosts.ts";
import { startPostgres } from "./support/postgres.ts";
import { ask } from "./support/requests.ts";

/** Longer than `retry_timeout` (5 s), shorter than the lease. */
const outageMs = 9000;

const tasks: PlanTask[] = [planned("0"), planned("1.1"), planned("1.2", { depends_on: ["1.1"] })];

/** The database is lost while the worker of 1.1 works, and comes back long after the worker has ended. */
async function workspaceWithOutage() {
  const postgres = await startPostgres();
  onTestFinished(() => postgres.stop());
  const [reached, go] = [gate(), gate()];
  const host = await repositoryHost(tasks, {
    url: `${postgres.url}/postgres`,
    leaseSeconds: 60,
    before: async (number, { tools }) => {
      if (number !== "1.1" || !tools.includes("submit_output")) return;
      reached.open();
      await go.opened;
    },
  });
  const loseDatabase = async () => {
    await reached.opened;
    await postgres.halt("kill");
    go.open();
    await sleep(outageMs);
    await postgres.resume("answering");
  };
  return { ...host, loseDatabase };
}

const attempts = "SELECT task_id, attempt::int, phase FROM attempts ORDER BY task_id";

test("M2: a database that is away longer than retry_timeout while an agent works ends neither execute nor the attempt", async () => {
  const { root, database, loseDatabase } = await workspaceWithOutage();
  const run = await planOf(root);
  const carrier = watch(["execute", run, "--workers", "1"], { cwd: root, env: key });
  await loseDatabase();
  expect([await carrier.ended, carrier.out()]).toEqual([0, expect.stringContaining("3 of 3")]);
  expect(carrier.out()).toContain("the database does not answer: waiting up to 15 min for it");
  expect((await rows(database, attempts)).map(({ attempt, phase }) => [attempt, phase])).toEqual(
    tasks.map(() => [1, "qc_passed"]),
  );
});

test("M2: a worker and the server that carries the run outlast the same outage, and repeat no attempt", async () => {
  const { root, database, loseDatabase } = await workspaceWithOutage();
  const run = await planOf(root);
  const server = await serveProcess(root, key);
  const worker = watch(["work", "--database", database], emptyHost());
  const asked = { token: server.token, method: "POST", body: {} };
  expect((await ask(server.url, `/api/runs/${run}/execute`, asked)).status).toBe(200);
  await loseDatabase();
  await until("the run to end", async () => (await shown(root, run)).state === "completed");
  expect(worker.child.exitCode).toBe(null);
  expect((await rows(database, attempts)).map(({ attempt, phase }) => [attempt, phase])).toEqual(
    tasks.map(() => [1, "qc_passed"]),
  );
  expect(await rows(database, "SELECT 1 FROM events WHERE kind = 'run-taken-over'")).toEqual([]);
  expect((await inboxOf(root)).waiting).toBe(0);
}, 300_000);
