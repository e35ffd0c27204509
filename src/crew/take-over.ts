import type { CrewPart } from "../kernel/caller.ts";
import type { Result } from "../kernel/result.ts";
import type { Crew } from "./attempt/crew.ts";
import { abandonedRuns, carrierOf, noteStalled, takeOver, takeOverMs } from "./record/carrier.ts";
import type { CrewApp } from "./record/crew-app.ts";
import type { RunHost } from "./record/run-host.ts";

type Hands = {
  signal: AbortSignal;
  crew(): Promise<Result<Crew>>;
  /** Checks that the agents of these parts can be started here. */
  checkPlanners(parts: CrewPart[]): Promise<Result<unknown>>;
  /** True if this process executes or plans the run. */
  isCarried(run: string): boolean;
  execute(crew: Crew, run: string, by: string): void;
  plan(run: string, by: string): Promise<Result<unknown>>;
  replan: RunHost["replan"];
};

/** Takes over the runs, plans and changes of plans that no process carries: now, and every few seconds until `stop`. */
export function takingOver(app: CrewApp, hands: Hands) {
  const { signal, isCarried } = hands;
  let looking: Promise<void> | undefined;

  /** The last logged reason for each run or plan that cannot be taken over: every search finds it again. */
  const unable = new Map<string, string>();
  function say(what: string, problem: string): void {
    if (unable.get(what) !== problem) app.log.error({ what, problem }, "not-taken-over");
    unable.set(what, problem);
  }

  /** One search at a time. */
  function look(): Promise<void> {
    looking ??= Promise.all(
      [takeRuns, takePlans, takeChanges].map((take) =>
        take().catch((error: unknown) => app.log.warn({ error: String(error) }, "take-over-failed")),
      ),
    ).then(() => {
      looking = undefined;
    });
    return looking;
  }

  async function takeRuns(): Promise<void> {
    const abandoned = (await abandonedRuns(app.db, "running")).filter(({ run }) => !isCarried(run));
    if (abandoned.length === 0 || signal.aborted) return;
    const [{ takeOverRuns }, made] = await Promise.all([import("./attempt/execute.ts"), hands.crew()]);
    if (!made.ok) {
      for (const { run } of abandoned) {
        say(run, made.problem.message);
        await noteStalled(app, run, made.problem.message);
      }
      return;
    }
    for (const { run, by } of await takeOverRuns(made.value, { run: undefined, isCarried, kind: "server" })) {
      made.value.tell({ kind: "run-taken-over", run });
      hands.execute(made.value, run, by);
    }
  }

  async function takePlans(): Promise<void> {
    const abandoned = (await abandonedRuns(app.db, "planning")).filter(({ run }) => !isCarried(run));
    if (abandoned.length === 0 || signal.aborted) return;
    const able = await hands.checkPlanners(["pm"]);
    for (const one of abandoned) {
      if (able.ok && (await takeOver(app, one, carrierOf("planner")))) await hands.plan(one.run, one.by);
      else if (!able.ok) {
        say(one.run, able.problem.message);
        if ((await app.runs.find(one.run))?.reason === null)
          await app.runs.step(one.run, { type: "wait", reason: able.problem.message }, one.by);
      }
    }
  }

  async function takeChanges(): Promise<void> {
    const { abandonedChanges } = await import("./record/plan-changes.ts");
    for (const { id, run, ...asked } of (await abandonedChanges(app)).filter((one) => !isCarried(one.id))) {
      if (signal.aborted) return;
      const resumed = await hands.replan(run, asked);
      if (!resumed.ok) say(id, resumed.problem.message);
    }
  }

  let timer: NodeJS.Timeout | undefined;
  return {
    async start(): Promise<void> {
      await look();
      // A start that failed is repeated.
      if (!signal.aborted) timer ??= setInterval(() => void look(), takeOverMs);
    },
    async stop(): Promise<void> {
      clearInterval(timer);
      await looking;
    },
  };
}
