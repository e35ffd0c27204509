import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { sql } from "kysely";
import pg from "pg";
import { describe, expect, inject, test } from "vitest";
import type { App } from "../src/app.ts";
import { meterOf } from "../src/crew/agent/budget.ts";
import { type Caller, newTurn } from "../src/kernel/caller.ts";
import { jsonSchema } from "../src/kernel/json-schema.ts";
import type { Operation } from "../src/kernel/operation.ts";
import { fieldsOf, type JsonSchema } from "../src/kernel/operation-description.ts";
import { type Result, unwrap } from "../src/kernel/result.ts";
import { allOperations, operations } from "../src/operation-list.ts";
import { attemptsOf } from "../src/store/queries/attempts.ts";
import { type Claim, taskEngine } from "../src/tasks/engine.ts";
import { scribe, scriptorium, serve, serveProcess } from "./support/commands.ts";
import { executed, newRun, passes, planned, playing, writes } from "./support/crew.ts";
import { eras, overHttp, overStdio } from "./support/mcp.ts";
import { crewAgent, plannedRun, planOf } from "./support/plans.ts";
import { ask } from "./support/requests.ts";
import { agent, allEvents, backends, engines, freshDatabase, newWorkspace, person } from "./support/workspace.ts";

const secretText = /secret-[0-9a-f]{32}/;
const guess = `secret-${"0".repeat(32)}`;
const wanted = { title: "Do it", description: "", dependsOn: [] as string[], priority: 0, run: null, maxRetries: 2 };
const finish = { type: "finish", output: "done" } as const;

type Locked = { status: string; epoch: number; secret: string };

const tokenFor = async (app: App, role: string, name: string) =>
  (await app.tokens.create({ kind: "agent", role, name, expiresAt: undefined, by: "Ada" })).token;

const lockedBy = async (app: App, id: string, caller: Caller = agent("planner")): Promise<Locked> =>
  unwrap(await operations.lock_todo.perform(app, { id, agent_id: "holder" }, caller)) as Locked;

const refusedWrites = async (app: App) =>
  (await allEvents(app))
    .filter(({ kind }) => kind === "task-write-refused")
    .map(({ actor, data }) => ({ actor, data }));

const rowOf = (app: App, id: string) =>
  app.db.read.selectFrom("tasks").selectAll().where("id", "=", id).executeTakeFirstOrThrow();

/** Every write that a claim on a todo allows, by the name of its operation. */
const writesTo = (id: string): [name: keyof typeof operations, input: Record<string, unknown>][] => [
  ["lock_todo", { id, agent_id: "mallory", lease_seconds: 5000 }],
  ["update_todo", { id, status: "completed", output: "forged" }],
  ["update_todo", { id, title: "forged" }],
  ["unlock_todo", { id }],
];

