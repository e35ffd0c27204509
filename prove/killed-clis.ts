import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { agentCli } from "../test/support/agent-clis.ts";
import {
  agentOf,
  blockOf,
  type CrewCli,
  crewFiles,
  crewMindOf,
  crewTasks,
  environmentOf,
} from "../test/support/cli-crew.ts";
import { killAtRandom, leftOver, markName } from "../test/support/cli-kills.ts";
import { startModelServer } from "../test/support/model-wire.ts";
import { answerOf, checkIntact, inCopy, newWorkspace, run, succeed } from "./support/commands.ts";
import type { Context, Proof } from "./support/proof.ts";

export const proof: Proof = {
  promise:
    "A run of real agent CLIs, killed at random moments with its agents, accepts each task once after it is resumed, leaves no process, and `scriptorium doctor` finds no problem",
  async run(context) {
    const bins = { claude: await installed("claude"), codex: await installed("codex") };
    const secret = join(context.folder, "a-secret");
    writeFileSync(secret, "secret\n");
    const model = await startModelServer(crewMindOf(secret));
    const home = join(context.folder, "agent-home");
    mkdirSync(home);
    const env = environmentOf(model.url, home);
    const kills = { command: 0, agent: 0 };
    try {
      const base = await newWorkspace(context);
      for (let tries = 0; Date.now() < context.until; tries++) {
        const pick = () => (context.random() < 0.5 ? "claude" : "codex");
        await oneRun(context, base, { worker: pick(), qc: pick() }, { bins, env, tries, kills });
        context.note(
          `${tries + 1} runs of ${crewTasks.length} tasks, ${kills.command} kills of scriptorium, ${kills.agent} of agents`,
        );
      }
    } finally {
      model.close();
    }
  },
};

/** The first use of this proof downloads the CLIs, into the cache that the tests use as well. */
function installed(cli: "claude" | "codex"): Promise<string> {
  process.env.SCRIPTORIUM_INSTALL_AGENTS ??= "1";
  return agentCli(cli, (reason) => {
    throw new Error(reason);
  });
}

type Crew = { worker: CrewCli; qc: CrewCli };
type Given = {
  bins: Record<"claude" | "codex", string>;
  env: Record<string, string>;
  tries: number;
  kills: { command: number; agent: number };
};

/** Six kills of the command and four of an agent, as far as the run lasts. */
const wanted = { command: 6, agent: 4 };

const oneRun = (context: Context, base: string, crew: Crew, { bins, env, tries, kills }: Given) =>
  inCopy(context, base, async (root) => {
    const { random } = context;
    const mark = `try-${process.pid}-${tries}`;
    const how = { cwd: root, env: { ...env, [markName]: mark } };
    configure(root, crew, bins);
    await succeed(context, "git", ["commit", "-qam", "Configure the crew"], { cwd: root });
    const plan = answerOf(await succeed(context, "scriptorium", ["plan", "Make it", "--json"], how));
    const id = String(plan?.run);
    const start = () => context.start("scriptorium", ["execute", id, "--workers", "2", "--json"], how);
    const killed = await killAtRandom({ mark, ...wanted, random, start });
    kills.command += killed.command;
    kills.agent += killed.agent;

    const after = `${crew.worker} verified by ${crew.qc}, ${killed.command} kills of the command and ${killed.agent} of agents`;
    const { stdout, stderr } = killed.last;
    const end = answerOf(stdout);
    context.check(end?.state === "completed", `after ${after}: ${end?.state} ${end?.reason} ${stderr.slice(-300)}`);
    const left = await leftOver(mark);
    context.check(left.length === 0, `after ${after}: ${left.length} processes are left`);
    await checkAccepted(context, root, id, after);
    await checkIntact(context, root, after);
  });

function configure(root: string, { worker, qc }: Crew, bins: Given["bins"]): void {
  const binOf = (cli: CrewCli) => (cli === "qwen" ? "" : bins[cli]);
  const agents = { all: agentOf(worker, binOf(worker)), qc: agentOf(qc, binOf(qc)) };
  const blocks = { agent: blockOf(bins), claims: { lease_seconds: 5 }, crew: { agents, reports: "facts" } };
  const lines = Object.entries(blocks).map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`);
  appendFileSync(join(root, "scriptorium.yaml"), lines.join(""));
}

/** Git has one merge of each deliverable, and the log of handoffs one line for each task. */
async function checkAccepted(context: Context, root: string, id: string, after: string): Promise<void> {
  const branch = `scriptorium/${id}/accepted`;
  const subjects = (await run(context, "git", ["log", "--format=%s", branch], { cwd: root })).stdout.split("\n");
  for (const number of crewFiles) {
    const times = subjects.filter((line) => line.startsWith(`Accept task ${number}:`)).length;
    context.check(times === 1, `after ${after}: task ${number} was merged ${times} times`);
    const file = await run(context, "git", ["show", `${branch}:out/${number}.txt`], { cwd: root });
    context.check(file.stdout === `made ${number}\n`, `after ${after}: out/${number}.txt is ${file.stdout}`);
  }
  const lines = readFileSync(join(root, "wiki/handoffs.md"), "utf8").split("\n");
  const done = lines.filter((line) => line.includes(" is done: ")).length;
  context.check(
    done === crewTasks.length,
    `after ${after}: ${done} of ${crewTasks.length} tasks are in the log, once each`,
  );
  const trees = await succeed(context, "git", ["worktree", "list"], { cwd: root });
  context.check(trees.trim().split("\n").length === 1, `after ${after}: worktrees are left: ${trees}`);
}
