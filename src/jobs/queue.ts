import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type CallSocket, openCallSocket } from "../agents/call-socket.ts";
import { type NetworkPolicy, networkPolicy } from "../agents/network/policy.ts";
import { recordable } from "../agents/reported.ts";
import type { RunResult, RunSpec, Toolset } from "../agents/runner.ts";
import type { Sandbox } from "../agents/sandbox/access.ts";
import type { SandboxPolicy } from "../agents/sandbox.ts";
import type { AgentSetup } from "../agents/setup.ts";
import { configName } from "../config/environment.ts";
import type { Operation } from "../kernel/operation.ts";
import { processName } from "../kernel/process-name.ts";
import { ok, type Result } from "../kernel/result.ts";
import { storable } from "../kernel/storable.ts";
import { privateFile } from "../store/disk/private.ts";
import { beatMs } from "./holder.ts";
import { type Job, judge } from "./job.ts";
import type { JobUsage } from "./jobs.ts";
import type { JobsApp } from "./jobs-app.ts";
import { hasProduced, type Material, readMaterial } from "./material.ts";
import { promptFor, skillNames } from "./prompt.ts";
import { inWorkspace, type JobFolder, makeScratch } from "./scratch.ts";
import { jobTools } from "./tools.ts";
import { jobTranscript, recordedTools } from "./transcript.ts";

type Deps = {
  /** Called for each job: the person may have allowed the configured agent, or withdrawn that, since the last one. */
  setup(): Result<AgentSetup>;
  operations: readonly Operation<JobsApp>[];
  /** Offers tools to an agent that is another process. */
  serveTools(tools: Toolset, name: string, instructions: string): Promise<ToolServer>;
  /** True for a server, which also runs jobs that other processes queued. */
  adopts: boolean;
};

type ToolServer = { mcp: NonNullable<RunSpec["mcp"]>; close(): Promise<void> };

export interface JobQueue {
  /** Stops running jobs and drops queued ones; resolves when none is left. */
  stop(): Promise<void>;
}

const afterResultMs = 10_000;
const sweepMs = 5000;

/**
 * Runs the jobs that this process holds: never two of one page (a unique index refuses that) and never more than
 * `max_concurrent_jobs` over all processes (the claim counts). It wakes when the database changes.
 */
export async function openQueue(app: JobsApp, deps: Deps): Promise<JobQueue> {
  const me = processName();
  const running = new Map<string, { stop: AbortController; done: Promise<void> }>();
  let stopping = false;
  let looking: Promise<void> | undefined;
  let again = false;

  app.jobs.heldBy(me, async () => {
    const setup = deps.setup();
    return setup.ok ? (setup.value.findSandbox?.() ?? ok(undefined)) : setup;
  });
  await sweep();

  /** Ends the jobs and agents of processes that are gone: whichever process notices first (V9). */
  async function sweep(): Promise<void> {
    for (const job of await app.jobs.sweep()) app.log.warn({ job: job.id }, "job-swept");
  }

  function wake(): void {
    again = true;
    looking ??= look().finally(() => {
      looking = undefined;
    });
  }

  async function look(): Promise<void> {
    while (again && !stopping) {
      again = false;
      try {
        await takeOne();
      } catch (error) {
        app.log.error({ error: String(error) }, "job-queue-failed");
      }
    }
  }

  async function takeOne(): Promise<void> {
    const maxConcurrentJobs = app.config.agent?.maxConcurrentJobs ?? 1;
    const jobs = await app.jobs.inFlight();
    for (const job of jobs) if (job.cancelled_by) running.get(job.id)?.stop.abort();
    if (deps.adopts && jobs.some((job) => job.holder === null)) await app.jobs.adopt(me);
    const waits = jobs.some((job) => job.status === "queued" && (job.holder === me || job.holder === null));
    if (!waits || stopping) return;
    if (jobs.filter((job) => job.status === "running").length >= maxConcurrentJobs) {
      // A slot may belong to a dead process.
      if ((await app.jobs.sweep({ status: "running" })).length > 0) again = true;
      return;
    }
    const job = await app.jobs.claim(me, maxConcurrentJobs);
    if (!job) return;
    again = true;
    const stop = new AbortController();
    const done = runJob(app, deps, job, stop.signal)
      .catch((error: Error) => fail(app, job, error))
      .finally(() => {
        running.delete(job.id);
        wake();
      });
    running.set(job.id, { stop, done });
  }

  const unsubscribe = app.db.onChange(wake);
  const beating = setInterval(() => {
    if (running.size > 0)
      app.jobs.beat(me).catch((error) => app.log.error({ error: String(error) }, "job-beat-failed"));
  }, beatMs).unref();
  let sweeping: Promise<void> | undefined;
  const looksForDead = setInterval(() => {
    sweeping ??= sweep()
      .catch((error) => app.log.error({ error: String(error) }, "job-sweep-failed"))
      .finally(() => {
        sweeping = undefined;
      });
  }, sweepMs).unref();
  wake();

  return {
    async stop() {
      stopping = true;
      unsubscribe();
      clearInterval(beating);
      clearInterval(looksForDead);
      await sweeping;
      await looking;
      for (const { stop } of running.values()) stop.abort();
      await Promise.all([...running.values()].map(({ done }) => done));
      const mine = (await app.jobs.inFlight()).filter((job) => job.holder === me && job.status === "queued");
      await Promise.all(mine.map((job) => app.jobs.drop(job.id)));
    },
  };
}