describe.each(engines)("S3: a claim is proven by its secret (%s)", (engine) => {
  test("S3, T6: over HTTP the token of another agent cannot renew, complete, edit or release a claim by its epoch", async () => {
    const { app, root } = await newWorkspace({ engine });
    const { url } = await serve(root);
    const [holder, mallory] = [await tokenFor(app, "engineer", "one"), await tokenFor(app, "planner", "two")];
    const { id } = unwrap(await app.tasks.create(wanted, "Ada"));
    const { id: other } = unwrap(await app.tasks.create(wanted, "Ada"));
    const call = async (token: string, name: keyof typeof operations, input: Record<string, unknown>) => {
      const { method, path } = operations[name].http as { method: string; path: string };
      const { id: task, ...body } = input;
      const answer = await ask(url, `/api${path.replace("{id}", String(task))}`, {
        method: method.toUpperCase(),
        token,
        body,
      });
      return { http: answer.status, ...answer.json() };
    };
    const mine = await call(holder, "lock_todo", { id, agent_id: "holder" });
    expect(mine).toMatchObject({ http: 200, status: "locked", epoch: 1, secret: expect.stringMatching(secretText) });
    const theirs = await call(mallory, "lock_todo", { id: other, agent_id: "mallory" });
    const before = await rowOf(app, id);

    for (const [name, input] of writesTo(id)) {
      expect(await call(mallory, name, { ...input, epoch: 1 }), name).toMatchObject({
        http: 400,
        status: "invalid",
        error: `secret: missing; expected the secret that claiming task ${id} returned to holder`,
      });
      for (const secret of [guess, theirs.secret, before.secret_hash])
        expect(await call(mallory, name, { ...input, epoch: 1, secret }), name).toMatchObject({
          http: 403,
          status: "denied",
          error: `the secret does not belong to the claim of holder on task ${id} (epoch 1); nothing was saved`,
        });
      expect(await call(mallory, name, { ...input, epoch: 2, secret: guess }), name).toMatchObject({
        http: 409,
        message: `task ${id}: the claim with epoch 2 has ended; the task is at epoch 1; nothing was saved`,
      });
    }
    expect(await rowOf(app, id)).toEqual(before);
    const refused = await refusedWrites(app);
    expect(refused).toHaveLength(writesTo(id).length * 5);
    expect(refused[0]).toEqual({ actor: "planner", data: { step: "renew", epoch: 1, unproven: "missing" } });
    expect(refused[1]).toEqual({ actor: "planner", data: { step: "renew", epoch: 1, unproven: "wrong" } });

    const proof = { id, epoch: 1, secret: mine.secret };
    const renewed = await call(holder, "lock_todo", { ...proof, agent_id: "holder", lease_seconds: 9000 });
    expect(renewed).toMatchObject({ status: "locked", epoch: 1 });
    expect(renewed).not.toHaveProperty("secret");
    expect(await call(holder, "update_todo", { ...proof, status: "completed", output: "mine" })).toMatchObject({
      http: 200,
      state: "completed",
    });
  });

  test("S3: an MCP session carries the secrets of its own claims, and of no others", async () => {
    const { app, root } = await newWorkspace({ engine });
    const { url } = await serve(root);
    const token = await tokenFor(app, "engineer", "shared");
    const sessions = [
      await overHttp(url, token, eras[0], "tasks"),
      await overStdio(root, "engineer", { era: eras[0], args: ["--tools", "tasks"] }),
      await overStdio(root, "engineer", { era: eras[1], args: ["--tools", "tasks"] }),
    ];
    // The same token, so only the session tells them apart.
    const strangers = [
      await overHttp(url, token, eras[0], "tasks"),
      await overHttp(url, token, eras[1], "tasks"),
      await overStdio(root, "engineer", { args: ["--tools", "tasks"] }),
    ];
    for (const holder of sessions) {
      const { id } = unwrap(await app.tasks.create(wanted, "Ada"));
      const { secret } = await holder.call("lock_todo", { id, agent_id: "holder" });
      expect(secret).toMatch(secretText);
      const before = await rowOf(app, id);
      for (const stranger of strangers)
        for (const [name, input] of writesTo(id)) {
          expect(await stranger.call(name, { ...input, epoch: 1 })).toMatchObject({
            status: "invalid",
            error: `secret: missing; expected the secret that claiming task ${id} returned to holder; to claim it yourself, call lock_todo {"id":"${id}"}`,
          });
          expect(await stranger.call(name, { ...input, epoch: 1, secret: guess })).toMatchObject({ status: "denied" });
        }
      expect(await rowOf(app, id)).toEqual(before);
      const longer = await holder.call("lock_todo", { id, agent_id: "holder", epoch: 1, lease_seconds: 900 });
      expect(longer).toMatchObject({ status: "locked" });
      expect(longer).not.toHaveProperty("secret");
      expect(await holder.call("update_todo", { id, epoch: 1, title: "Mine" })).toMatchObject({ id });
      expect(await holder.call("unlock_todo", { id, epoch: 1 })).toMatchObject({ state: "pending" });
    }
  });

  test("S3: requests of the MCP protocol without sessions send the secret themselves", async () => {
    const { app, root } = await newWorkspace({ engine });
    const { url } = await serve(root);
    const { call } = await overHttp(url, await tokenFor(app, "engineer", "one"), eras[1], "tasks");
    const { id } = unwrap(await app.tasks.create(wanted, "Ada"));
    const { secret } = await call("lock_todo", { id, agent_id: "holder" });
    const done = { id, epoch: 1, status: "completed", output: "done" };
    expect(await call("update_todo", done)).toMatchObject({ status: "invalid" });
    expect(await call("update_todo", { ...done, secret })).toMatchObject({ state: "completed" });
  });

  test("S3: a connection that is bound to a claimed task writes in its name only with the secret", async () => {
    const { app, root } = await newWorkspace({ engine });
    const { id } = unwrap(await app.tasks.create(wanted, "Ada"));
    const { secret } = await lockedBy(app, id);
    const bound = (env: Record<string, string>, epoch: string[] = ["--epoch", "1"]) =>
      overStdio(root, "engineer", { args: ["--task", id, ...epoch], env });
    const line = { id: "decisions", line: "as decided" };
    const done = { id, status: "completed", output: "done" };
    const [missing, wrong, label] = [
      await bound({}),
      await bound({ SCRIPTORIUM_CLAIM_SECRET: guess }),
      await bound({}, []),
    ];
    for (const name of ["append_log", "update_todo"]) {
      const input = name === "append_log" ? line : done;
      expect(await missing.call(name, input)).toMatchObject({ status: "invalid" });
      expect(await wrong.call(name, input)).toMatchObject({ status: "denied" });
      expect(await label.call(name, input)).toMatchObject({
        status: "conflict",
        message: expect.stringMatching(/^holder has claimed task .*; if that is you, send the epoch and the secret/),
      });
    }
    const holder = await bound({ SCRIPTORIUM_CLAIM_SECRET: secret });
    expect(await holder.call("append_log", line)).toMatchObject({ status: "success" });
    expect(await holder.call("update_todo", done)).toMatchObject({ state: "completed" });
  });

  test("S3: scribe writes to a claimed task, and to entries and the graph in its name, only with the secret", async () => {
    const { app, root } = await newWorkspace({ engine });
    const { id } = unwrap(await app.tasks.create(wanted, "Ada"));
    const run = ([command = "", ...options]: string[], env: Record<string, string> = {}) =>
      scribe([command, "--role", "engineer", ...options], { cwd: root, env });
    const { secret } = (await run(["lock-todo", "--id", id, "--agent-id", "holder"])).json<Locked>();
    const under = ["--task", id, "--epoch", "1"];
    const attacks = [
      ["lock-todo", "--id", id, "--agent-id", "mallory", "--epoch", "1"],
      ["update-todo", "--id", id, "--epoch", "1", "--status", "completed", "--output", "forged"],
      ["unlock-todo", "--id", id, "--epoch", "1"],
      ["append-log", "--id", "decisions", "--line", "forged", ...under],
      ["commit-entry", "--id", "notes", "--version", "1", "--content", "forged", ...under],
      ["memory-add-node", "--type", "forged", ...under],
    ];
    const before = await rowOf(app, id);
    const entries = () => app.db.read.selectFrom("entries").select(["id", "version"]).execute();
    const unchanged = await entries();
    for (const args of attacks) {
      const missing = await run(args);
      expect({ code: missing.code, ...missing.json() }, args.join(" ")).toMatchObject({ code: 1, status: "invalid" });
      expect(missing.stderr).toMatch(
        /secret: missing; expected the secret that claiming task .* run: scribe lock-todo/,
      );
      expect((await run([...args, "--secret", guess])).json()).toMatchObject({ status: "denied" });
      expect((await run(args, { SCRIPTORIUM_CLAIM_SECRET: guess })).json()).toMatchObject({ status: "denied" });
    }
    // Without an epoch the write would still be filed under the task.
    for (const args of attacks.slice(3)) {
      const label = args.filter((word, at) => word !== "--epoch" && args[at - 1] !== "--epoch");
      expect((await run(label)).json()).toMatchObject({ status: "conflict", holder: "holder" });
    }
    expect(await rowOf(app, id)).toEqual(before);
    expect(await entries()).toEqual(unchanged);
    expect(await app.db.read.selectFrom("nodes").select("id").execute()).toEqual([]);
    expect(await refusedWrites(app)).toHaveLength(attacks.length * 3);

    const line = ["append-log", "--id", "decisions", "--line", "mine", ...under];
    expect((await run([...line, "--secret", secret])).json()).toMatchObject({ status: "success" });
    const env = { SCRIPTORIUM_CLAIM_SECRET: secret };
    expect((await run(["memory-add-node", "--type", "fact", ...under], env)).json()).toHaveProperty("id");
    expect((await run(attacks[1] as string[], env)).json()).toMatchObject({ state: "completed" });
    expect((await run(line, env)).json()).toMatchObject({
      status: "conflict",
      late: true,
      message: `task ${id}: the claim with epoch 1 has ended; nothing was saved; to claim it again, run: scribe lock-todo --id ${id}`,
    });
  });

  test("S3: nobody but the worker delivers for a task that the crew holds, and every try is recorded", async () => {
    const { app } = await newWorkspace({ engine, config: "crew: {sandbox: none}\n" });
    const run = await newRun(app, [planned("0")]);
    const forged = { output: "forged", statements: [] };
    const tries: unknown[] = [];
    const spends: unknown[] = [];
    let task = "";
    const agents = playing({
      worker: async ({ use }) => {
        task = (await app.runs.tasks(run))[0]?.task_id ?? "";
        for (const caller of [agent("engineer"), person(), { ...agent("engineer"), task, epoch: 1 } as Caller])
          for (const said of [{ epoch: 1 }, { epoch: 1, secret: guess }]) {
            tries.push(await operations.submit_output.perform(app, { task, ...said, ...forged }, caller));
            tries.push(await operations.ask.perform(app, { task, ...said, question: "Who?" }, caller));
            tries.push(await operations.unlock_todo.perform(app, { id: task, ...said }, caller));
          }
        const whose = { run, task, part: "worker" as const, context: null, model: null, agent: "mallory" };
        for (const secret of [undefined, guess]) {
          const meter = meterOf(app, { ...whose, epoch: 1, secret }, { task: {}, attempt: {} });
          spends.push(await meter.reserve({ tokens: 10, usd: null }));
        }
        await use("submit_output", { output: "made 0" });
      },
      qc: async (scene) => {
        const told = { verdict: "PASS", score: 100, feedback: "fine", evidence: [], task, epoch: 2 };
        const verifier = crewAgent("qc", run, "mallory", { task, epoch: 2 });
        tries.push(await operations.submit_verdict.perform(app, told, verifier));
        tries.push(await operations.submit_verdict.perform(app, { ...told, secret: guess }, verifier));
        await passes(scene);
      },
    });
    expect(await executed(app, run, agents)).toMatchObject({ state: "completed" });
    expect(tries).toHaveLength(20);
    for (const one of [...tries, ...spends])
      expect(one).toMatchObject({ ok: false, problem: { details: { unproven: expect.any(String) } } });
    expect((await attemptsOf(app.db.read, { task })).map(({ output }) => output)).toEqual(["made 0"]);
    expect(await app.db.read.selectFrom("questions").select("id").execute()).toEqual([]);
    const refused = await refusedWrites(app);
    expect(refused).toHaveLength(22);
    expect(new Set(refused.map(({ data }) => (data as { step: string }).step))).toEqual(
      new Set(["begin", "ask", "release", "spend", "verdict"]),
    );
    expect(new Set(refused.map(({ actor }) => actor))).toEqual(new Set(["engineer", "Ada Lovelace", "mallory"]));
  });

  test("S3: a claim to verify does not begin an attempt, so it cannot discard the one that was submitted", async () => {
    const { app } = await newWorkspace({ engine });
    const { id } = await plannedRun(app, planOf([{ number: "0" }]));
    const task = id("0");
    const worker = await lockedBy(app, task);
    const mine = { task, epoch: worker.epoch, secret: worker.secret };
    unwrap(await operations.submit_output.perform(app, { ...mine, output: "mine" }, agent("engineer")));
    const { epoch, secret } = await lockedBy(app, task, agent("architect"));
    const again = { task, epoch, secret, output: "forged" };
    expect(await operations.submit_output.perform(app, again, agent("architect"))).toMatchObject({
      ok: false,
      problem: { code: "conflict", message: expect.stringContaining("for another stage") },
    });
    expect(await attemptsOf(app.db.read, { task })).toMatchObject([{ phase: "worker_completed", output: "mine" }]);
  });

  test("S3: a late verifier cannot replace the check results of the claim after it", async () => {
    const { app } = await newWorkspace({ engine });
    const { id } = await plannedRun(app, planOf([{ number: "0" }]));
    const task = id("0");
    const worker = await lockedBy(app, task);
    const mine = { task, epoch: worker.epoch, secret: worker.secret, output: "mine" };
    unwrap(await operations.submit_output.perform(app, mine, agent("engineer")));
    const check = { criterion: 1, passed: false, detail: "failed", deliverableHash: "h", durationMs: 1 };
    const first = unwrap(await app.attempts.claimQc(task, "q-1"));
    unwrap(await app.tasks.release(task, "Ada", { force: true }));
    const second = unwrap(await app.attempts.claimQc(task, "q-2"));
    const record = ({ epoch, secret, attempt }: typeof first, passed: boolean) =>
      app.attempts.recordChecks({ task, epoch, secret }, attempt, [{ ...check, passed }], "q");
    unwrap(await record(second, false));
    expect(await record(first, true)).toMatchObject({ ok: false, problem: { details: { late: true } } });
    expect(await record({ ...first, epoch: second.epoch }, true)).toMatchObject({ problem: { code: "denied" } });
    expect(await app.db.read.selectFrom("check_results").select("passed").execute()).toEqual([{ passed: 0 }]);
  });

  test("S3: a claim that a person breaks is recorded with its holder, and the next claim has another secret", async () => {
    const { app, root } = await newWorkspace({ engine });
    const { id } = unwrap(await app.tasks.create(wanted, "Ada"));
    const first = await lockedBy(app, id);
    const claimed = await scriptorium(["task", "release", id, "--epoch", "1"], { cwd: root });
    expect(claimed).toMatchObject({ code: 1, stderr: expect.stringContaining("secret: missing") });
    const forced = await scriptorium(["task", "release", id, "--force"], { cwd: root });
    expect(forced.stdout).toContain("released from holder");
    const events = (await allEvents(app)).filter(({ kind }) => kind === "task-release");
    expect(events).toMatchObject([
      { actor: "Ada Lovelace", subject: `task:${id}`, data: { forced: true, from: "holder", epoch: 1 } },
    ]);
    const second = (await scriptorium(["task", "claim", id, "--as", "Ada", "--json"], { cwd: root })).json<Locked>();
    expect(second.secret).not.toBe(first.secret);
    for (const epoch of [1, 2])
      expect(
        await operations.update_todo.perform(
          app,
          { id, epoch, secret: first.secret, status: "completed" },
          agent("planner"),
        ),
      ).toMatchObject({ ok: false });
    const released = await scriptorium(["task", "release", id, "--epoch", "2", "--secret", second.secret], {
      cwd: root,
    });
    expect(released).toMatchObject({ code: 0, stdout: expect.stringContaining("waiting") });
    expect((await allEvents(app)).at(-1)?.data).not.toHaveProperty("forced");
  });

  test("M3: after a failover to a copy without the claim, the old holder can write nothing, whatever epoch the new one has", async () => {
    const { app } = await newWorkspace({ engine });
    const [a, b] = ["a", "b"].map(() =>
      taskEngine({ db: app.db, strategy: "queue", leaseMs: 60_000, now: app.now, newId: app.newId }),
    ) as [typeof app.tasks, typeof app.tasks];
    const { id } = unwrap(await app.tasks.create(wanted, "Ada"));
    const lost = await rowOf(app, id);
    const old = (await a.claim("A")) as Claim;
    // The row as a replica has it that did not get the claim before the primary died.
    await app.db.write((tx) => tx.updateTable("tasks").set(withoutNumber(lost)).where("id", "=", id).execute());
    const now = (await b.claim("B")) as Claim;
    expect([old.epoch, now.epoch]).toEqual([1, 1]);
    expect(now.secret).not.toBe(old.secret);
    const before = await rowOf(app, id);
    // `a` still has the task in memory as it claimed it: only the predicate of the write can tell.
    for (const write of [a.step(id, finish, "A", old), a.renew(id, old), a.release(id, "A", old)])
      expect(await write).toMatchObject({ ok: false, problem: { code: "denied", details: { unproven: "wrong" } } });
    const late: Caller = { kind: "agent", role: "planner", task: id, epoch: 1, secret: old.secret, turn: newTurn() };
    for (const [name, input] of [
      ["append_log", { id: "decisions", line: "late" }],
      ["commit_entry", { id: "vision", content: "late\n", version: 1 }],
      ["memory_add_node", { type: "late" }],
    ] as const)
      expect(await (operations[name] as Operation<App>).perform(app, input, late)).toMatchObject({
        problem: { code: "denied" },
      });
    expect(await rowOf(app, id)).toEqual(before);
    expect(unwrap(await b.step(id, finish, "B", now)).state).toBe("completed");
  });

  test("M3: a claim on a task that a failover lost altogether cannot write either", async () => {
    const { app } = await newWorkspace({ engine });
    const { id } = unwrap(await app.tasks.create(wanted, "Ada"));
    const { epoch, secret } = await lockedBy(app, id);
    await app.db.write((tx) => tx.deleteFrom("tasks").where("id", "=", id).execute());
    const late: Caller = { kind: "agent", role: "planner", task: id, epoch, secret, turn: newTurn() };
    expect(await operations.append_log.perform(app, { id: "decisions", line: "late" }, late)).toMatchObject({
      problem: { code: "conflict", message: expect.stringContaining("does not exist, nor your claim") },
    });
  });

  test("S3: a claim from before the upgrade cannot write or be renewed, and ends with its lease", async () => {
    const { app, open } = await newWorkspace({ engine });
    const { id } = unwrap(await app.tasks.create(wanted, "Ada"));
    const { epoch, secret } = await lockedBy(app, id);
    await app.db.write(async (tx) => {
      await sql`ALTER TABLE tasks DROP COLUMN secret_hash`.execute(tx);
      await sql`DELETE FROM schema_migrations WHERE name = '0003-claims'`.execute(tx);
    });
    await app.close();
    const upgraded = await open();
    for (const said of [{ epoch }, { epoch, secret }])
      for (const [name, input] of writesTo(id))
        expect(
          await (operations[name] as Operation<App>).perform(upgraded, { ...input, ...said }, agent("planner")),
        ).toMatchObject({ ok: false });
    expect(await upgraded.tasks.lock(id, "next")).toMatchObject({ value: { holder: "holder", alive: true } });
    await upgraded.db.write((tx) => tx.updateTable("tasks").set({ lease_until: 1 }).where("id", "=", id).execute());
    expect(await upgraded.tasks.lock(id, "next")).toMatchObject({ value: { epoch: 2 } });
  });
});

