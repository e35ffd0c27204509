import { spawn, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { runBounded } from "../src/agents/bounded.ts";
import { findSandbox } from "../src/agents/sandbox.ts";
import { survivors } from "../src/agents/survivors.ts";
import type { SandboxLimits } from "../src/config/sandbox.ts";
import { unwrap } from "../src/kernel/result.ts";
import { workspaceToken } from "../src/people/tokens.ts";
import { scriptoriumProcess, serveProcess } from "./support/commands.ts";
import { escapeArtist, escapeAttempts, type Machine } from "./support/escape-attempts.ts";
import { authorship, jobWorkspace, openTopic } from "./support/jobs.ts";
import { defaultLimits } from "./support/limits.ts";
import { needs } from "./support/programs.ts";
import { ask } from "./support/requests.ts";
import { temporaryFolder, testEnvironment } from "./support/workspace.ts";

const dist = new URL("../dist", import.meta.url).pathname;
const isRoot = process.getuid?.() === 0;
const settings = ["core_pattern", "panic"].map((name) => `/proc/sys/kernel/${name}`);
const contents = (files: string[]) => files.map((file) => readFileSync(file, "utf8"));

/** A workspace with an agent that is the given script, and a topic for it. */
async function workspaceWith(script: string, agent: Record<string, unknown> = {}) {
  const made = await jobWorkspace();
  const program = join(temporaryFolder(), "agent");
  writeFileSync(program, `#!/bin/sh\n${script}\n`);
  chmodSync(program, 0o755);
  const topic = await openTopic(made.app);
  await made.app.close();
  const config = made.file("scriptorium.yaml");
  const others = readFileSync(config, "utf8").replace(/^agent: .*\n/m, "");
  const block = { ...authorship, runner: "command", command: [program], ...agent };
  writeFileSync(config, `${others}agent: ${JSON.stringify(block)}\n`);
  const start = ["job", "start", "--kind", "incorporate", "--topic", topic, "--json"];
  return { ...made, program, topic, start };
}

/** Runs a command as a user without rights. */
function asUser(uid: number, args: string[], cwd: string) {
  spawnSync("chown", ["-R", `${uid}:${uid}`, cwd]);
  const env = { ...testEnvironment(), HOME: cwd, GIT_CONFIG_GLOBAL: "/dev/null" };
  const command = [process.execPath, join(dist, "scriptorium.js"), ...args];
  const options = [`--reuid=${uid}`, `--regid=${uid}`, "--clear-groups", ...command];
  return spawnSync("setpriv", options, { cwd, encoding: "utf8", env });
}

describe("S1, T32, T33, V1: an agent that tries to get out of its sandbox", needs("bubblewrap"), () => {
  /** Only root can also be another user. */
  const users = (isRoot ? (["root", "another user"] as const) : (["another user"] as const)).flatMap((user) => [
    [user, "scratch"] as const,
    [user, "workspace"] as const,
  ]);

  test.each(users)(
    "started by %s in isolation %s reads, writes and gains nothing",
    { timeout: 120_000 },
    async (...[user, isolation]) => {
      const home = temporaryFolder();
      mkdirSync(join(home, ".ssh"));
      mkdirSync(join(home, ".config"));
      writeFileSync(join(home, ".ssh/id_ed25519"), "PLANTED-KEY");
      writeFileSync(join(home, ".config/cloud"), "PLANTED-TOKEN");
      chmodSync(home, 0o755);
      const made = await workspaceWith("", { isolation, incorporate_timeout: "2m" });
      const { root, program, start } = made;
      mkdirSync(join(root, ".scriptorium/agent-logs"), { recursive: true });
      mkdirSync(join(root, ".scriptorium/worktrees/other"), { recursive: true });
      writeFileSync(join(root, ".scriptorium/agent-logs/other.log"), "log");
      workspaceToken(join(root, ".scriptorium/token"));
      const victim = spawn("sleep", ["600"]);
      onTestFinished(() => void victim.kill("SIGKILL"));
      const machine: Machine = {
        ...{ workspace: root, home, program, pid: victim.pid ?? 0, node: process.execPath, dist },
      };
      const attempts = escapeAttempts(machine, isolation);
      expect(Object.keys(attempts).length).toBeGreaterThan(60);
      writeFileSync(program, `#!/bin/sh\n${escapeArtist(attempts)}\n`);
      chmodSync(join(program, ".."), 0o755);
      const before = contents(settings);

      const ran =
        user === "another user" && isRoot
          ? asUser(23_456, start, root)
          : await scriptoriumProcess(start, { cwd: root });
      const { log } = JSON.parse(ran.stdout || "{}") as { log?: string };
      expect(log, ran.stderr).toBeDefined();
      const said = readFileSync(log ?? "", "utf8");
      expect(said, ran.stdout).toContain("tried-all");
      expect(said.split("\n").filter((line) => line.startsWith("WORKED"))).toEqual([]);
      expect(contents(settings)).toEqual(before);
      expect(existsSync("/usr/bin/planted") || existsSync("/planted")).toBe(false);
      expect(readdirSync(join(home, ".ssh"))).toEqual(["id_ed25519"]);
      spawnSync("chown", ["-R", String(process.getuid?.()), root]);
      expect(made.git("status", "--porcelain", "--untracked-files=all")).not.toMatch(/mcp|\.claude|CLAUDE|deploy/);
    },
  );
});

const never = new AbortController().signal;

/** Runs a shell script as a command of a crew's worker, with limits. */
async function command(script: string, limits: Partial<SandboxLimits> = {}, folder = temporaryFolder()) {
  const access = {
    ...{ folder, write: true, limits: { ...defaultLimits, ...limits }, env: { PATH: testEnvironment().PATH ?? "" } },
  };
  const options = { run: `limits-${Math.random()}`, wallMs: 60_000, signal: new AbortController().signal };
  return runBounded(unwrap(await findSandbox("auto", testEnvironment())), ["sh", "-c", script], access, options);
}

describe("T7, S12: a program that takes too much of the machine", needs("bubblewrap"), () => {
  const greedy: [name: string, script: string, limits: Partial<SandboxLimits>, reason: RegExp][] = [
    [
      "processes, also for root",
      "i=0; while [ $i -lt 300 ]; do sleep 50 & i=$((i + 1)); done; wait",
      { processes: 100 },
      /exceeded its limit of 100 processes|Cannot fork|Resource temporarily unavailable/,
    ],
    [
      "memory, in one process",
      `perl -e '$x = "a" x (400 << 20); sleep 50'`,
      { memory_mb: 128 },
      /exceeded its limit of 128 MiB of memory/,
    ],
    [
      "memory, in many processes",
      `for i in 1 2 3 4 5 6 7 8; do perl -e '$x = "a" x (40 << 20); sleep 50' & done; wait`,
      { memory_mb: 128 },
      /exceeded its limit of 128 MiB of memory/,
    ],
    [
      "memory, in temporary files",
      "head -c 100M /dev/zero > /tmp/a; head -c 100M /dev/zero > /dev/shm/b; sleep 50",
      { memory_mb: 128 },
      /exceeded its limit of 128 MiB of memory/,
    ],
    [
      "CPU time",
      "while :; do :; done & while :; do :; done",
      { cpu_minutes: 0.02 },
      /exceeded its limit of 0.02 minutes of CPU time/,
    ],
    [
      "disk space",
      "i=0; while [ $i -lt 40 ]; do head -c 20M /dev/urandom > f$i; i=$((i + 1)); done; sleep 50",
      { disk_mb: 60 },
      /exceeded its limit of 60 MiB on disk/,
    ],
    [
      "disk space, in files that it has deleted",
      `perl -e 'open(F, ">", "gone"); unlink("gone"); for (1 .. 40) { print F "x" x (20 << 20) } sleep 50'`,
      { disk_mb: 60 },
      /exceeded its limit of 60 MiB on disk/,
    ],
  ];

  test.each(greedy)("is stopped at its limit of %s", async (_name, script, limits, reason) => {
    const { ended, error, output } = await command(script, limits);
    expect(`${error} ${output}`).toMatch(reason);
    if (error) expect(ended).toBe("limit");
  });

  test("cannot fill a temporary folder beyond the memory limit, nor write files of over 1 GiB", async () => {
    const { output } = await command(
      "head -c 400M /dev/zero > /tmp/a; ls -s --block-size=1M /tmp/a; ulimit -f; ulimit -n; ulimit -c",
      { memory_mb: 300 },
    );
    expect(output).toMatch(/No space left on device|exceeded/);
  });

  test("is not charged for processes of the machine, however short it runs", async () => {
    const small = { processes: 16, memory_mb: 64, cpu_minutes: 0.01 };
    const ran = await Promise.all(Array.from({ length: 12 }, () => command("sleep 0.3", small)));
    expect(ran.map(({ ended, error }) => error ?? ended)).toEqual(ran.map(() => "exit"));
  });

  test("that stays within its limits is left alone, and sees neither other users nor the machine's name", async () => {
    const script =
      "id -un; hostname; wc -l < /etc/passwd; node -p 'os.userInfo().username'; cat /proc/self/oom_score_adj";
    const { output, exitCode } = await command(script);
    expect({ exitCode, output: output.trim().split("\n") }).toEqual({
      exitCode: 0,
      output: ["agent", "sandbox", "1", "agent", "1000"],
    });
  });

  test("S12: cannot reach sockets of the machine, by path, in the abstract namespace or on loopback", async () => {
    const server = createServer((socket) => socket.end("REACHED"));
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    onTestFinished(() => void server.close());
    const { port } = server.address() as { port: number };
    const name = `scriptorium-test-${process.pid}`;
    const address = `pack("S a*", AF_UNIX, "\\0${name}")`;
    const listen = `use Socket; socket(S, PF_UNIX, SOCK_STREAM, 0); bind(S, ${address}); listen(S, 5); $| = 1; print "up"; sleep 60`;
    const listener = spawn("perl", ["-e", listen]);
    onTestFinished(() => void listener.kill());
    await new Promise((done) => listener.stdout.once("data", done));
    const connect = `perl -e 'use Socket; socket(S, PF_UNIX, SOCK_STREAM, 0); connect(S, ${address}) or exit 1'`;
    expect(spawnSync("sh", ["-c", connect]).status).toBe(0);
    const loopback = `perl -e 'use Socket; socket(S, PF_INET, SOCK_STREAM, 0); connect(S, sockaddr_in(${port}, inet_aton("127.0.0.1"))) or exit 1'`;
    expect(spawnSync("sh", ["-c", loopback]).status).toBe(0);
    const { output } = await command(`${connect} && echo REACHED; ${loopback} && echo REACHED; echo tried`);
    expect(output.trim()).toBe("tried");
  });

  test("T18: its environment is not in a command line that other users can read", async () => {
    const folder = temporaryFolder();
    const access = {
      folder,
      write: true,
      limits: defaultLimits,
      env: { PATH: "/usr/bin:/bin", KEY: "PLANTED-SECRET" },
    };
    const { args } = unwrap(await findSandbox("auto", testEnvironment())).wrap(["env"], access);
    expect(args.join(" ")).not.toContain("PLANTED-SECRET");
    const options = { run: "environment", wallMs: 10_000, signal: never };
    const ran = await runBounded(unwrap(await findSandbox("auto", testEnvironment())), ["env"], access, options);
    expect(ran.output).toContain("KEY=PLANTED-SECRET");
  });
});

/** The processes of this machine that were started with these words. */
const running = (words: string): number[] =>
  readdirSync("/proc").flatMap((name) => {
    try {
      const line = /^\d+$/.test(name) ? readFileSync(`/proc/${name}/cmdline`, "latin1").replaceAll("\0", " ") : "";
      return line.includes(words) ? [Number(name)] : [];
    } catch {
      return [];
    }
  });

describe("V9, T30: when the server is killed", needs("bubblewrap"), () => {
  /** Forgets its environment and its session, as a process does that wants to stay. */
  const stays = (seconds: string) => `setsid env -i sleep ${seconds} & trap '' INT TERM HUP; exec sleep ${seconds}`;
  const uniqueSeconds = () => `6${String(Math.random()).slice(2, 11)}`;

  async function serveWithJob(agent: Record<string, unknown>) {
    const seconds = uniqueSeconds();
    const made = await workspaceWith(stays(seconds), agent);
    const server = await serveProcess(made.root);
    const body = { kind: "incorporate", topic_id: made.topic };
    const { job_id } = (await ask(server.url, "/api/agent/jobs", { method: "POST", token: server.token, body })).json();
    await expect.poll(() => running(`sleep ${seconds}`).length, { timeout: 20_000 }).toBeGreaterThanOrEqual(2);
    return { ...made, server, job: job_id as string, alive: () => running(`sleep ${seconds}`) };
  }

  test.each(["scratch", "workspace"])(
    "the agent of a job in isolation %s ends within 5 s, by itself",
    async (isolation) => {
      const { server, alive } = await serveWithJob({ isolation });
      await server.stop("SIGKILL");
      await expect.poll(alive, { timeout: 5000 }).toEqual([]);
    },
  );

  test("an agent without a sandbox is ended by the next command that notices, before another agent starts", async () => {
    const { server, alive, root, start } = await serveWithJob({ sandbox: "none" });
    await server.stop("SIGKILL");
    await sleep(300);
    // The process that forgot its environment cannot be found without a sandbox.
    expect(alive().length).toBeGreaterThan(0);
    onTestFinished(() => {
      for (const pid of alive()) process.kill(pid, "SIGKILL");
    });
    const config = join(root, "scriptorium.yaml");
    writeFileSync(config, readFileSync(config, "utf8").replace(/"command":\[[^\]]*\]/, '"command":["true"]'));
    const again = await scriptoriumProcess(start, { cwd: root });
    expect(again.stdout).toContain("produced no proposal");
    expect(alive().filter((pid) => readFileSync(`/proc/${pid}/environ`, "latin1").includes("SCRIPTORIUM_RUN"))).toEqual(
      [],
    );
  });
});

