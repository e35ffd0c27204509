import type { CrewPart } from "../kernel/caller.ts";
import { processName, processState } from "../kernel/process-name.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import { noSuch } from "../store/no-such.ts";
import type { Staff } from "./agent/staff.ts";
import type { Crew } from "./attempt/crew.ts";
import { abandonedRuns, leaseEnd, noteStalled, takeOverMs } from "./record/carrier.ts";
import type { CrewApp } from "./record/crew-app.ts";
import { retryTasks } from "./record/retry.ts";
import type { CrewAgents, CrewPool, ExecuteOptions, News, Outcome, RunHost, RunInProgress } from "./record/run-host.ts";
import { recordWorkspace } from "./record/workspace-record.ts";
import { changeText } from "./rules/plan-change.ts";
import { isPaused, type Run } from "./rules/run.ts";

export type HostOptions = {
  /** Operations return as soon as the work has started; a server and its restart resume it. */
  background?: boolean;
  /** Agents for all runs, instead of those that the configuration names. */
  agents?: CrewAgents;
};

/** The tools of agents; loaded on first use. */
type Tools = Pick<Staff, "operationsFor" | "serveTools">;

const isBudgeted = (budget: Pick<ExecuteOptions, "budgetTokens" | "budgetUsd">) =>
  budget.budgetTokens !== undefined || budget.budgetUsd !== undefined;

const planningCarrier = () => `${processName()}/planner`;

/**
 * The run host of a process. Planning and executing load the model SDK and more, so that they are
 * imported on first use: most processes never need them.
 */
