import type { App } from "../app.ts";
import type { Budget, RunHost } from "../crew/record/run-host.ts";
import { ok, type Result } from "../kernel/result.ts";

/** Plans and carries out runs in the server's own process, for as long as it serves. */
export function openRunHost(app: App): RunHost & { resume(): Promise<void>; stop(): Promise<void> } {
  const stopping = new AbortController();
  const underWay = new Map<string, Promise<unknown>>();

  function keep(name: string, work: Promise<unknown>): void {
    const kept = work
      .catch((error: Error) => app.log.error({ run: name, error: error.message, stack: error.stack }, "run-failed"))
      .finally(() => underWay.delete(name));
    underWay.set(name, kept);
  }

  const planning = (run: string) => `planning ${run}`;

  async function carryOut(run: string, by: string, budget: Budget = {}): Promise<Result<{ run: string }>> {
    // A plan can be read, and a run be stopped, before whoever worked on it has tidied up: a person who is
    // quick waits for that, and is not taken for someone who asks twice.
    await underWay.get(planning(run));
    if (underWay.has(run)) {
      if ((await app.runs.find(run))?.state === "running") return ok({ run });
      await underWay.get(run);
    }
    const [{ executeRun }, { crewOf }] = await Promise.all([
      import("../crew/attempt/execute.ts"),
      import("../executing.ts"),
    ]);
    const crew = await crewOf(app, () => undefined);
    if (!crew.ok) return crew;
    // Someone else may have asked for the same while the crew was put together.
    if (underWay.has(run)) return ok({ run });
    const options = { workers: app.config.crew.workers, signal: stopping.signal, by, serving: true, ...budget };
    keep(run, executeRun(crew.value, run, options));
    return ok({ run });
  }

  return {
    async plan(request, how) {
      const [{ planRun }, { planningOf }] = await Promise.all([
        import("../crew/plan/planner.ts"),
        import("../executing.ts"),
      ]);
      const { id } = await app.runs.create(request, how.by);
      keep(planning(id), planRun(planningOf(app), { id, request }, how, stopping.signal));
      return ok({ run: id });
    },

    carryOut,

    /** Goes on with what a server that was killed had under way. */
    async resume() {
      const { cutOff } = await import("../crew/attempt/execute.ts");
      for (const { run, by } of await cutOff(app)) {
        const resumed = await carryOut(run, by);
        if (!resumed.ok) app.log.error({ run, problem: resumed.problem.message }, "run-not-resumed");
      }
    },

    async stop() {
      stopping.abort();
      await Promise.all(underWay.values());
    },
  };
}
