import { type ChildProcess, spawn } from "node:child_process";
import { appendFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { transform } from "esbuild";
import { describe, expect, onTestFinished, test } from "vitest";
import { acceptedBranch } from "../src/crew/rules/branches.ts";
import { unwrap } from "../src/kernel/result.ts";
import { openWorkspace } from "../src/library.ts";
import { handIn, passes, planned, playing, seenBy, verdictOf, writes } from "./support/crew.ts";
import { crewOfOneModel } from "./support/crew-mind.ts";
import { planOf } from "./support/plans.ts";
import { newWorkspace, sampledEngines, temporaryFolder, testEnvironment } from "./support/workspace.ts";

const repository = new URL("..", import.meta.url).pathname;
const tasks = [planned("0"), planned("1.1"), planned("1.2")];

describe.each(sampledEngines)("O19: the parts of the crew in the library (%s)", (engine) => {
  async function opened() {
    const made = await newWorkspace({ engine });
    appendFileSync(made.file("scriptorium.yaml"), "crew: {sandbox: none}\n");
    made.git("commit", "-qam", "Run without a sandbox");
    const workspace = await openWorkspace(made.root);
    onTestFinished(() => workspace.close());
    return { ...made, workspace };
  }

  test("O19: the planner researches, plans from its findings, and the plan can be edited before it is started", async () => {
    const { workspace } = await opened();
    const asked: string[] = [];
    const agents = playing({
      pm: async ({ told, spec, use }) => {
        const tools = spec.tools?.operations.map(({ name }) => name) ?? [];
        asked.push(told);
        if (!tools.includes("submit_research")) return void (await handIn(spec, planOf(tasks)));
        expect(tools).toEqual(expect.arrayContaining(["read_file", "memory_search_nodes", "search_entries"]));
        expect(tools).not.toContain("add_plan_tasks");
        await use("submit_research", { findings: "greet() is in src/greet.js.", files: ["src/greet.js: changes"] });
      },
      worker: writes(),
      qc: passes,
    });
    const { pm, pool, qc } = unwrap(await workspace.crew({ agents }));
    const research = unwrap(await pm.research("Say goodbye"));
    expect(research).toMatchObject({ request: "Say goodbye", findings: expect.stringContaining("src/greet.js") });
    const show = () => workspace.call("show_run", { id: research.run });
    expect(unwrap(await show())).toMatchObject({ state: "planning", brief: research.findings });

    const graph = unwrap(await pm.createTaskGraph({ ...research, findings: `${research.findings}\n\nAsk Ada.` }));
    expect(graph).toMatchObject({ run: research.run, tasks: [{ number: "0" }, { number: "1.1" }, { number: "1.2" }] });
    expect(asked[1]).toContain("greet() is in src/greet.js.");
    expect(asked[1]).toContain("Ask Ada.");
    expect(await pm.createTaskGraph(research)).toMatchObject({ problem: { code: "conflict" } });

    // Nothing happens before the start, with workers there.
    unwrap(pool.spawn(1));
    expect(unwrap(await qc.verifyCompletedTasks())).toEqual({ tasks: [], finished: [] });
    const chain = readFileSync(graph.chain, "utf8");
    writeFileSync(graph.chain, chain.replace("Do 1.2", "Do 1.2 in another way"));
    unwrap(await pm.start(graph.run));
    unwrap(await qc.verifyCompletedTasks(graph.run, { wait: true }));
    expect(unwrap(await show()).tasks.map(({ title }) => title)).toContain("Do 1.2 in another way");
  });

  test("O13, O19: a pool works and a verifier elsewhere judges, up to the report", async () => {
    const { workspace, root, git } = await opened();
    const verified: string[] = [];
    const agents = playing({
      pm: async ({ spec }) => void (await handIn(spec, planOf(tasks))),
      worker: writes(),
      qc: async (scene) => {
        verified.push(`${scene.number}${scene.retry ? " again" : ""}`);
        const met = scene.number !== "1.2" || scene.retry || verified.includes("1.2 failed");
        if (!met) verified.push("1.2 failed");
        await scene.use("submit_verdict", met ? verdictOf(true, { evidence: await seenBy(scene) }) : verdictOf(false));
      },
    });
    const { pm, pool } = unwrap(await workspace.crew({ agents }));
    const elsewhere = await openWorkspace(root);
    onTestFinished(() => elsewhere.close());
    const { qc } = unwrap(await elsewhere.crew({ agents }));
    const { run } = unwrap(await pm.createTaskGraph("Make two files"));
    unwrap(await pm.start(run));
    expect(unwrap(pool.spawn(1)).workers).toHaveLength(1);
    expect(unwrap(pool.scale(3))).toMatchObject({ healthy: true, workers: { length: 3 } });
    const state = async (number: string) =>
      unwrap(await workspace.call("show_run", { id: run })).tasks.find((task) => task.number === number)?.state;
    // Workers alone: nothing is verified.
    await expect.poll(() => state("0")).toBe("worker_completed");
    expect(verified).toEqual([]);
    const first = unwrap(await qc.verifyCompletedTasks(run));
    expect(first).toMatchObject({ tasks: [{ run, number: "0", state: "completed", verdict: { outcome: "PASS" } }] });
    const { tasks: judged, finished } = unwrap(await qc.verifyCompletedTasks(run, { wait: true, verifiers: 2 }));
    expect(judged.map(({ number, state, attempt }) => `${number} ${state} ${attempt}`).sort()).toEqual([
      "1.1 completed 1",
      "1.2 completed 2",
    ]);
    expect(finished).toMatchObject([{ run, state: "completed", branch: acceptedBranch(run) }]);
    expect(readFileSync(finished[0]?.report ?? "", "utf8")).toContain("3 of 3 tasks accepted");
    expect(git("show", `${acceptedBranch(run)}:out/1.2.txt`)).toBe("1.2");
    expect(pool.metrics()).toMatchObject({ claims: 4, failed: 0, workers: 3, busy: 0 });
    await pool.stop(1000);
    expect(pool.spawn(1)).toMatchObject({ problem: { code: "conflict" } });
  });

  test("O13: a pool that is stopped hands its tasks back, and a task that no worker can do fails the run", async () => {
    const { workspace } = await opened();
    let started = 0;
    const agents = playing({
      pm: async ({ spec }) => void (await handIn(spec, planOf([planned("0", { max_retries: 0 })]))),
      worker: ({ signal }) =>
        ++started === 1
          ? new Promise((done) => signal.addEventListener("abort", () => done(undefined)))
          : Promise.resolve({ exitCode: 1, errorTail: "cannot" }),
    });
    const { pm, pool } = unwrap(await workspace.crew({ agents }));
    const { run } = unwrap(await pm.createTaskGraph("Make it"));
    unwrap(await pm.start(run));
    unwrap(pool.spawn(1));
    await expect.poll(() => started).toBe(1);
    expect(pool.healthCheck().workers).toMatchObject([{ task: expect.stringMatching(/^task-/) }]);
    await pool.stop(0);
    const shown = async () => unwrap(await workspace.call("show_run", { id: run }));
    expect((await shown()).tasks.map((task) => task.state)).toEqual(["pending"]);

    const again = unwrap(await workspace.crew({ agents }));
    unwrap(again.pool.spawn(1));
    await expect.poll(async () => (await shown()).state).toBe("failed");
    expect((await shown()).reason).toBe("one task was not accepted");
  });

  test("O19: bad input is refused with what to do", async () => {
    const { workspace } = await opened();
    const { pm, pool, qc } = unwrap(await workspace.crew({ agents: playing({}) }));
    const message = async (result: unknown) =>
      (await (result as Promise<{ problem?: { message: string } }>)).problem?.message;
    expect(await message(pm.research(" "))).toContain("the request is empty");
    expect(await message(pm.createTaskGraph(""))).toContain("the request is empty");
    expect(await message(pm.createTaskGraph({ run: "run-none", request: "", findings: "" }))).toContain("run-none");
    expect(await message(pm.start("run-none"))).toContain("run-none");
    expect(await message(pool.spawn(-1))).toBe("-1 is not a number of workers: expected 0 to 1000");
    expect(await message(qc.verifyCompletedTasks("run-none"))).toContain("run-none");
    expect(await message(qc.verifyCompletedTasks(undefined, { verifiers: 0 }))).toContain("expected 1 to 1000");
    expect(await message(pm.research("Do it"))).toContain("the planner ended without findings");
  });
});

/** Compiles an example program as a user would, beside the package. */
async function compiled(name: string): Promise<string> {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(repository, join(folder, "node_modules/scriptorium"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  const { code } = await transform(readFileSync(join(repository, "docs/examples/crew", name), "utf8"), {
    loader: "ts",
  });
  const file = join(folder, name.replace(/ts$/, "js"));
  writeFileSync(file, code);
  return file;
}

function started(
  file: string,
  args: string[],
): { child: ChildProcess; ended: Promise<{ code: number | null; out: string }> } {
  const child = spawn(process.execPath, [file, ...args], { env: { ...testEnvironment(), FAKE_KEY: "sk-1" } });
  onTestFinished(() => void child.kill("SIGKILL"));
  let out = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (out += String(text)));
  const ended = new Promise<{ code: number | null; out: string }>((done) =>
    child.on("close", (code) => done({ code, out })),
  );
  return { child, ended };
}

test("O19, P5: the example program carries out a request without the command line", async () => {
  const { root, git } = await newWorkspace({ config: await crewOfOneModel(tasks) });
  const { code, out } = await started(await compiled("run.ts"), [root, "Make two files"]).ended;
  expect(out).toMatch(/^planned 0: Do 0\nplanned 1.1: Do 1.1\nplanned 1.2: Do 1.2\n/);
  expect(out).toContain("completed 1.2: score 92");
  const [, branch = ""] = /^completed: (\S+), \S+execution-report\.md$/m.exec(out) ?? [];
  expect(out).toContain("healthy: true");
  expect([code, git("show", `${branch}:out/1.1.txt`)]).toEqual([0, "1.1"]);
});

test("O19: a verifier in a process of its own verifies what a pool in another process completes", async () => {
  const { root } = await newWorkspace({ config: await crewOfOneModel(tasks) });
  const verifier = started(await compiled("verify.ts"), [root]);
  process.env.FAKE_KEY = "sk-1";
  onTestFinished(() => void delete process.env.FAKE_KEY);
  const workspace = await openWorkspace(root);
  onTestFinished(() => workspace.close());
  const { pm, pool } = unwrap(await workspace.crew());
  const { run } = unwrap(await pm.createTaskGraph("Make two files"));
  unwrap(await pm.start(run));
  unwrap(pool.spawn(2));
  await expect.poll(async () => unwrap(await workspace.call("show_run", { id: run })).state).toBe("completed");
  verifier.child.kill("SIGTERM");
  const { code, out } = await verifier.ended;
  expect(out.trim().split("\n").sort()).toEqual(tasks.map(({ number }) => `${run} ${number}: completed`));
  expect(code).toBe(0);
});

test("P5: the guide shows the example programs as they are", () => {
  const guide = readFileSync(join(repository, "docs/guides/library.md"), "utf8");
  for (const name of ["run.ts", "verify.ts"])
    expect(guide).toContain(readFileSync(join(repository, "docs/examples/crew", name), "utf8"));
});