describe.each(backends)("S3: entries ($store, $engine)", (backend) => {
  test("S3: are written in the name of a claimed task only with its secret", async () => {
    const { app } = await newWorkspace(backend);
    const { id } = unwrap(await app.tasks.create(wanted, "Ada"));
    const { epoch, secret } = await lockedBy(app, id);
    const versions = () => app.db.read.selectFrom("entry_versions").select(["entry_id", "version", "task"]).execute();
    const before = await versions();
    const { version } = unwrap(await operations.fetch_entry.perform(app, { id: "vision" }, person()));
    const write = async (claim: { epoch?: number; secret?: string }) => {
      const caller: Caller = { kind: "agent", role: "planner", task: id, turn: newTurn("r-1"), ...claim };
      return [
        await operations.commit_entry.perform(app, { id: "vision", content: "Far.\n", version }, caller),
        await operations.append_log.perform(app, { id: "decisions", line: "as decided" }, caller),
      ];
    };
    for (const claim of [{}, { epoch }, { epoch, secret: guess }, { epoch: epoch + 1, secret }])
      for (const answer of await write(claim)) expect(answer).toMatchObject({ ok: false });
    expect(await versions()).toEqual(before);
    for (const answer of await write({ epoch, secret })) expect(answer).toMatchObject({ ok: true });
    expect((await versions()).filter(({ task }) => task === id)).toHaveLength(2);
  });
});

