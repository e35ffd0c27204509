import { describe, expect, test } from "vitest";
import type { Rank } from "../src/kernel/caller.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { serve } from "./support/commands.ts";
import { executed, newRun, passes, planned, playing, writes } from "./support/crew.ts";
import { ask } from "./support/requests.ts";
import { engines, newWorkspace, person, untrusted } from "./support/workspace.ts";

const named = (name: string, rank: Rank) => ({ kind: "person" as const, name, rank, proof: "session" as const });
const [grace, rita] = [named("Grace Hopper", "collaborator"), named("Rita", "reader")];
const check = { run: ["sh", "-c", "exit 1"], exits: 0 };
const failing = { max_retries: 0, verification: [{ criterion: "the tests pass", check }] };

async function team(engine: (typeof engines)[number]) {
  const workspace = await newWorkspace({ engine, config: "crew: {sandbox: none, reports: facts}\n" });
  const { app } = workspace;
  for (const { name, rank } of [grace, rita]) unwrap(await operations.add_user.perform(app, { name, rank }, person()));
  const notices = async (of = grace) => unwrap(await operations.notifications.perform(app, {}, of)).notifications;
  const kinds = async (of = grace) => (await notices(of)).filter(({ waiting }) => waiting).map(({ kind }) => kind);
  return { ...workspace, notices, kinds };
}

describe.each(engines)("U11: notifications of runs and settings (%s)", (engine) => {
  test("U11: a plan change notifies those who decide, until it is decided", async () => {
    const { app, notices, kinds } = await team(engine);
    const run = await newRun(app, [planned("0"), planned("1.1", failing)]);
    const agents = playing({
      worker: writes(),
      qc: passes,
      pm: async ({ use }) => {
        await use("add_plan_tasks", { tasks: [planned("1.1", { requirements: "Make half of it." })] });
        await use("propose_plan", { reason: "The check could not pass." });
        return undefined;
      },
    });
    await executed(app, run, agents);
    const { change, ended } = unwrap(await app.host.replan(run, { by: "Ada", tasks: [], message: null, agents }));
    unwrap(await ended);
    expect(await notices()).toMatchObject([
      { kind: "plan_change", subject: `plan_change:${change}`, title: "A run", waiting: true, read: false },
      { kind: "run" },
    ]);
    expect(await notices(rita)).toEqual([]);
    unwrap(await operations.reject_plan_change.perform(app, { id: change, note: "No." }, person()));
    expect(await kinds()).toEqual(["run"]);
  });

  test("U11: a run that waits, and one that no process can execute, notify until they go on", async () => {
    const { app, notices, kinds } = await team(engine);
    const run = await newRun(app, [planned("0")]);
    const step = async (type: "start" | "proceed", more = {}) => unwrap(await app.runs.step(run, { type }, "w", more));
    await step("start", { carried_by: "nowhere:1:1/server", carrier_until: 1 });
    unwrap(await app.runs.step(run, { type: "wait", reason: "the provider is out of service" }, "w"));
    expect(await notices()).toMatchObject([{ kind: "waiting_run", subject: `run:${run}`, title: "A run" }]);
    await step("proceed");
    expect(await kinds()).toEqual([]);
    const { noteStalled } = await import("../src/crew/record/carrier.ts");
    for (let times = 0; times < 2; times++) await noteStalled(app, run, "claude is not in PATH");
    expect(await kinds()).toEqual(["stalled_run"]);
    unwrap(await app.runs.cancel(run, "enough", "Ada"));
    expect(await kinds()).toEqual([]);
  });
});

test("U11: settings that nobody has allowed notify once, also when the server restarts", async () => {
  const agent = { author_name: "A", author_email: "a@example.org", claude_bin: "./tool.sh" };
  const { root } = await newWorkspace({ config: `agent: ${JSON.stringify(agent)}\n` });
  for (let times = 0; times < 2; times++) {
    const { url, token, stop } = await serve(root, untrusted);
    const read = async (path: string) => (await ask(url, path, { token })).json();
    const found = async () => ((await read("/api/notifications")) as { notifications: object[] }).notifications;
    expect(await found()).toMatchObject([{ kind: "settings", subject: "settings:scriptorium.yaml", waiting: true }]);
    await stop();
  }
});
