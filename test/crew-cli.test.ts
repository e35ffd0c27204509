import { appendFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { findSandbox } from "../src/agents/sandbox.ts";
import { acceptedBranch } from "../src/crew/worktree.ts";
import { contextsOf } from "../src/store/runs.ts";
import { agentCli } from "./support/agent-clis.ts";
import { scriptorium, start } from "./support/commands.ts";
import { planned, verdictOf } from "./support/crew.ts";
import { modelServer } from "./support/model-server.ts";
import type { Heard, Reply } from "./support/model-wire.ts";
import {
  engines,
  newWorkspace,
  read,
  type TestWorkspace,
  temporaryFolder,
  testEnvironment,
} from "./support/workspace.ts";

const sandboxed = (await findSandbox("bubblewrap", testEnvironment())).ok;
const canary = "sk-canary-4f1d";
const key = { FAKE_KEY: canary };

type PlanTasks = ReturnType<typeof planned>[];

/** A model that plays every part of a crew, told apart by the tools it is given. */
function mind(tasks: PlanTasks, onTask: (number: string, heard: Heard) => Reply | undefined = () => undefined) {
  return (heard: Heard): Reply => {
    const has = (tool: string) => heard.tools.some((name) => name.endsWith(tool));
    const name = (tool: string) => heard.tools.find((one) => one.endsWith(tool)) ?? tool;
    const call = (tool: string, input: unknown): Reply => ({ calls: [{ name: name(tool), input }] });
    const said = heard.messages.map((message) => message.text).join("\n");
    const number = /# (?:Verify task|Task) ([\d.]+)/.exec(said)?.[1] ?? "";
    if (has("submit_preamble"))
      return call("submit_preamble", { text: "You do careful work, look twice, and say what you saw. ".repeat(2) });
    if (has("submit_plan")) {
      return call("submit_plan", { title: "A run", summary: "", assumptions: [], cites: [], tasks });
    }
    if (/"status":"submitted"|"outcome":/.test(JSON.stringify(heard.body).replaceAll("\\", "")))
      return { text: "Done." };
    const special = onTask(number, heard);
    if (special) return special;
    if (has("submit_verdict")) {
      const text = tasks.find((task) => task.number === number)?.deliverable === "text";
      const evidence = [{ criterion: 1, met: true, quote: `made ${number}`, from: text ? "output" : "the file" }];
      return call("submit_verdict", verdictOf(true, { evidence }));
    }
    const isFile = tasks.find((task) => task.number === number)?.deliverable === "files";
    if (isFile && !said.includes(`"bytes":`))
      return call("write_file", { path: `out/${number}.txt`, text: `${number}\n` });
    return call("submit_output", { output: `made ${number}` });
  };
}

async function workspace(engine: (typeof engines)[number], url: string, more: object = {}): Promise<TestWorkspace> {
  const made = await newWorkspace({ engine });
  const crew = {
    sandbox: sandboxed ? "bubblewrap" : "none",
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
    const think = mind(tasks, (number, heard) => {
      if (number !== "1.1" || heard.tools.includes("submit_verdict")) return undefined;
      if (!JSON.stringify(heard.body).includes("call-"))
        return { calls: [{ name: "run_command", input: { run: ["env"] } }] };
      return undefined;
    });
    const verdict = verdictOf(true, {
      evidence: [1, 2].map((criterion) => ({
        criterion,
        met: true,
        quote: "seen",
        from: criterion === 2 ? "check" : "file",
      })),
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
    const plan = (await scriptorium(["plan", "Make it so", "--json"], { cwd: root, env: key })).json<{
      run: string;
      chain: string;
      tasks: object[];
    }>();
    expect(plan.tasks).toHaveLength(3);

    const dry = await scriptorium(["execute", plan.chain, "--dry-run", "--json"], { cwd: root, env: key });
    expect(dry.json()).toMatchObject({ run: plan.run, worker: "model fake/one", qc: "model other/two" });

    const ran = await scriptorium(["execute", plan.run, "--workers", "2", "--json"], { cwd: root, env: key });
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
    const shown = (await scriptorium(["run", "show", plan.run, "--json"], { cwd: root })).json();
    expect(shown).toMatchObject({ state: "completed" });
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
      mind(tasks, (number, heard) => {
        if (number !== "1.1" || !heard.tools.includes("submit_verdict")) return undefined;
        const evidence = [1, 2].map((criterion) => ({
          criterion,
          met: true,
          quote: "seen",
          from: criterion === 2 ? "check" : "file",
        }));
        if (failed) return { calls: [{ name: "submit_verdict", input: verdictOf(true, { evidence }) }] };
        failed = true;
        return { calls: [{ name: "submit_verdict", input: verdictOf(false) }] };
      }),
    );
    const { root, app, git } = await workspace(engine, url);
    const { run } = (await scriptorium(["plan", "Make it so", "--json"], { cwd: root, env: key })).json<{
      run: string;
    }>();
    for (const point of ["crew-collected", "crew-checked", "crew-failed", "crew-merged"]) {
      const crashed = await scriptorium(["execute", run], { cwd: root, env: { ...key, SCRIPTORIUM_CRASH_AT: point } });
      expect([point, crashed.signal]).toEqual([point, "SIGKILL"]);
    }
    const resumed = await scriptorium(["run", "resume", run, "--json"], { cwd: root, env: key });
    expect(lines(resumed.stdout).at(-1)).toMatchObject({ state: "completed", tasks: { completed: 2 } });
    expect(git("show", `${acceptedBranch(run)}:out/1.1.txt`)).toBe("1.1");
    expect(git("fsck", "--strict", "--no-dangling")).toBe("");
    expect(git("worktree", "list").split("\n")).toHaveLength(1);
    const verdicts = await app.db.read.selectFrom("verdicts").select(["task_id", "attempt", "outcome"]).execute();
    expect(verdicts.map((row) => [row.attempt, row.outcome]).sort()).toEqual([
      [1, "FAIL"],
      [1, "PASS"],
      [2, "PASS"],
    ]);
  });
});

