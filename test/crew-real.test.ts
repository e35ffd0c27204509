import { appendFileSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, type TestContext, test } from "vitest";
import { survivors } from "../src/agents/survivors.ts";
import { acceptedBranch } from "../src/crew/rules/branches.ts";
import { attemptsOf } from "../src/store/queries/attempts.ts";
import { contextsOf } from "../src/store/queries/contexts.ts";
import { verdictsOf } from "../src/store/queries/verdicts.ts";
import { agentCli } from "./support/agent-clis.ts";
import {
  agentOf,
  blockOf,
  type CrewCli,
  crewFiles,
  crewMindOf,
  crewTasks,
  environmentOf,
  ownKey,
} from "./support/cli-crew.ts";
import { killAtRandom, leftOver, markName } from "./support/cli-kills.ts";
import { scriptoriumProcess, start } from "./support/commands.ts";
import { modelServer } from "./support/model-server.ts";
import type { Heard, Reply } from "./support/model-wire.ts";
import { needs } from "./support/programs.ts";
import { runWorker } from "./support/run-worker.ts";
import { newWorkspace, temporaryFolder, testEnvironment } from "./support/workspace.ts";

/** A test may have to install its agents first. */
const installing = { timeout: 900_000 };

type Crew = { worker: CrewCli; qc: CrewCli };