describe("V9: when a server without a sandbox is killed", () => {
  const seconds = () => `7${String(Math.random()).slice(2, 11)}`;
  const deaf = (time: string) => `trap '' INT TERM HUP; setsid sleep ${time} & sleep ${time}; sleep ${time}`;

  test("V9: its agent and the sessions that it started are killed at once, without another process", async () => {
    const time = seconds();
    const { root, topic } = await workspaceWith(deaf(time), { sandbox: "none" });
    const server = await serveProcess(root);
    const body = { kind: "incorporate", topic_id: topic };
    await ask(server.url, "/api/agent/jobs", { method: "POST", token: server.token, body });
    await expect.poll(() => running(`sleep ${time}`).length).toBe(2);
    await server.stop("SIGKILL");
    await expect.poll(() => running(`sleep ${time}`)).toEqual([]);
  });

  test("V9: a second server that was running all the time ends the job, and its page is free", async () => {
    const time = seconds();
    const { root, topic } = await workspaceWith(deaf(time), { sandbox: "none" });
    const [first, second] = [await serveProcess(root), await serveProcess(root)];
    const post = (server: typeof first) =>
      ask(server.url, "/api/agent/jobs", {
        method: "POST",
        token: server.token,
        body: { kind: "incorporate", topic_id: topic },
      });
    const { job_id } = (await post(first)).json();
    await expect.poll(() => running(`sleep ${time}`).length).toBe(2);
    await first.stop("SIGKILL");
    const shown = async () => (await ask(second.url, `/api/agent/jobs/${job_id}`, { token: second.token })).json();
    await expect.poll(shown).toMatchObject({ status: "failed", error_tail: "server restarted while job in flight" });
    expect(running(`sleep ${time}`)).toEqual([]);
  });
});

