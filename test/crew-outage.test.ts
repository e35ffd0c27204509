import { expect, test } from "vitest";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { attemptsOf } from "../src/store/queries/attempts.ts";
import { executed, newRun, planned, playing, writes } from "./support/crew.ts";
import { crewMind } from "./support/crew-mind.ts";
import { modelServer } from "./support/model-server.ts";
import type { Heard, Reply } from "./support/model-wire.ts";
import { newWorkspace, person } from "./support/workspace.ts";

const tasks = [planned("0"), planned("1.1", { deliverable: "text" }), planned("1.2", { deliverable: "text" })];

/** A workspace whose crew is one model; `faults` answers instead of the model's mind where it returns something. */
async function crewAt(faults: (heard: Heard, n: number) => Reply | undefined, more: Record<string, unknown> = {}) {
  const mind = crewMind(tasks);
  const server = await modelServer((heard, n) => faults(heard, n) ?? mind(heard));
  const crew = {
    agents: { all: { runner: "model", model: "house/one" } },
    providers: { house: { kind: "anthropic", base_url: `${server.url}/v1`, key_env: "PATH" } },
    sandbox: "none",
    ...more,
  };
  const workspace = await newWorkspace({ config: `crew: ${JSON.stringify(crew)}\n` });
  return { ...workspace, server, run: await newRun(workspace.app, tasks) };
}

const out: Reply = { status: 503, headers: { "retry-after-ms": "30" } };

test("W6: a provider that is out of service in the middle of a run costs no attempt; the run shows it and goes on by itself", async () => {
  let isBack = false;
  const { app, run } = await crewAt(({ tools }) => (tools.includes("submit_verdict") && !isBack ? out : undefined));
  const started = unwrap(await app.host.execute(run, { by: "Ada", workers: 2 }));
  await expect
    .poll(async () => unwrap(await operations.inbox.perform(app, {}, person())).runs[0]?.reason)
    .toContain("answered 503");
  expect(await app.runs.find(run)).toMatchObject({ state: "running" });
  isBack = true;
  expect(unwrap(await started.ended)).toMatchObject({
    state: "completed",
    tasks: { all: 3, completed: 3, lost: 0 },
    reason: null,
  });
  expect((await attemptsOf(app.db.read, { run })).map(({ attempt, phase }) => [attempt, phase])).toEqual(
    tasks.map(() => [1, "qc_passed"]),
  );
});

test.each([
  [401, /rejected the API key/],
  [404, /does not have the model/],
])(
  "W6: %i in the middle of a run stops it at once, costs no attempt, and the run can be resumed",
  async (status, why) => {
    let refused = true;
    let calls = 0;
    const { app, run, server } = await crewAt(({ tools }) => {
      if (!tools.includes("submit_output")) return undefined;
      return refused && ++calls > 1 ? { status } : undefined;
    });
    const stopped = unwrap(await unwrap(await app.host.execute(run, { by: "Ada", workers: 1 })).ended);
    expect(stopped).toMatchObject({ state: "stopped", tasks: { lost: 0 }, reason: expect.stringMatching(why) });
    const before = server.heard.length;
    refused = false;
    const resumed = unwrap(await unwrap(await app.host.execute(run, { by: "Ada" })).ended);
    expect(resumed).toMatchObject({ state: "completed", tasks: { completed: 3, lost: 0 } });
    expect(server.heard.length).toBeGreaterThan(before);
    const attempts = await attemptsOf(app.db.read, { run });
    expect(attempts.every(({ attempt }) => attempt === 1)).toBe(true);
  },
);

test("W6: an outage longer than crew.outage_minutes stops the run with its cause and loses no task", async () => {
  const { app, run } = await crewAt(({ tools }) => (tools.includes("submit_output") ? out : undefined), {
    outage_minutes: 0.005,
  });
  const stopped = unwrap(await unwrap(await app.host.execute(run, { by: "Ada" })).ended);
  expect(stopped).toMatchObject({ state: "stopped", reason: expect.stringContaining("503"), tasks: { lost: 0 } });
});

test("W6: an agent program that met an outage is started again after a while, and its attempt does not count", async () => {
  const { app } = await newWorkspace();
  const run = await newRun(app, tasks);
  let failures = 0;
  const worker = writes();
  const agents = playing({
    worker: async (scene) =>
      scene.number === "1.1" && failures++ < 2
        ? { ended: "outage", outage: "passes", error: "Claude Code cannot use its model: 529" }
        : worker(scene),
    qc: async ({ number, use }) => {
      const evidence = [{ criterion: 1, met: true, quote: `made ${number}`, from: "output" }];
      await use("submit_verdict", { verdict: "PASS", score: 90, feedback: "Good.", evidence });
    },
    preamble: async ({ use }) => void (await use("submit_preamble", { content: "You do careful work. ".repeat(5) })),
  });
  expect(await executed(app, run, agents)).toMatchObject({ state: "completed", tasks: { completed: 3 } });
  expect(failures).toBe(3);
  const attempts = await attemptsOf(app.db.read, { run });
  expect(attempts.every(({ attempt }) => attempt === 1)).toBe(true);
  expect((await app.runs.find(run))?.reason).toBeNull();
});