test("C4, O16: hands that are killed at random, a hundred tasks, and the end is the same as undisturbed", async () => {
  const tasks = [
    planned("0"),
    ...Array.from({ length: 99 }, (_, i) => planned(`1.${i + 1}`, { deliverable: i % 12 === 0 ? "files" : "text" })),
  ];
  const { url } = await modelServer(mind(tasks));
  const { root, app, git } = await workspace("sqlite", url, { sandbox: "none" });
  const { run } = (await scriptorium(["plan", "Make it so", "--json"], { cwd: root, env: key })).json<{
    run: string;
  }>();
  const begin = (command: string[]) => {
    const child = start("scriptorium.js", [...command, run, "--workers", "5", "--json"], root, key);
    child.stdout?.resume();
    return { child, ended: new Promise<number | null>((done) => child.once("close", done)) };
  };
  let main = begin(["execute"]);
  let second = begin(["work"]);
  for (let kills = 0; kills < 4; kills++) {
    await sleep(600 + Math.random() * 900);
    if (kills % 2 === 0) {
      main.child.kill("SIGKILL");
      await main.ended;
      main = begin(["run", "resume"]);
    } else {
      second.child.kill("SIGKILL");
      await second.ended;
      second = begin(["work"]);
    }
  }
  const code = await main.ended;
  await second.ended;
  expect(code).toBe(0);
  const states = (await app.runs.tasks(run)).map((row) => row.task.state);
  expect(states).toEqual(Array.from({ length: 100 }, () => "completed"));
  const files = tasks.filter((task) => task.deliverable === "files").map((task) => `out/${task.number}.txt`);
  expect(git("ls-tree", "-r", "--name-only", acceptedBranch(run), "out").split("\n").sort()).toEqual(files.sort());
  const finished = (await contextsOf(app.db.read, { run })).filter(
    (row) => row.part === "worker" && row.ended === "exit",
  );
  const accepted = await app.db.read
    .selectFrom("attempts")
    .select("task_id")
    .where("phase", "=", "qc_passed")
    .execute();
  expect(new Set(accepted.map((row) => row.task_id)).size).toBe(100);
  expect(finished.length).toBeGreaterThanOrEqual(100);
  const twice = accepted.length - 100;
  expect(twice).toBe(0);
  expect(git("fsck", "--strict", "--no-dangling")).toBe("");
  expect(git("worktree", "list").split("\n")).toHaveLength(1);
}, 120_000);

test("demo: a whole run without a key, with one failed verification, a retry and a report", async () => {
  const folder = temporaryFolder();
  const ran = await scriptorium(["demo", "--no-open"], { cwd: folder, env: { TMPDIR: folder } });
  expect([ran.code, ran.stderr]).toEqual([0, ""]);
  expect(ran.stdout).toContain("The agents of this demo are scripted");
  expect(ran.stdout).toMatch(/task 1\.3, attempt 1 FAIL, score 55[\s\S]*task 1\.3, attempt 2 PASS/);
  const report = /The report: (.+)$/m.exec(ran.stdout)?.[1] ?? "";
  expect(read(report)).toContain("5 of 5 tasks are accepted");
}, 60_000);

test("the real Claude Code works and verifies through its tools alone, against a model on loopback", async (context) => {
  const bin = await agentCli("claude");
  if (!bin) return context.skip();
  const tasks = [planned("0"), planned("1.1")];
  const { url, heard } = await modelServer(mind(tasks));
  const made = await newWorkspace();
  const agent = { author_name: "Crew", author_email: "crew@example.org", claude_bin: bin };
  const crew = {
    sandbox: sandboxed ? "bubblewrap" : "none",
    agents: { all: { runner: "model", model: "other/two" }, worker: { runner: "claude" }, qc: { runner: "claude" } },
    providers: { other: { kind: "anthropic", base_url: `${url}/v1`, key_env: "ANTHROPIC_API_KEY" } },
  };
  appendFileSync(made.file("scriptorium.yaml"), `agent: ${JSON.stringify(agent)}\ncrew: ${JSON.stringify(crew)}\n`);
  writeFileSync(made.file("CLAUDE.txt"), "nothing\n");
  made.git("add", "-A");
  made.git("commit", "-qm", "Configure the crew");
  const home = temporaryFolder();
  const env = {
    HOME: home,
    CLAUDE_CONFIG_DIR: join(home, ".claude"),
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: canary,
    CLAUDE_CODE_MAX_RETRIES: "1",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: "1",
  };
  const plan = await scriptorium(["plan", "Make it so", "--json"], { cwd: made.root, env });
  const { run } = plan.json<{ run: string }>();
  const ran = await scriptorium(["execute", run, "--workers", "1", "--json"], { cwd: made.root, env });
  expect(lines(ran.stdout).at(-1)).toMatchObject({ state: "completed", tasks: { completed: 2 } });
  expect(made.git("show", `${acceptedBranch(run)}:out/1.1.txt`)).toBe("1.1");
  const used = (await contextsOf(made.app.db.read, { run })).filter(
    (row) => row.part === "worker" || row.part === "qc",
  );
  expect(used.map((row) => [row.runner, (row.input_tokens ?? 0) > 0])).toEqual(used.map(() => ["claude", true]));
  expect(heard.some((one) => one.tools.includes("mcp__scriptorium__submit_verdict"))).toBe(true);
}, 180_000);