test("V9, R8: an agent that ignores signals is ended 5 s after it was cancelled", needs("bubblewrap"), async () => {
  const { root, topic } = await workspaceWith("trap '' INT TERM; echo ready; while :; do sleep 1; done");
  const server = await serveProcess(root);
  const post = (path: string, body: object) => ask(server.url, path, { method: "POST", token: server.token, body });
  const { job_id } = (await post("/api/agent/jobs", { kind: "incorporate", topic_id: topic })).json();
  const log = join(root, `.scriptorium/agent-logs/${job_id}.log`);
  await expect.poll(() => existsSync(log) && readFileSync(log, "utf8"), { timeout: 20_000 }).toContain("ready");
  await post(`/api/agent/jobs/${job_id}/cancel`, {});
  // Half a second for the server to notice each step; the escalation of 0.1.0 took 7 s.
  await expect.poll(() => survivors(job_id), { timeout: 6500, interval: 100 }).toEqual([]);
});

describe("V1: scribe in a sandbox", needs("bubblewrap"), () => {
  /** Runs a script whose agent knows `$scribe`, `$topic`, `$config` and `$sha`. */
  async function withScribe(script: string, agent: Record<string, unknown>) {
    const header = `prompt=$(cat); of() { printf '%s\\n' "$prompt" | sed -n "s/^$1: //p"; }
scribe=$(of 'Agent CLI path'); config=$(of 'Config file'); topic=$(of 'Topic ID'); sha=$(of 'Base source SHA'); page=$(of 'Source path')`;
    const made = await workspaceWith(`${header}\n${script}`, agent);
    const ran = await scriptoriumProcess(made.start, { cwd: made.root });
    const job = ran.json<{ status: string; message: string; log: string }>();
    return { ...made, job, log: readFileSync(job.log, "utf8") };
  }

  test.each(["scratch", "workspace"])("in isolation %s proposes through the socket of its job", async (isolation) => {
    const propose = `sed 's/the button/the green button/' "$page" | "$scribe" insert-proposal --config "$config" --topic-id "$topic" --base-sha "$sha"`;
    const { job, log } = await withScribe(propose, { isolation });
    expect(job, log).toMatchObject({ status: "succeeded" });
  });

  test.each(["scratch", "workspace"])(
    "in isolation %s gains nothing by forgetting its job, nor by naming another socket",
    async (isolation) => {
      const script = `
other=$("$scribe" list-open-topics --config "$config" --source-path wiki/vision.md) && echo "WORKED: another page $other"
"$scribe" append-log --role planner --id decisions --line planted && echo "WORKED: another operation"
"$scribe" approve-proposal --id p-1 && echo "WORKED: approving"
for forget in "-u SCRIPTORIUM_JOB" "-u SCRIPTORIUM_SOCKET" "-u SCRIPTORIUM_JOB -u SCRIPTORIUM_SOCKET" "-i PATH=$PATH"; do
  env $forget "$scribe" append-log --config "$config" --role planner --id decisions --line planted && echo "WORKED: $forget"
done
env SCRIPTORIUM_SOCKET="\${config%/*}/.scriptorium/run/scribe.sock" "$scribe" append-log --role planner --id decisions --line planted && echo "WORKED: the server's socket"
env -i PATH="$PATH" node "\${scribe%/*}/scriptorium.js" --dir "\${config%/*}" proposal list && echo "WORKED: the command line of people"
echo tried-all`;
      const { log, git } = await withScribe(script, { isolation });
      expect(log).toContain("tried-all");
      expect(log).not.toContain("WORKED");
      expect(git("log", "--all", "--format=%B")).not.toContain("planted");
    },
  );
});

