import type { App } from "../app.ts";
import type { RunHost } from "../crew/host.ts";
import { ok, type Result, refuse } from "../result.ts";

/** Plans and carries out runs in the server's own process, for as long as it serves. */
export function openRunHost(app: App): RunHost & { stop(): Promise<void> } {
  const stopping = new AbortController();
  const underWay = new Map<string, Promise<unknown>>();

  function keep(name: string, work: Promise<unknown>): void {
    const kept = work
      .catch((error: Error) => app.log.error({ run: name, error: error.message, stack: error.stack }, "run-failed"))
      .finally(() => underWay.delete(name));
    underWay.set(name, kept);
  }

  return {
    async plan(request, how) {
      const [{ planRequest }, { planningOf }] = await Promise.all([
        import("../crew/planner.ts"),
        import("../executing.ts"),
      ]);
      const before = new Set((await app.runs.list(200)).map(({ id }) => id));
      const planning = planRequest(planningOf(app), request, how, stopping.signal);
      const planned = planning.then((result) => (result.ok ? undefined : result));
      keep(`plan ${app.newId("p")}`, planning);
      return firstOf(app, before, request, planned);
    },

    async carryOut(run, by) {
      if (underWay.has(run)) return ok({ run });
      const [{ executeRun }, { crewOf }] = await Promise.all([import("../crew/execute.ts"), import("../executing.ts")]);
      const crew = await crewOf(app, () => undefined);
      if (!crew.ok) return crew;
      const options = { workers: app.config.crew.workers, signal: stopping.signal, by };
      keep(run, executeRun(crew.value, run, options));
      return ok({ run });
    },

    async stop() {
      stopping.abort();
      await Promise.all(underWay.values());
    },
  };
}

type Refusal = Extract<Result<never>, { ok: false }>;

/** The run that planning has begun, as soon as it is there; planning itself takes minutes. */
async function firstOf(
  app: App,
  before: Set<string>,
  request: string,
  planned: Promise<Refusal | undefined>,
): Promise<Result<{ run: string }>> {
  for (let waited = 0; waited < 100; waited++) {
    const found = (await app.runs.list(20)).find((run) => !before.has(run.id) && run.request === request);
    if (found) return ok({ run: found.id });
    const ended = await Promise.race([planned, new Promise<"waiting">((done) => setTimeout(done, 50, "waiting"))]);
    if (ended && ended !== "waiting") return ended;
  }
  return refuse("refused", "planning did not begin; the server's log says why");
}