async function fail(app: JobsApp, job: Job, error: Error): Promise<void> {
  app.log.error({ job: job.id, error: error.message, stack: error.stack }, "job-failed");
  const message = "Internal error in Scriptorium, not in the agent; see the server's log.";
  const outcome = { status: "failed" as const, exit_code: null, error_tail: storable(error.message), message };
  await app.jobs.settle(job.id, outcome, spentOf(undefined));
}

async function runJob(app: JobsApp, deps: Deps, job: Job, signal: AbortSignal): Promise<void> {
  // Checked again: settings may have changed, or the job was queued by a process on another machine.
  const setup = deps.setup();
  if (!setup.ok) return settleRefused(app, job, setup.problem.message);
  const sandbox = (await setup.value.findSandbox?.()) ?? ok(undefined);
  if (!sandbox.ok) return settleRefused(app, job, sandbox.problem.message);
  const material = await readMaterial(app, job);
  if (!material.ok) return settleRefused(app, job, material.problem.message);
  const { result: expected } = material.value;
  const ran = recordable(
    await runAgent(app, { ...deps, setup: setup.value }, job, material.value, sandbox.value, signal),
  );
  const produced = await hasProduced(app, job, material.value);
  const cancelledBy = (await app.jobs.find(job.id))?.cancelled_by;
  const outcome = judge(ran, expected, produced, cancelledBy ? { cancelledBy } : {});
  const settled = await app.jobs.settle(job.id, outcome, spentOf(ran));
  app.log.info({ job: job.id, status: settled?.status, ended: ran.ended, exitCode: ran.exitCode }, "job-settled");
}

async function settleRefused(app: JobsApp, job: Job, message: string): Promise<void> {
  const outcome = { status: "failed" as const, exit_code: null, error_tail: message, message: `${message}.` };
  await app.jobs.settle(job.id, outcome, spentOf(undefined));
}

