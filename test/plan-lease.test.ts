import { describe, expect, onTestFinished, test } from "vitest";
import { openApp } from "../src/app.ts";
import { loadConfig } from "../src/config/config.ts";
import { abandonedRuns } from "../src/crew/record/carrier.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { storeClock } from "../src/store/clock.ts";
import { serveProcess } from "./support/commands.ts";
import { handIn, newRun, planned, playing } from "./support/crew.ts";
import { inboxOf, key, shown, until, watch } from "./support/hosts.ts";
import { modelServer } from "./support/model-server.ts";
import type { Heard, Reply } from "./support/model-wire.ts";
import { planOf } from "./support/plans.ts";
import { engines, newWorkspace, person, testEnvironment } from "./support/workspace.ts";

const text = (number: string) => planned(number, { deliverable: "text", max_retries: 0 });
const small = planOf([{ number: "0" }, { number: "1.1" }]);
/** A process of a machine that cannot be asked from here. */
const elsewhere = "elsewhere:7:99:aaaaaaaa.bbbbbbbb.cccccccc.dddddddd";

describe.each(engines)("M4: the lease of a planner on %s", (engine) => {
  test("M4: a planner that stops answering is replaced by a server, which continues its draft; late, it changes nothing", async () => {
    const { tasks } = small;
    let isReplaced = false;
    let told = "";
    const model = await modelServer(({ messages }: Heard): Reply => {
      const said = messages.map((message) => message.text).join("\n");
      const call = (name: string, input: unknown): Reply => ({ calls: [{ name, input }] });
      if (!isReplaced)
        return said.includes('"saved"') ? { hang: true } : call("add_plan_tasks", { tasks: tasks.slice(0, 1) });
      if (said.includes('"saved"')) return call("finish_plan", { title: "Two" });
      told = said;
      return call("add_plan_tasks", { tasks: tasks.slice(1) });
    });
    const crew = {
      agents: { all: { runner: "model", model: "fake/one" } },
      providers: { fake: { kind: "openai", base_url: `${model.url}/v1`, key_env: "FAKE_KEY" } },
      sandbox: "none",
    };
    const config = `claims: {lease_seconds: 3}\ncrew: ${JSON.stringify(crew)}\n`;
    const { root, app } = await newWorkspace({ store: "database", engine, config });
    const planner = watch(["plan", "do it"], { cwd: root, env: key });
    await until("a draft", () => model.heard.length === 2);
    const run = (await app.runs.list(1))[0]?.id ?? "";
    planner.child.kill("SIGSTOP");
    await until("the run to be stalled", async () => (await inboxOf(root)).waiting === 1);
    expect((await inboxOf(root)).runs).toMatchObject([
      { id: run, state: "planning", stalled: true, reason: expect.stringContaining("no process plans it") },
    ]);
    isReplaced = true;
    await serveProcess(root, key);
    await until("the plan", async () => (await shown(root, run)).state === "planned");
    expect(told).toContain("# Tasks submitted so far\n\n- 0: Task number 0");
    planner.child.kill("SIGCONT");
    planner.child.kill("SIGINT");
    expect(await planner.ended).not.toBe(0);
    expect(await shown(root, run)).toMatchObject({ state: "planned", reason: null });
    expect((await inboxOf(root)).waiting).toBe(0);
  }, 600_000);

  test("M4: a run that another host plans is not planned here, before its lease ends; a lease that was not recorded ends after an hour", async () => {
    const { app } = await newWorkspace({ engine, config: "crew: {sandbox: none}\n" });
    const agents = playing({});
    const now = await storeClock(app.db.read, engine);
    const lease = (carrier_until: number | null) =>
      app.db.write((tx) => tx.updateTable("runs").set({ carrier_until }).execute());
    const { id } = await app.runs.create("Plan it", "Ada", { carried_by: `${elsewhere}/planner` });
    const resume = () => app.host.resumePlan(id, { by: "Grace", agents });
    const inbox = async () => unwrap(await operations.inbox.perform(app, {}, person())).runs;

    for (const until of [null, now + 60_000]) {
      await lease(until);
      expect(await resume()).toMatchObject({ ok: false, problem: { code: "conflict" } });
    }
    expect(await inbox()).toEqual([]);
    await lease(null);
    await resume();
    const recorded = Number((await app.db.read.selectFrom("runs").select("carrier_until").execute())[0]?.carrier_until);
    expect(recorded - now).toBeGreaterThanOrEqual(60 * 60_000);
    await lease(now - 1);
    expect(await inbox()).toMatchObject([{ id, stalled: true }]);
    const planner = playing({ pm: async ({ spec }) => void (await handIn(spec, small)) });
    const planning = unwrap(await app.host.resumePlan(id, { by: "Grace", agents: planner }));
    expect(unwrap(await planning.ended)).toMatchObject({ run: id });
  });

  test("M4: a planner whose run another host has taken over can submit nothing, and does not fail the run", async () => {
    const { app } = await newWorkspace({ engine, config: "crew: {sandbox: none}\n" });
    let answer: unknown;
    const agents = playing({
      async pm({ use }) {
        await app.db.write((tx) =>
          tx
            .updateTable("runs")
            .set({ carried_by: `${elsewhere}/planner` })
            .execute(),
        );
        answer = await use("add_plan_tasks", { tasks: small.tasks });
        return undefined;
      },
    });
    const planning = unwrap(await app.host.plan("Plan it", { brief: false, by: "Ada", agents }));
    expect(await planning.ended).toMatchObject({ ok: false });
    expect(JSON.stringify(answer)).toContain("another process plans run");
    expect((await app.runs.find(planning.run))?.state).toBe("planning");
  });

  test("M4: a server continues the replanning of another host once its lease has ended", async () => {
    const { app, root } = await newWorkspace({ engine, config: "crew: {sandbox: none}\n" });
    const run = await newRun(app, [text("0"), text("1.1")]);
    await app.db.write((tx) => tx.updateTable("runs").set({ state: "stopped", reason: "budget" }).execute());
    const begin = (pm: Parameters<typeof playing>[0]["pm"]) =>
      app.host.replan(run, { by: "Ada", tasks: ["1.1"], message: null, agents: playing(pm ? { pm } : {}) });
    const begun = unwrap(
      await begin(async () => {
        await app.db.write((tx) =>
          tx
            .updateTable("plan_changes")
            .set({ process: `${elsewhere}/planner` })
            .execute(),
        );
        return undefined;
      }),
    );
    expect(await begun.ended).toMatchObject({ ok: false });
    const change = async () => (await app.db.read.selectFrom("plan_changes").selectAll().execute())[0];
    expect((await change())?.state).toBe("drafting");
    expect(await begin(undefined)).toMatchObject({ ok: false, problem: { code: "conflict" } });

    await app.db.write((tx) => tx.updateTable("plan_changes").set({ process_until: 0 }).execute());
    const agents = playing({
      async pm({ use }) {
        const [, task] = (await app.runs.find(run))?.plan?.tasks ?? [];
        await use("add_plan_tasks", { tasks: [{ ...task, requirements: "Do half of it." }] });
        await use("propose_plan", { reason: "Smaller." });
        return undefined;
      },
    });
    const config = unwrap(loadConfig(root, testEnvironment()));
    const server = await openApp(config, { host: { background: true, agents } });
    onTestFinished(() => server.close());
    await server.host.resume();
    await expect.poll(async () => (await change())?.state, { timeout: 60_000 }).toBe("open");
  });

  test("M4: a shared run that nobody works on any more is stalled, and another process adopts it", async () => {
    const { app } = await newWorkspace({ engine, config: "claims: {lease_seconds: 3}\ncrew: {sandbox: none}\n" });
    const run = await newRun(app, [text("0")]);
    const agents = playing({});
    unwrap(await app.host.start(run, { by: "Ada", agents }));
    const row = async () => (await app.db.read.selectFrom("runs").selectAll().executeTakeFirstOrThrow()).carrier_until;
    const first = Number(await row());
    await expect.poll(async () => Number(await row()), { timeout: 20_000 }).toBeGreaterThan(first);
    await app.host.stop();
    await app.db.write((tx) => tx.updateTable("runs").set({ carrier_until: 1 }).execute());
    const inbox = unwrap(await operations.inbox.perform(app, {}, person())).runs;
    expect(inbox).toMatchObject([
      { id: run, stalled: true, reason: expect.stringContaining("no process executes it") },
    ]);
    expect(await abandonedRuns(app.db, "running")).toMatchObject([{ run }]);
  });
});