const withoutNumber = ({ num: _, ...row }: Awaited<ReturnType<typeof rowOf>>) => row;

test("M3: a holder whose PostgreSQL server fails over to a replica without its claim is refused there", async () => {
  const { app, open } = await newWorkspace({ engine: "postgres" });
  const { id } = unwrap(await app.tasks.create(wanted, "Ada"));
  const { database } = app.config;
  const name = database.engine === "postgres" ? new URL(database.url).pathname.slice(1) : "";
  await app.close();
  const replica = new URL(await freshDatabase(name)).pathname.slice(1);
  const a = await open();
  const old = unwrap(await a.tasks.lock(id, "A")) as Claim;
  await failOver(name, replica);
  const b = await open();
  const now = unwrap(await b.tasks.lock(id, "B")) as Claim;
  expect([old.epoch, now.epoch]).toEqual([1, 1]);
  const forged = { ...finish, output: "late" };
  // The first queries of A meet the closed connections.
  await expect.poll(() => a.tasks.find(id).catch(() => undefined)).toMatchObject({ holder: "B" });
  expect(await a.tasks.step(id, forged, "A", old)).toMatchObject({ ok: false, problem: { code: "denied" } });
  expect(await a.tasks.renew(id, old)).toMatchObject({ ok: false, problem: { code: "denied" } });
  expect(unwrap(await b.tasks.step(id, finish, "B", now))).toMatchObject({ result: { output: "done" } });
  expect(await a.tasks.find(id)).toMatchObject({ state: "completed", result: { output: "done" } });
});