/** A workspace whose crew is made of real CLIs, in the sandbox, with a planned run. */
async function crewOf(
  { worker, qc }: Crew,
  skip: TestContext["skip"],
  more: Record<string, unknown> = {},
  mindOf: (secret: string) => (heard: Heard) => Reply | Promise<Reply> = crewMindOf,
) {
  const bins: Partial<Record<CrewCli, string>> = {};
  for (const cli of new Set([worker, qc])) bins[cli] = await agentCli(cli, skip);
  const made = await newWorkspace();
  const secret = made.file(".scriptorium/a-secret");
  writeFileSync(secret, "the-secret-of-the-state-folder\n");
  const { url, heard } = await modelServer(mindOf(secret));
  const agents = { all: agentOf(worker, bins[worker] ?? ""), qc: agentOf(qc, bins[qc] ?? "") };
  const crew = { sandbox: "bubblewrap", network: "model-only", agents };
  const blocks = { agent: blockOf(bins), crew, ...more };
  const lines = Object.entries(blocks).map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`);
  appendFileSync(made.file("scriptorium.yaml"), lines.join(""));
  made.git("commit", "-qam", "Configure the crew");
  const how = { cwd: made.root, env: environmentOf(url, temporaryFolder()) };
  const plan = await scriptoriumProcess(["plan", "Make it so", "--json"], how);
  expect(plan.code, plan.stderr).toBe(0);
  return { ...made, url, heard, how, run: plan.json<{ run: string }>().run };
}

describe(
  "R8, O4, O11, S12: real agent CLIs execute a whole run against a model on loopback",
  needs("bubblewrap"),
  () => {
    test.for<[string, Crew]>([
      ["Claude Code", { worker: "claude", qc: "claude" }],
      ["Codex", { worker: "codex", qc: "codex" }],
      ["Qwen Code over ACP", { worker: "qwen", qc: "qwen" }],
      ["Claude Code, verified by Codex", { worker: "claude", qc: "codex" }],
    ])("%s", installing, async ([_name, crew], { skip }) => {
      const { app, git, url, heard, how, run } = await crewOf(crew, skip);
      const ran = await scriptoriumProcess(["execute", run, "--workers", "2", "--json"], how);
      expect(JSON.parse(ran.stdout.trim().split("\n").at(-1) ?? ""), ran.stderr).toMatchObject({
        state: "completed",
        tasks: { all: crewTasks.length, completed: crewTasks.length },
      });

      for (const number of crewFiles)
        expect(git("show", `${acceptedBranch(run)}:out/${number}.txt`)).toBe(`made ${number}`);
      const attempts = await attemptsOf(app.db.read, { run });
      expect(attempts.map(({ phase }) => phase).sort()).toEqual(["qc_failed", ...crewTasks.map(() => "qc_passed")]);

      const verdicts = await verdictsOf(app.db.read, { run });
      expect(verdicts).toHaveLength(crewTasks.length + 1);
      for (const { evidence, voided_at } of verdicts) {
        expect(voided_at).toBeNull();
        const [one] = evidence;
        if (one?.from !== "call") continue;
        const cited = await app.db.read
          .selectFrom("tool_calls")
          .selectAll()
          .where("id", "=", one.ref)
          .executeTakeFirst();
        expect(cited).toMatchObject({ name: "show_diff", part: "qc" });
      }

      const contexts = await contextsOf(app.db.read, { run });
      for (const { id, part, runner, ended, input_tokens, destinations } of contexts) {
        expect([part, ended]).toEqual([part, "exit"]);
        expect(runner).toBe(agentOf(part === "qc" ? crew.qc : crew.worker, "").runner);
        expect(input_tokens).toBeGreaterThan(0);
        expect(destinations?.filter((one) => one.allowed).map((one) => one.destination)).toEqual([new URL(url).host]);
        expect(await survivors(id)).toEqual([]);
      }

      expect(new Set(heard.map(({ key }) => key))).toEqual(new Set([ownKey]));
      const seen = JSON.stringify(heard.map(({ body }) => body));
      expect(seen).toContain("looked-inside");
      expect(seen).not.toContain("the-secret-of-the-state-folder");
      expect(seen).not.toContain(ownKey);
    });
  },
);

describe("O5, O18: people inside a run of real agent CLIs", needs("bubblewrap"), () => {
  const message = "Write out/steered.txt too.";
  const leaseSeconds = 10;

  test.for<[string, CrewCli]>([
    ["Claude Code", "claude"],
    ["Codex", "codex"],
    ["Qwen Code over ACP", "qwen"],
  ])(
    "%s: a message reaches the running worker, pauses cost no attempt, a verifier that exits after its lease keeps its usage, and the transcript has it all",
    installing,
    async ([_name, cli], { skip }) => {
      const done = new Set<string>();
      const once = (what: string) => !done.has(what) && done.add(what);
      let command = async (_args: string[]): Promise<void> => undefined;
      let taskOf = (number: string) => number;
      const mindOf = (secret: string) => {
        const mind = crewMindOf(secret);
        return async (heard: Heard): Promise<Reply> => {
          const said = heard.messages.map(({ text }) => text).join("\n");
          const [, what, number = ""] = /# (Verify task|Task) ([\d.]+)/.exec(said) ?? [];
          const isOurs = heard.tools.some((name) => name.endsWith("submit_output"));
          const answer = mind(heard);
          const [call] = "calls" in answer ? (answer.calls ?? []) : [];
          if (what === "Task" && isOurs && call?.name.endsWith("write_file")) {
            if (number === "1.1" && once("steer")) await command(["task", "steer", taskOf("1.1"), message]);
            if (number === "1.4" && once("pause")) await command(["run", "pause", run]);
            if (number === "1.5" && once("pause now")) await command(["run", "pause", run, "--now"]);
          }
          if (call?.name.endsWith("submit_output") && said.includes(message) && once("obey"))
            return { calls: [{ name: call.name.replace("submit_output", "write_file"), input: steered }] };
          // It has delivered, and its program ends only after the lease of its claim.
          if (what === "Verify task" && number === "1.3" && "text" in answer && once("slow"))
            await sleep(1200 * leaseSeconds);
          return answer;
        };
      };
      const steered = { path: "out/steered.txt", content: "as told\n" };
      let run = "";
      const made = await crewOf({ worker: cli, qc: cli }, skip, { claims: { lease_seconds: leaseSeconds } }, mindOf);
      const { app, git, how } = made;
      run = made.run;
      const ids = new Map((await app.runs.tasks(run)).map(({ number, task_id }) => [number, task_id]));
      taskOf = (number) => ids.get(number) ?? "";
      const failures: string[] = [];
      command = async (args) => {
        const ran = await scriptoriumProcess(args, how);
        if (ran.code !== 0) failures.push(ran.stderr);
      };

      const execute = async () => {
        const ran = await scriptoriumProcess(["execute", run, "--workers", "1", "--json"], how);
        return JSON.parse(ran.stdout.trim().split("\n").at(-1) ?? "") as { state: string; reason: string };
      };
      expect(await execute()).toMatchObject({ state: "stopped", reason: expect.stringContaining("paused by") });
      expect(await execute()).toMatchObject({ state: "stopped", reason: expect.stringContaining("paused by") });
      expect(await execute()).toMatchObject({ state: "completed", tasks: { completed: crewTasks.length } });
      expect([failures, [...done].sort()]).toEqual([[], ["obey", "pause", "pause now", "slow", "steer"]]);

      expect(git("show", `${acceptedBranch(run)}:out/steered.txt`)).toBe("as told");
      const attempts = await attemptsOf(app.db.read, { run });
      const finished = attempts.filter(({ phase }) => phase !== "abandoned");
      // The draft of 1.2 is rejected; nothing else needs a second attempt.
      expect(finished.map(({ attempt, phase }) => `${attempt} ${phase}`).sort()).toEqual(
        ["1 qc_failed", "2 qc_passed", ...crewTasks.slice(1).map(() => "1 qc_passed")].sort(),
      );

      const contexts = await contextsOf(app.db.read, { run });
      const slow = contexts.filter(({ part, task_id }) => part === "qc" && task_id === taskOf("1.3"));
      expect(slow).toHaveLength(1);
      for (const { input_tokens, output_tokens } of slow)
        expect([input_tokens, output_tokens]).toEqual([expect.any(Number), expect.any(Number)]);

      const transcript = async (number: string) => {
        const args = ["run", "transcript", run, "--task", number, "--part", "worker", "--json"];
        return (await scriptoriumProcess(args, how)).stdout;
      };
      const entries = lines(await transcript("1.1"));
      expect(entries.find(({ kind }) => kind === "sent")?.text).toContain("# Task 1.1: Do 1.1");
      expect(entries.find(({ kind }) => kind === "steering")).toMatchObject({
        text: message,
        delivered: "tool_result",
      });
      expect(entries.flatMap(({ kind, tool }) => (kind === "call" ? [tool] : []))).toEqual([
        "write_file",
        "write_file",
        "submit_output",
      ]);
      expect(entries.at(-1)?.kind).toBe("ended");
      for (const number of ["0", "1.1", "1.5"]) expect(await transcript(number)).not.toContain(ownKey);
    },
  );
});

type Entry = { kind: string; text: string; tool?: string; delivered?: string };

/** Entries of a transcript, as one value or one per line. */
function lines(stdout: string): Entry[] {
  const values = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  return values.flatMap((value) => value.entries ?? value);
}

test("C4, V9: a run of Codex whose command and agents are killed at random moments accepts every task once and leaves nothing behind", {
  ...installing,
  ...needs("bubblewrap"),
}, async ({ skip }) => {
  const { app, git, how, root, run } = await crewOf({ worker: "codex", qc: "codex" }, skip, {
    claims: { lease_seconds: 10 },
  });
  const mark = run;
  const env = { ...how.env, [markName]: mark };
  const execute = () => start("scriptorium.js", ["execute", run, "--workers", "2", "--json"], root, env);
  const killed = await killAtRandom({ mark, command: 3, agent: 2, random: Math.random, start: execute });
  expect(killed.command).toBeGreaterThan(0);
  expect(JSON.parse(killed.last.stdout.trim().split("\n").at(-1) ?? ""), killed.last.stderr).toMatchObject({
    state: "completed",
    tasks: { completed: crewTasks.length },
  });
  expect(await leftOver(mark)).toEqual([]);

  const passed = (await attemptsOf(app.db.read, { run })).filter(({ phase }) => phase === "qc_passed");
  expect(new Set(passed.map((row) => row.task_id)).size).toBe(crewTasks.length);
  expect(passed).toHaveLength(crewTasks.length);
  for (const number of crewFiles)
    expect(git("show", `${acceptedBranch(run)}:out/${number}.txt`)).toBe(`made ${number}`);
  const accepted = git("log", "--format=%s", acceptedBranch(run)).split("\n");
  expect(accepted.filter((line) => line.startsWith("Accept task"))).toHaveLength(crewFiles.length);
  expect(git("worktree", "list").split("\n")).toHaveLength(1);
  const doctor = await scriptoriumProcess(["doctor", "--json"], how);
  expect(doctor.json<{ findings: { state: string }[] }>().findings.filter(({ state }) => state === "problem")).toEqual(
    [],
  );
});

test(
  "W10: the real Codex, which ends with a text instead of a call, is reminded and delivers in its second session",
  installing,
  async ({ skip }) => {
    const bin = await agentCli("codex", skip);
    const model = await modelServer(({ messages, tools }) => {
      const said = messages.map(({ text }) => text).join("\n");
      if (!said.includes("# You have not delivered") || said.includes("submitted"))
        return { text: "Let me look first." };
      const name = tools.find((tool) => tool.endsWith("submit_output")) ?? "";
      return { calls: [{ name, input: { output: "made 0" } }] };
    });
    const environment = { ...testEnvironment(), ...environmentOf(model.url, temporaryFolder()) };
    const ran = await runWorker({ worker: { runner: "codex" }, agent: blockOf({ codex: bin }), environment });
    expect(ran.attempt, ran.log).toMatchObject({ attempt: 1, phase: "qc_passed", output: "made 0" });
    expect(ran.attempt.input_tokens).toBeGreaterThan(100);
  },
);
