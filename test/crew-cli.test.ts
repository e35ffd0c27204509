import { appendFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { findSandbox } from "../src/agents/sandbox.ts";
import { acceptedBranch } from "../src/crew/rules/branches.ts";
import { attemptsOf, unlearntTasks } from "../src/store/queries/attempts.ts";
import { contextsOf } from "../src/store/queries/contexts.ts";
import { scriptoriumProcess, serveProcess, start } from "./support/commands.ts";
import { newRun, planned, verdictOf } from "./support/crew.ts";
import { crewMind } from "./support/crew-mind.ts";
import { modelServer } from "./support/model-server.ts";
import type { Reply } from "./support/model-wire.ts";
import { ask } from "./support/requests.ts";
import { thorough } from "./support/thorough.ts";
import { engines, newWorkspace, read, sampleSchema, type TestWorkspace, testEnvironment } from "./support/workspace.ts";

const sandboxed = (await findSandbox("auto", testEnvironment())).ok;
const canary = "sk-canary-4f1d";
const key = { FAKE_KEY: canary };

const handoffs =
  "    - { id: handoffs, title: Handoffs, mode: log, writable_by: [engineer, architect], description: x. }\n";

async function workspace(engine: (typeof engines)[number], url: string, more: object = {}): Promise<TestWorkspace> {
  const made = await newWorkspace({ engine, schema: sampleSchema.replace("pipeline:", `${handoffs}pipeline:`) });
  const crew = {
    sandbox: sandboxed ? "auto" : "none",
    agents: {
      all: { runner: "model", model: "fake/one" },
      qc: { model: "other/two" },
    },
    providers: {
      fake: { kind: "openai", base_url: `${url}/v1`, key_env: "FAKE_KEY" },
      other: { kind: "anthropic", base_url: `${url}/v1`, key_env: "FAKE_KEY" },
    },
    ...more,
  };
  appendFileSync(made.file("scriptorium.yaml"), `claims: {lease_seconds: 20}\ncrew: ${JSON.stringify(crew)}\n`);
  made.git("commit", "-qam", "Configure the crew");
  return made;
}

const lines = (text: string) =>
  text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe.each(engines)("the command line on %s", (engine) => {
  test("O3, O4, O5, O11, O19: plan and execute on two kinds of model, through failures of their servers", async () => {
    const env = { criterion: "the key is not there", check: { run: ["sh", "-c", "env; ls -A $HOME"], exits: 0 } };
    const tasks = [
      planned("0"),
      planned("1.1", { verification: [{ criterion: "made" }, env] }),
      planned("1.2", { depends_on: ["1.1"] }),
    ];
    const troubles: Reply[] = [
      { status: 429, headers: { "retry-after-ms": "5" } },
      { status: 500, headers: { "retry-after-ms": "5" } },
      { cut: "middle" },
      { garbage: true },
    ];
    const think = crewMind(tasks, (number, heard) => {
      if (number !== "1.1" || heard.tools.includes("submit_verdict")) return undefined;
      if (!JSON.stringify(heard.body).includes("call-"))
        return { calls: [{ name: "run_command", input: { run: ["env"] } }] };
      return undefined;
    });
    const verdict = verdictOf(true, {
      evidence: [
        { criterion: 1, met: true, quote: "1.1", from: "file", ref: "out/1.1.txt" },
        { criterion: 2, met: true, quote: "exit code 0", from: "check" },
      ],
    });
    let troubled = false;
    const { url, heard } = await modelServer((asked) => {
      // Never two in a row for one call: the waits between tries grow.
      troubled = !troubled && asked.tools.includes("submit_output");
      const trouble = troubled ? troubles.shift() : undefined;
      if (trouble) return trouble;
      const judging = asked.tools.includes("submit_verdict") && asked.messages[0]?.text.includes("Verify task 1.1");
      return judging ? { calls: [{ name: "submit_verdict", input: verdict }] } : think(asked);
    });
    const { root, app, git } = await workspace(engine, url);
    const plan = (await scriptoriumProcess(["plan", "Make it so", "--json"], { cwd: root, env: key })).json<{
      run: string;
      chain: string;
      tasks: object[];
    }>();
    expect(plan.tasks).toHaveLength(3);

    if (engine === "sqlite") {
      const dry = await scriptoriumProcess(["execute", plan.chain, "--dry-run", "--json"], { cwd: root, env: key });
      expect(dry.json()).toMatchObject({ run: plan.run, worker: "model fake/one", qc: "model other/two" });
    }

    const ran = await scriptoriumProcess(["execute", plan.run, "--workers", "2", "--json"], { cwd: root, env: key });
    expect([ran.code, ran.stderr]).toEqual([0, ""]);
    const events = lines(ran.stdout);
    expect(events.at(-1)).toMatchObject({ kind: "summary", state: "completed", tasks: { all: 3, completed: 3 } });
    expect(events.map((event) => event.kind)).toContain("verdict");
    expect(git("show", `${acceptedBranch(plan.run)}:out/1.2.txt`)).toBe("1.2");
    expect(new Set(heard.filter((one) => one.tools.includes("submit_verdict")).map((one) => one.model))).toEqual(
      new Set(["two"]),
    );
    expect(new Set(heard.filter((one) => one.tools.includes("submit_output")).map((one) => one.model))).toEqual(
      new Set(["one"]),
    );
    expect(troubles).toEqual([]);
    for (const tool of ["submit_output", "submit_verdict"])
      for (const { system, messages } of heard.filter((one) => one.tools.includes(tool))) {
        // Every worker and every verifier has the preamble of its role and the rules of its part.
        expect(system || messages[0]?.text).toMatch(/look twice[\s\S]*Rules:/);
      }

    // T18, T19: the key reached the model's server and nothing else.
    expect(new Set(heard.map((one) => one.key))).toEqual(new Set([canary]));
    const kept = await Promise.all(
      (["tool_calls", "contexts", "events", "check_results"] as const).map((table) =>
        app.db.read.selectFrom(table).selectAll().execute(),
      ),
    );
    const logs = readdirSync(join(root, ".scriptorium/agent-logs")).map((file) =>
      read(join(root, ".scriptorium/agent-logs", file)),
    );
    for (const text of [JSON.stringify(kept), ...logs, read(join(root, "runs", plan.run, "execution-report.md"))]) {
      expect(text).not.toContain(canary);
    }
  });

  test("C4: killed between any two steps, a run goes on to the same end, and nothing that was finished is paid for again", async () => {
    const tasks = [
      planned("0"),
      planned("1.1", {
        verification: [{ criterion: "made" }, { criterion: "there", check: { file: "out/1.1.txt", exists: true } }],
      }),
    ];
    let failed = false;
    const { url } = await modelServer(
      crewMind(tasks, (number, heard) => {
        if (number !== "1.1" || !heard.tools.includes("submit_verdict")) return undefined;
        const evidence = [
          { criterion: 1, met: true, quote: "1.1", from: "file", ref: "out/1.1.txt" },
          { criterion: 2, met: true, quote: "out/1.1.txt exists", from: "check" },
        ];
        if (failed) return { calls: [{ name: "submit_verdict", input: verdictOf(true, { evidence }) }] };
        failed = true;
        return { calls: [{ name: "submit_verdict", input: verdictOf(false) }] };
      }),
    );
    const { root, app, git } = await workspace(engine, url);
    const run = await newRun(app, tasks);
    const points = [
      // B3: between the transaction that accepts a task and the move of the branch in git.
      ...["crew-collected", "crew-checked", "crew-failed", "crew-merged", "accept-recorded"],
      ...["crew-report-claimed", "crew-reported"],
    ];
    // Each is one more start of the command: the second engine is killed at the first step and at the merge.
    for (const point of points.filter((_, i) => engine === "sqlite" || i % 3 === 0)) {
      const crashed = await scriptoriumProcess(["execute", run], {
        cwd: root,
        env: { ...key, SCRIPTORIUM_CRASH_AT: point },
      });
      expect([point, crashed.signal]).toEqual([point, "SIGKILL"]);
    }
    const resumed = await scriptoriumProcess(["run", "resume", run, "--json"], { cwd: root, env: key });
    expect(lines(resumed.stdout).at(-1)).toMatchObject({ state: "completed", tasks: { completed: 2 } });
    // W13: the final report is paid for once, whichever process was killed while it was written.
    const final = (await contextsOf(app.db.read, { run })).filter(({ part }) => part === "reporter");
    expect(final).toHaveLength(1);
    expect(read(join(root, "runs", run, "execution-report.md"))).toContain("> It is made.");
    expect(git("show", `${acceptedBranch(run)}:out/1.1.txt`)).toBe("1.1");
    expect(git("fsck", "--strict", "--no-dangling")).toBe("");
    expect(git("worktree", "list").split("\n")).toHaveLength(1);
    expect(await unlearntTasks(app.db.read, run)).toEqual([]);
    const log = (await app.entries.fetch("handoffs")).content.trim().split("\n");
    expect(log.filter((line) => line.includes("is done"))).toHaveLength(2);
    const verdicts = await app.db.read.selectFrom("verdicts").select(["task_id", "attempt", "outcome"]).execute();
    expect(verdicts.map((row) => [row.attempt, row.outcome]).sort()).toEqual([
      [1, "FAIL"],
      [1, "PASS"],
      [2, "PASS"],
    ]);
  });
});

/** Ten hands in two processes, the server one of them; each is killed again and again while the work goes on. */
test.each([
  ["sqlite", thorough ? 100 : 40],
  ["postgres", 16],
] as const)(
  "C4, O16: server and workers are killed on %s while they do %i tasks, and the end is the same as undisturbed",
  async (engine, count) => {
    const tasks = [
      planned("0"),
      ...Array.from({ length: count - 1 }, (_, i) =>
        planned(`1.${i + 1}`, { deliverable: i % 12 === 0 ? "files" : "text" }),
      ),
    ];
    const { url, heard } = await modelServer(crewMind(tasks));
    const { root, app, git } = await workspace(engine, url, { sandbox: "none", workers: 5 });
    const run = await newRun(app, tasks);
    const completed = async () => (await app.runs.tasks(run)).filter(({ task }) => task.state === "completed").length;
    const help = () => {
      const child = start("scriptorium.js", ["work", run, "--workers", "5", "--json"], root, key);
      child.stdout?.resume();
      return { child, ended: new Promise<void>((done) => child.once("close", () => done())) };
    };
    let server = await serveProcess(root, key);
    const asked = { token: server.token, method: "POST", body: {} };
    expect((await ask(server.url, `/api/runs/${run}/execute`, asked)).status).toBe(200);
    let helper = help();
    const kills = engine === "sqlite" ? [0.15, 0.35, 0.55, 0.75] : [0.4];
    for (const [i, share] of kills.entries()) {
      await until(async () => (await completed()) >= share * count);
      if (i % 2 === 0) {
        await server.stop("SIGKILL");
        // It goes on by itself.
        server = await serveProcess(root, key);
      } else {
        helper.child.kill("SIGKILL");
        await helper.ended;
        helper = help();
      }
    }
    await helper.ended;
    await until(async () => (await app.runs.find(run))?.state === "completed");
    await server.stop();
    expect(await completed()).toBe(count);
    const files = tasks.filter((task) => task.deliverable === "files").map((task) => `out/${task.number}.txt`);
    expect(git("ls-tree", "-r", "--name-only", acceptedBranch(run), "out").split("\n").sort()).toEqual(files.sort());

    // Nothing is paid twice: work is done again only where a hand was cut off in the middle of it.
    const attempts = await attemptsOf(app.db.read, { run });
    const phases = (phase: string) => attempts.filter((row) => row.phase === phase);
    expect(new Set(phases("qc_passed").map((row) => row.task_id)).size).toBe(count);
    expect(phases("qc_passed")).toHaveLength(count);
    expect(phases("abandoned").length).toBeLessThanOrEqual(5 * kills.length);
    const judged = heard.filter((one) => one.tools.includes("submit_verdict") && one.messages.length === 1).length;
    expect(judged).toBeLessThanOrEqual(count + 5 * kills.length);
    expect(await unlearntTasks(app.db.read, run)).toEqual([]);
    expect(git("fsck", "--strict", "--no-dangling")).toBe("");
    expect(git("worktree", "list").split("\n")).toHaveLength(1);
  },
);

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const from = Date.now();
  while (!(await isSo())) {
    if (Date.now() - from > 120_000) throw new Error("it never came to that");
    await sleep(50);
  }
}