/** Puts the replica into the place of the primary, with all connections to it cut. */
async function failOver(primary: string, replica: string): Promise<void> {
  const client = new pg.Client({ connectionString: inject("postgresUrl") });
  await client.connect();
  try {
    await client.query(`ALTER DATABASE ${primary} WITH ALLOW_CONNECTIONS false`);
    await client.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", [primary]);
    for (let tries = 0; ; tries++) {
      const renamed = await client.query(`ALTER DATABASE ${primary} RENAME TO ${primary}_lost`).then(
        () => true,
        () => false,
      );
      if (renamed) break;
      if (tries > 100) throw new Error(`${primary} still has connections`);
      await client.query("SELECT pg_sleep(0.05)");
    }
    await client.query(`ALTER DATABASE ${replica} RENAME TO ${primary}`);
  } finally {
    await client.end();
  }
}

describe.each(engines)("S3: the secret of a claim is shown to its claimer only (%s)", (engine) => {
  test("S3: no read of any caller, no event, no row and no file contains a secret", async () => {
    const { app, root, git } = await newWorkspace({ engine, config: "crew: {sandbox: none}\n" });
    const run = await newRun(app, [planned("0"), planned("1.1")]);
    const { id } = unwrap(await app.tasks.create(wanted, "Ada"));
    const mine = await lockedBy(app, id);
    expect(mine.secret).toMatch(secretText);
    const known = { id, task: id, run, epoch: 1 };
    const answered = new Map<string, number>();
    const look = async () => {
      const hashes = (await app.db.read.selectFrom("tasks").select("secret_hash").execute()).flatMap(
        (row) => row.secret_hash ?? [],
      );
      expect(hashes.length).toBeGreaterThan(0);
      const [task] = await app.runs.tasks(run);
      const values = { ...known, held: task?.task_id ?? "" };
      for (const operation of allOperations.filter(({ effect }) => effect === "reads"))
        for (const caller of callers(run, values.held))
          for (const input of inputsOf(operation, Object.values(values).map(String))) {
            const answer: Result<unknown> = await operation.perform(app, input, caller);
            const text = JSON.stringify(answer);
            expect(text, operation.name).not.toMatch(secretText);
            for (const hash of hashes) expect(text.includes(hash), `${operation.name}: ${text}`).toBe(false);
            if (answer.ok) answered.set(operation.name, (answered.get(operation.name) ?? 0) + 1);
          }
    };
    let looked = 0;
    const agents = playing({
      worker: async (scene) => {
        // The crew holds the task just now.
        if (looked++ === 0) await look();
        const own = await scene.use("get_task_context", { id: (await app.runs.tasks(run))[0]?.task_id });
        expect(JSON.stringify([own, scene.told])).not.toMatch(secretText);
        await writes()(scene);
      },
      qc: passes,
    });
    expect(await executed(app, run, agents, { workers: 1 })).toMatchObject({ state: "completed" });
    await look();
    expect(answered.size).toBeGreaterThan(30);
    for (const name of ["list_todos", "get_task_context", "show_run", "task_record", "metrics", "inbox", "doctor"])
      expect(answered.has(name), name).toBe(true);

    const rows = await everyRow(app);
    expect(rows.length).toBeGreaterThan(100);
    expect(rows.filter((row) => secretText.test(row))).toEqual([]);
    await app.recorder.record();
    expect(git("log", "--all", "-p")).not.toMatch(secretText);
    await app.close();
    for (const file of filesUnder(root)) expect(readFileSync(file, "latin1"), file).not.toMatch(secretText);
  });

  test("S3: the server logs no secret, however it is sent", async () => {
    const { app, root } = await newWorkspace({ engine });
    const token = await tokenFor(app, "engineer", "one");
    const { id } = unwrap(await app.tasks.create(wanted, "Ada"));
    const { url, child, stop } = await serveProcess(root, { SCRIPTORIUM_LOG: "debug", SCRIPTORIUM_DEBUG: "1" });
    let log = "";
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => (log += chunk));
    const put = (path: string, body: string | object) =>
      ask(url, path, { method: "PUT", token, headers: { "content-type": "application/json" }, body });
    const locked = await ask(url, `/api/tasks/${id}/lock`, { method: "POST", token, body: { agent_id: "holder" } });
    const { epoch, secret } = locked.json();
    expect(secret).toMatch(secretText);
    await put(`/api/tasks/${id}?secret=${secret}`, { epoch: 7, title: "x" });
    await put(`/api/tasks/${id}`, `{"secret": "${secret}", `);
    await put(`/api/tasks/${id}`, { epoch, secret, surprise: secret });
    await put(`/api/tasks/${secret}`, { epoch, secret, title: "x" });
    await scribe(["unlock-todo", "--role", "engineer", "--id", id, "--epoch", "9", "--secret", secret], { cwd: root });
    expect((await put(`/api/tasks/${id}`, { epoch, secret, status: "completed" })).json()).toMatchObject({
      state: "completed",
    });
    await stop();
    expect(log).not.toMatch(secretText);
    expect((await everyRow(app)).filter((row) => secretText.test(row))).toEqual([]);
  });
});