export function openRunHost(
  appOf: () => CrewApp,
  loadTools: () => Promise<Tools>,
  { background = false, agents }: HostOptions = {},
): RunHost {
  const stopping = new AbortController();
  const inProgress = new Map<string, Promise<unknown>>();
  const executing = new Map<string, RunInProgress<Outcome>>();
  const listeners = new Set<(news: News) => void>();
  const pools = new Set<CrewPool>();
  let verifications = 0;

  const until = (signal: AbortSignal | undefined) =>
    signal ? AbortSignal.any([stopping.signal, signal]) : stopping.signal;

  const planning = (run: string) => `planning ${run}`;

  /** Keeps track of work until it ends. In the background nobody awaits it, so that its error is logged here. */
  function track<T>(name: string, work: Promise<T>): Promise<T> {
    const settled = work
      .catch((error: Error) => {
        if (background) appOf().log.error({ run: name, error: error.message, stack: error.stack }, "run-failed");
      })
      .finally(() => inProgress.delete(name));
    inProgress.set(name, settled);
    return work;
  }

  const tell = (news: News) => {
    for (const listener of listeners) listener(news);
  };

  async function staff(given: CrewAgents | undefined): Promise<Result<Staff>> {
    const app = appOf();
    const trusted = app.config.trust.check("agents");
    if (!trusted.ok) return trusted;
    const [tools, { configuredAgents }] = await Promise.all([loadTools(), import("./agent/parts.ts")]);
    return ok({ app, agents: given ?? agents ?? configuredAgents(app.config), tell, ...tools });
  }

  async function crew(given: CrewAgents | undefined): Promise<Result<Crew>> {
    const { openCrew } = await import("./attempt/crew.ts");
    const made = await staff(given);
    return made.ok ? openCrew(made.value, tell) : made;
  }

  /** Starts planners, once the agents of the parts are known to be there. */
  async function planners(given: CrewAgents | undefined, parts: CrewPart[]) {
    const made = await staff(given);
    if (!made.ok) return made;
    const [{ planRun, researchRun }, { checkBeforePlanning }] = await Promise.all([
      import("./plan/planner.ts"),
      import("./agent/ready.ts"),
    ]);
    const ready = await checkBeforePlanning(made.value, parts);
    if (!ready.ok) return ready;
    return ok({
      plan({ id, request }: Run, how: { brief: boolean; by: string }, signal: AbortSignal | undefined) {
        const ended = track(planning(id), planRun(made.value, { id, request }, how, until(signal)));
        return ok({ run: id, ended });
      },
      research({ id, request }: Run, how: { by: string }, signal: AbortSignal | undefined) {
        const ended = track(planning(id), researchRun(made.value, { id, request }, how, until(signal)));
        return ok({ run: id, ended });
      },
    });
  }

  const execute: RunHost["execute"] = async (run, { by, workers, agents, signal, ...budget }) => {
    const app = appOf();
    // A plan can be read, and a run be stopped, shortly before its process has cleaned up: wait for that
    // instead of taking the request for a second one.
    await inProgress.get(planning(run));
    const running = executing.get(run);
    if (running) {
      const now = await app.runs.find(run);
      // Agents of a paused run may still be ending their stage: it goes on beside them.
      const goesOn =
        now && isPaused(now) && !isBudgeted(budget)
          ? await app.runs.step(run, { type: "start" }, by, { carrier_until: await leaseEnd(app) })
          : undefined;
      if (now?.state === "running" || goesOn?.ok) {
        const read = await app.runs.readBack(run, by);
        if (!read.ok) return read;
        const retried = budget.retry ? await retryTasks(app, run, budget.retry, by) : ok(0);
        if (!retried.ok) return retried;
        if (read.value.diff !== "") tell({ kind: "plan-changed", run, reason: changeText(read.value) });
        return ok(running);
      }
      await inProgress.get(run);
    }
    const [{ executeRun }, made] = await Promise.all([import("./attempt/execute.ts"), crew(agents)]);
    if (!made.ok) return made;
    // Another request for the same run may have been faster while the crew was opened.
    const earlier = executing.get(run);
    if (earlier) return ok(earlier);
    const options = { workers: workers ?? app.config.crew.workers, signal: until(signal), by, serving: background };
    let onBegin: (begun: Result<true>) => void = () => {};
    const begun = new Promise<Result<true>>((resolve) => {
      onBegin = resolve;
    });
    const work = executeRun(made.value, run, { ...options, ...budget, onBegin }).finally(() => executing.delete(run));
    const started = { run, ended: track(run, work) };
    executing.set(run, started);
    // In the background nobody reads how it ends, so a run that cannot start is refused here.
    const first = background ? await Promise.race([begun, started.ended]) : ok(true);
    return first.ok ? ok(started) : first;
  };

  const replan: RunHost["replan"] = async (run, { by, tasks, message, agents, signal }) => {
    const app = appOf();
    const made = await staff(agents);
    if (!made.ok) return made;
    const [{ replanRun }, { checkReady }, { beginChange }] = await Promise.all([
      import("./plan/replan.ts"),
      import("./agent/ready.ts"),
      import("./record/plan-changes.ts"),
    ]);
    const ready = checkReady(made.value, ["pm"]);
    if (!ready.ok) return ready;
    // The person's edits of the file belong to the plan that is changed.
    const read = await app.runs.readBack(run, by);
    if (!read.ok) return read;
    const begun = await beginChange(app, { run, tasks, message, by, serving: background });
    if (!begun.ok) return begun;
    const change = begun.value.id;
    return ok({ run, change, ended: track(change, replanRun(made.value, begun.value, until(signal))) });
  };

  let taking: NodeJS.Timeout | undefined;
  let looking: Promise<void> | undefined;
  /** Why no run can be taken over, as logged last. */
  let unable: string | undefined;

  /** Looks for runs that no process carries, one search at a time. */
  function takeOverAbandoned(): Promise<void> {
    looking ??= look()
      .catch((error: unknown) => appOf().log.warn({ error: String(error) }, "take-over-failed"))
      .finally(() => {
        looking = undefined;
      });
    return looking;
  }

  async function look(): Promise<void> {
    const app = appOf();
    const isCarried = (run: string) => executing.has(run);
    const abandoned = (await abandonedRuns(app.db)).filter(({ run }) => !isCarried(run));
    if (abandoned.length === 0 || stopping.signal.aborted) return;
    const [{ carryRun, takeOverRuns }, made] = await Promise.all([import("./attempt/execute.ts"), crew(undefined)]);
    if (!made.ok) {
      if (unable !== made.problem.message)
        app.log.error({ runs: abandoned.map(({ run }) => run), problem: made.problem.message }, "run-not-resumed");
      unable = made.problem.message;
      if (background) for (const { run } of abandoned) await noteStalled(app, run, unable);
      return;
    }
    for (const { run, by } of await takeOverRuns(made.value, { run: undefined, isCarried, kind: "server" })) {
      tell({ kind: "run-taken-over", run });
      const options = { workers: app.config.crew.workers, signal: stopping.signal, by, serving: true };
      const work = carryRun(made.value, run, options, "server").finally(() => executing.delete(run));
      executing.set(run, { run, ended: track(run, work) });
    }
  }

  return {
    background,

    async plan(request, { brief, by, agents, signal }) {
      const planner = await planners(agents, brief ? ["brief", "pm"] : ["pm"]);
      if (!planner.ok) return planner;
      const run = await appOf().runs.create(request, by, planningCarrier());
      return planner.value.plan(run, { brief, by }, signal);
    },

    async research(request, { by, agents, signal }) {
      const planner = await planners(agents, ["pm"]);
      if (!planner.ok) return planner;
      const run = await appOf().runs.create(request, by, planningCarrier());
      return planner.value.research(run, { by }, signal);
    },

    async resumePlan(run, { by, agents, signal }) {
      const app = appOf();
      const found = await app.runs.find(run);
      if (!found) return noSuch(app.db.read, "run", run);
      const planner = await planners(agents, ["pm"]);
      if (!planner.ok) return planner;
      const isHere = found.carriedBy === planningCarrier();
      const isAlive = isHere ? inProgress.has(planning(run)) : processState(found.carriedBy ?? "") === "running";
      if (found.state === "planning" && isAlive)
        return refuse("conflict", `run ${run} is being planned; wait for its plan: scriptorium run show ${run}`);
      const reopened = await app.runs.step(run, { type: "reopen" }, by, { carried_by: planningCarrier() });
      return reopened.ok ? planner.value.plan(reopened.value, { brief: false, by }, signal) : reopened;
    },

    replan,

    execute,

    async start(run, { by, agents, signal }) {
      const [{ startRun }, made] = await Promise.all([import("./attempt/execute.ts"), crew(agents)]);
      if (!made.ok) return made;
      const started = await startRun(made.value, run, { by, signal: until(signal) });
      if (!started.ok) return started;
      void track(`answering ${run}`, started.value.ended);
      return ok(true);
    },

    async openPool({ by, agents, signal }) {
      const [{ openCrewPool }, made] = await Promise.all([import("./attempt/crew-pool.ts"), crew(agents)]);
      if (!made.ok) return made;
      const pool = await openCrewPool(made.value, { by, signal: until(signal) });
      pools.add(pool);
      const close = async (deadlineMs: number) => {
        pools.delete(pool);
        await pool.stop(deadlineMs);
      };
      return ok({ ...pool, stop: close });
    },

    async verifyCompleted(run, { by, agents, signal, verifiers = 1, wait = false }) {
      const app = appOf();
      if (run !== undefined && !(await app.runs.find(run))) return noSuch(app.db.read, "run", run);
      const [{ verifyCompleted }, made] = await Promise.all([import("./attempt/crew-pool.ts"), crew(agents)]);
      if (!made.ok) return made;
      const options = { by, verifiers, wait, signal: until(signal) };
      return track(`verifying ${++verifications}`, verifyCompleted(made.value, run, options));
    },

    async work(run, { by, workers, agents, signal }) {
      const made = await crew(agents);
      if (!made.ok) return made;
      const { joinRuns } = await import("./attempt/execute.ts");
      const options = { workers: workers ?? appOf().config.crew.workers, signal: until(signal), by };
      return track("work", joinRuns(made.value, run, options));
    },

    onNews(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },

    async resume() {
      const app = appOf();
      const { sweepSetups } = await import("./attempt/crew.ts");
      await sweepSetups(app);
      await recordWorkspace(app);
      await takeOverAbandoned();
      if (!stopping.signal.aborted) taking = setInterval(() => void takeOverAbandoned(), takeOverMs);
      const { cutOffChanges } = await import("./record/plan-changes.ts");
      for (const { run, ...asked } of await cutOffChanges(app)) {
        const resumed = await replan(run, asked);
        if (!resumed.ok) app.log.error({ run, problem: resumed.problem.message }, "replan-not-resumed");
      }
    },

    async stop() {
      stopping.abort();
      clearInterval(taking);
      await looking;
      await Promise.all([...inProgress.values(), ...[...pools].map((pool) => pool.stop(0))]);
    },
  };
}