describe("S12: where there is no sandbox", () => {
  const path = () => {
    const folder = temporaryFolder();
    for (const name of ["git", "sh", "env", "cat", "sed", "true"]) {
      spawnSync("ln", ["-s", `/usr/bin/${name}`, join(folder, name)]);
    }
    return folder;
  };

  test("a job is refused before it is queued, with the way to install one, and nothing is started", async () => {
    const witness = join(temporaryFolder(), "started");
    const { root, start } = await workspaceWith(`: > ${witness}`);
    const ran = await scriptoriumProcess(start, { cwd: root, env: { PATH: path() } });
    expect(ran).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/bubblewrap, which is not installed; install it/),
    });
    expect((await scriptoriumProcess(["job", "list", "--json"], { cwd: root })).json()).toEqual([]);
    const server = await serveProcess(root, { PATH: path() });
    const topic = start[start.indexOf("--topic") + 1];
    const body = { kind: "incorporate", topic_id: topic };
    const asked = await ask(server.url, "/api/agent/jobs", { method: "POST", token: server.token, body });
    expect(asked.json()).toMatchObject({ error: expect.stringContaining("bubblewrap") });
    expect(existsSync(witness)).toBe(false);
  });

  test("and none is configured, the job runs with the permissions of the person", async () => {
    const witness = join(temporaryFolder(), "started");
    const { root, start } = await workspaceWith(`: > ${witness}`, { sandbox: "none" });
    await scriptoriumProcess(start, { cwd: root, env: { PATH: path() } });
    expect(statSync(witness).isFile()).toBe(true);
  });
});