const callers = (run: string, task: string): Caller[] => [
  agent("planner"),
  agent("engineer"),
  { kind: "agent", role: "planner", task, epoch: 1, turn: newTurn(run) },
  crewAgent("worker", run, "w", { task, epoch: 1 }),
  crewAgent("qc", run, "q", { task, epoch: 1 }),
  ...(["reader", "collaborator", "admin"] as const).map(person),
];

/** Inputs that fill every required field, once with each known value where text is wanted. */
function inputsOf({ input }: Operation<App>, values: string[]): Record<string, unknown>[] {
  const fields = fieldsOf(jsonSchema(input)).filter(({ required }) => required);
  const text = (value: string) => Object.fromEntries(fields.map(({ name, schema }) => [name, filled(schema, value)]));
  return fields.length === 0 ? [{}] : [...values, "vision", "wiki/vision.md", "secret"].map(text);
}

function filled(schema: JsonSchema, value: string): unknown {
  if (schema.enum) return schema.enum[0];
  if (schema.type === "integer" || schema.type === "number") return 1;
  if (schema.type === "boolean") return true;
  if (schema.type === "array") return [value];
  return value;
}

/** Every row of every table, as JSON. */
async function everyRow(app: App): Promise<string[]> {
  const tables =
    app.db.engine === "postgres"
      ? sql<{ name: string }>`SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()`
      : sql<{ name: string }>`SELECT name FROM sqlite_master WHERE type = 'table'`;
  const rows: string[] = [];
  for (const { name } of (await tables.execute(app.db.read)).rows)
    for (const row of (await sql`SELECT * FROM ${sql.table(name)}`.execute(app.db.read)).rows)
      rows.push(`${name} ${JSON.stringify(row)}`);
  return rows;
}

/** Every file of a workspace: database, write-ahead log, agent logs, reports. */
const filesUnder = (root: string): string[] =>
  readdirSync(root, { recursive: true, encoding: "utf8" })
    .map((path) => join(root, path))
    .filter((path) => statSync(path).isFile());
