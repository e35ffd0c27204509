import type { CrewPart } from "../kernel/caller.ts";
import { ok, type Result } from "../kernel/result.ts";
import { noSuch } from "../store/no-such.ts";
import { withRetryWindow } from "../store/retry-window.ts";
import type { Staff } from "./agent/staff.ts";
import type { Crew } from "./attempt/crew.ts";
import { beginPlanning, carrierOf, leaseEnd } from "./record/carrier.ts";
import type { CrewApp } from "./record/crew-app.ts";
import { retryTasks } from "./record/retry.ts";
import type { CrewAgents, CrewPool, ExecuteOptions, News, Outcome, RunHost, RunInProgress } from "./record/run-host.ts";
import { recordWorkspace } from "./record/workspace-record.ts";
import { changeText } from "./rules/plan-change.ts";
import { isPaused, type Run } from "./rules/run.ts";
import { takingOver } from "./take-over.ts";

export type HostOptions = {
  /** Operations return as soon as the work has started; a server and its restart resume it. */
  background?: boolean;
  /** Agents for all runs, instead of those that the configuration names. */
  agents?: CrewAgents;
};

/** The tools of agents; loaded on first use. */
type Tools = Pick<Staff, "operationsFor" | "serveTools">;

/** Longer than a failover of PostgreSQL takes; a database that does not come back must not hold a command for ever. */
const longestOutageMinutes = 15;

const isBudgeted = (budget: Pick<ExecuteOptions, "budgetTokens" | "budgetUsd">) =>
  budget.budgetTokens !== undefined || budget.budgetUsd !== undefined;

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

  const planningLease = async (kind: "planner" | "researcher") => ({
    carried_by: carrierOf(kind),
    carrier_until: await leaseEnd(appOf()),
  });

  /** Work of agents outlasts an outage of the database. */
  const outlasting = <T>(signal: AbortSignal, run: string | undefined, work: () => T): T => {
    const onWait = () => {
      appOf().log.warn({ run }, "database-lost");
      tell({ kind: "database-lost", run: run ?? "", reason: `waiting up to ${longestOutageMinutes} min for it` });
    };
    return withRetryWindow({ ms: longestOutageMinutes * 60_000, signal, onWait }, work);
  };

  /** Keeps track of work until it ends. In the background nobody awaits it, so that its error is logged here. */
  function track<T>(name: string, signal: AbortSignal, run: string | undefined, task: () => Promise<T>): Promise<T> {
    const work = outlasting(signal, run, task);
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
        const options = { ...how, signal: until(signal), serving: background };
        const work = () => planRun(made.value, { id, request }, options);
        return ok({ run: id, ended: track(planning(id), options.signal, id, work) });
      },
      research({ id, request }: Run, how: { by: string }, signal: AbortSignal | undefined) {
        const options = { ...how, signal: until(signal), serving: background };
        const work = () => researchRun(made.value, { id, request }, options);
        return ok({ run: id, ended: track(planning(id), options.signal, id, work) });
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
    const work = () =>
      executeRun(made.value, run, { ...options, ...budget, onBegin }).finally(() => executing.delete(run));
    const started = { run, ended: track(run, options.signal, run, work) };
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
    const begun = await beginChange(app, { run, tasks, message, by });
    if (!begun.ok) return begun;
    const change = begun.value.id;
    const options = { signal: until(signal), serving: background };
    const work = () => replanRun(made.value, begun.value, options);
    return ok({ run, change, ended: track(change, options.signal, run, work) });
  };

  let taking: ReturnType<typeof takingOver> | undefined;
  const takeOver = (app: CrewApp) =>
    takingOver(app, {
      signal: stopping.signal,
      crew: () => crew(undefined),
      checkPlanners: (parts) => planners(undefined, parts),
      isCarried: (id) => executing.has(id) || inProgress.has(planning(id)) || inProgress.has(id),
      execute(made, run, by) {
        const options = { workers: app.config.crew.workers, signal: stopping.signal, by, serving: true };
        const work = async () => {
          const { carryRun } = await import("./attempt/execute.ts");
          return carryRun(made, run, options, "server").finally(() => executing.delete(run));
        };
        executing.set(run, { run, ended: track(run, stopping.signal, run, work) });
      },
      async plan(id, by) {
        const [planner, run] = [await planners(undefined, ["pm"]), await app.runs.find(id)];
        return planner.ok && run ? planner.value.plan(run, { brief: false, by }, undefined) : planner;
      },
      replan,
    });

  return {
    background,

    async plan(request, { brief, by, agents, signal }) {
      const planner = await planners(agents, brief ? ["brief", "pm"] : ["pm"]);
      if (!planner.ok) return planner;
      const run = await appOf().runs.create(request, by, await planningLease("planner"));
      return planner.value.plan(run, { brief, by }, signal);
    },

    async research(request, { by, agents, signal }) {
      const planner = await planners(agents, ["pm"]);
      if (!planner.ok) return planner;
      const run = await appOf().runs.create(request, by, await planningLease("researcher"));
      return planner.value.research(run, { by }, signal);
    },

    async resumePlan(run, { by, agents, signal }) {
      const app = appOf();
      const found = await app.runs.find(run);
      if (!found) return noSuch(app.db.read, "run", run);
      const planner = await planners(agents, ["pm"]);
      if (!planner.ok) return planner;
      const reopened = await beginPlanning(app, run, by, () => inProgress.has(planning(run)));
      return reopened.ok ? planner.value.plan(reopened.value, { brief: false, by }, signal) : reopened;
    },

    replan,

    execute,

    async start(run, { by, agents, signal }) {
      const [{ startRun }, made] = await Promise.all([import("./attempt/execute.ts"), crew(agents)]);
      if (!made.ok) return made;
      const all = until(signal);
      const started = await outlasting(all, run, () => startRun(made.value, run, { by, signal: all }));
      if (!started.ok) return started;
      void track(`answering ${run}`, all, run, () => started.value.ended);
      return ok(true);
    },

    async openPool({ by, agents, signal }) {
      const [{ openCrewPool }, made] = await Promise.all([import("./attempt/crew-pool.ts"), crew(agents)]);
      if (!made.ok) return made;
      const all = until(signal);
      const pool = await outlasting(all, undefined, () => openCrewPool(made.value, { by, signal: all }));
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
      const work = () => verifyCompleted(made.value, run, options);
      return track(`verifying ${++verifications}`, options.signal, run, work);
    },

    async work(run, { by, workers, agents, signal }) {
      const made = await crew(agents);
      if (!made.ok) return made;
      const { joinRuns } = await import("./attempt/execute.ts");
      const options = { workers: workers ?? appOf().config.crew.workers, signal: until(signal), by };
      return track("work", options.signal, run, () => joinRuns(made.value, run, options));
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
      taking ??= takeOver(app);
      await taking.start();
    },

    async stop() {
      stopping.abort();
      await taking?.stop();
      await Promise.all([...inProgress.values(), ...[...pools].map((pool) => pool.stop(0))]);
    },
  };
}