/** The agent's folder, tools and prompt exist for this run only. */
async function runAgent(
  app: JobsApp,
  deps: Omit<Deps, "setup"> & { setup: AgentSetup },
  job: Job,
  material: Material,
  sandbox: Sandbox | undefined,
  signal: AbortSignal,
): Promise<RunResult> {
  const { agent, runner, scribe, skills, env } = deps.setup;
  const transcript = jobTranscript(app, job.id);
  const tools = recordedTools(jobTools(app, job, deps.operations), transcript.add);
  const isScratch = agent.isolation === "scratch";
  const folder = isScratch ? await makeScratch(app, job, material.text, skills) : await inWorkspace(app, job, skills);
  const calls = await openCallSocket(tools);
  // In the workspace, agents have a shell and call scribe as the skill says.
  const server = isScratch ? await deps.serveTools(tools, "scriptorium", instructions(job)) : undefined;
  try {
    const earlier = await keepEarlier(material, join(folder.beside, "job-earlier.md"));
    const config = join(app.config.root, configName);
    // Some agents cannot read files without a shell or do not know skills: their prompt includes both.
    const isReader = !isScratch || runner.name === "claude";
    const quoted = isReader ? undefined : { page: material.text, earlier: material.earlier };
    const prompt = promptFor(job, material, { ...folder, config, scribe, ...earlier }, quoted);
    const spec: RunSpec = {
      id: job.id,
      tools,
      prompt,
      cwd: folder.root,
      env: { ...env, SCRIPTORIUM_JOB: job.id, SCRIPTORIUM_SOCKET: calls.path },
      ...(server ? { mcp: server.mcp } : {}),
      ...(sandbox && sandbox.name !== "none"
        ? { sandboxPolicy: policyFor(deps.setup, sandbox, networkPolicy(app.config, "agent"), folder, calls) }
        : {}),
      limits: {
        wallMs: { incorporate: agent.incorporateMs, perspective: agent.perspectiveMs, recheck: agent.recheckMs }[
          job.kind
        ],
        afterResultMs,
        ...(agent.idleMs ? { idleMs: agent.idleMs } : {}),
      },
      ...(agent.logDir === undefined ? {} : { logFile: join(agent.logDir, `${job.id}.log`) }),
      ...(agent.model ? { model: agent.model } : {}),
      ...(isReader ? {} : { system: await readFile(folder.skill, "utf8") }),
      onEntry: transcript.add,
      onRetry: (text) => transcript.add({ kind: "retry", text }),
    };
    const { model = null, system = "" } = spec;
    transcript.add({ kind: "sent", runner: runner.name, model, system, prompt });
    const ran = await runner.run(spec, signal);
    const { inputTokens: input_tokens, outputTokens: output_tokens } = ran.usage;
    const spent = { input_tokens, output_tokens, cost_usd: ran.costUsd };
    transcript.add({ kind: "ended", reason: ran.ended, error: ran.error ?? null, ...spent });
    return ran;
  } finally {
    await transcript.flush();
    await server?.close();
    await calls.close();
    await folder.remove();
  }
}

const policyFor = (
  setup: AgentSetup,
  sandbox: Sandbox,
  network: NetworkPolicy,
  folder: JobFolder,
  calls: CallSocket,
): SandboxPolicy => ({
  sandbox,
  write: folder.write,
  hide: folder.hide ?? [],
  limits: setup.agent.limits,
  network,
  read: [...setup.agent.read, ...setup.scribeFiles, setup.skills, folder.beside, calls.path],
  own: setup.agent.own,
});

async function keepEarlier({ earlier }: Material, file: string): Promise<{ earlier?: string }> {
  if (earlier === undefined) return {};
  await writeFile(file, earlier, privateFile);
  return { earlier: file };
}

const instructions = (job: Job) =>
  `The tools of job ${job.id} for the skill ${skillNames[job.kind]}. They act on the page of the job and stop working when it ends.`;

const spentOf = (ran: RunResult | undefined): JobUsage => ({
  input_tokens: ran?.usage.inputTokens ?? null,
  output_tokens: ran?.usage.outputTokens ?? null,
  cache_read_tokens: ran?.usage.cacheReadTokens ?? null,
  cache_write_tokens: ran?.usage.cacheWriteTokens ?? null,
  tool_calls: ran?.usage.toolCalls ?? null,
  messages: ran?.usage.messages ?? null,
  cost_usd: ran?.costUsd ?? null,
  duration_ms: ran?.durationMs ?? null,
  destinations: ran?.destinations ? JSON.stringify(ran.destinations) : null,
});
