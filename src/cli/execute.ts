import { readFile } from "node:fs/promises";
import { Command, InvalidArgumentError } from "@commander-js/extra-typings";
import type { App } from "../app.ts";
import { executeRun } from "../crew/execute-operations.ts";
import type { Outcome } from "../crew/record/run-host.ts";
import { cancelRun } from "../crew/run-operations.ts";
import { nameOf } from "../kernel/caller.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import { stopSignals } from "../kernel/stop-signals.ts";
import { snakeKeys } from "../kernel/wire.ts";
import { progress } from "./progress.ts";
import { type Common, complain, localPerson, report, withApp } from "./session.ts";
import { inertly, json, plural, table } from "./text.ts";

export const executeCommand = (common: () => Common) =>
  new Command("execute")
    .description("carry out a plan: workers, checks, verifiers, retries, and a report at the end")
    .argument("[run]", "the run's id, or its chain-output.md; without it the newest run that is not over")
    .option("--workers <n>", "how many tasks are worked on at once", count)
    .option("--budget-tokens <n>", "stop before a call that would exceed this many tokens", count)
    .option("--no-budget-tokens", "no limit in tokens")
    .option("--budget-usd <x>", "stop before a call that would exceed this many US dollars", amount)
    .option("--no-budget-usd", "no limit in dollars")
    .option("--dry-run", "only show what would be done, by whom and within which limits")
    .action((run, { workers, budgetTokens, budgetUsd, dryRun }) =>
      withApp(common(), async (app) => {
        const found = await runNamed(app, run);
        if (!found.ok) return complain(common(), found.problem);
        if (dryRun) return showPlan(app, common(), found.value);
        await carryOut(app, common(), found.value, { workers, budgetTokens, budgetUsd });
      }),
    );

export const workCommand = (common: () => Common) =>
  new Command("work")
    .description("join runs of this workspace as more workers, also from another machine; Ctrl-C ends it")
    .argument("[run]", "only this run; it then ends with the run")
    .option("--workers <n>", "how many tasks are worked on at once", count)
    .action((run, { workers }) =>
      withApp(common(), async (app) => {
        if (run && !(await app.runs.find(run))) {
          return complain(common(), {
            code: "not_found",
            message: `there is no run ${run}; see: scriptorium run list`,
          });
        }
        const done = await watched(app, common(), async () =>
          app.host.work(run, { workers, by: nameOf(await localPerson(app)) }),
        );
        if (!done.ok) complain(common(), done.problem);
      }),
    );

export const resumeCommand = (common: () => Common) =>
  new Command("resume")
    .description("go on with a run that was stopped or killed; what is finished is not paid for again")
    .argument("<run>")
    .option("--workers <n>", "how many tasks are worked on at once", count)
    .option("--budget-tokens <n>", "new budget in tokens", count)
    .option("--no-budget-tokens", "remove the budget in tokens")
    .option("--budget-usd <x>", "new budget in US dollars", amount)
    .option("--no-budget-usd", "remove the budget in dollars")
    .action((run, options) =>
      withApp(common(), async (app) => {
        const found = await runNamed(app, run);
        if (!found.ok) return complain(common(), found.problem);
        await carryOut(app, common(), found.value, options);
      }),
    );

export const cancelCommand = (common: () => Common) =>
  new Command("cancel")
    .description(cancelRun.summary)
    .argument("<run>")
    .option("--reason <text>", "why")
    .action((id, { reason }) =>
      report(
        common(),
        cancelRun,
        { id, reason },
        (done) => `${done.id} is ${done.state}; ${plural(done.cancelled, "task")} given up`,
      ),
    );

/** Commander sets an option to true without its value, and to false by its `--no-` form. */
type Budget = number | boolean | undefined;
type How = { workers?: number | undefined; budgetTokens?: Budget; budgetUsd?: Budget };

const budgetFrom = (option: Budget) => (option === false ? null : option === true ? undefined : option);

async function carryOut(
  app: App,
  options: Common,
  run: string,
  { workers, budgetTokens, budgetUsd }: How,
): Promise<void> {
  const budget = { budget_tokens: budgetFrom(budgetTokens), budget_usd: budgetFrom(budgetUsd) };
  const input = { id: run, workers, ...budget };
  const done = await watched(app, options, async () => executeRun.perform(app, input, await localPerson(app)));
  if (!done.ok) return complain(options, done.problem);
  const outcome = { ...unknownOutcome, ...done.value };
  if (outcome.state !== "completed") process.exitCode = 1;
  process.stdout.write(options.json ? `${json({ kind: "summary", ...outcome })}\n` : `${summary(inertly(outcome))}\n`);
}

/** Shows the progress of this process's runs while `work` goes on; Ctrl-C stops them. */
async function watched<T>(app: App, options: Common, work: () => Promise<T>): Promise<T> {
  const shown = progress(options, process.stdout);
  const unsubscribe = app.host.onNews(shown.tell);
  const stop = stopOnSignal(app);
  try {
    return await work();
  } finally {
    stop.end();
    unsubscribe();
    shown.end();
  }
}

/** A command waits for the end, so that the operation returns all of these. */
const unknownOutcome: Omit<Outcome, "run"> = {
  state: "unknown",
  tasks: { all: 0, completed: 0, lost: 0 },
  reason: null,
  report: null,
  branch: null,
};

function summary({ run, state, tasks, reason, report, branch }: Outcome): string {
  return [
    `${run} is ${state}${reason ? `: ${reason}` : ""}`,
    `${tasks.completed} of ${tasks.all} tasks accepted${tasks.lost > 0 ? `, ${tasks.lost} lost` : ""}`,
    ...(report ? [`report: ${report}`] : []),
    ...(branch && tasks.completed > 0
      ? [`the accepted work is on the branch ${branch}; take it over with: git merge ${branch}`]
      : []),
    ...(state === "stopped" ? [`go on with: scriptorium run resume ${run}`] : []),
  ].join("\n");
}

/** Finds a run by id or file; without a name, the newest that has not ended. */
async function runNamed(app: App, name: string | undefined): Promise<Result<string>> {
  if (name === undefined) {
    const open = (await app.runs.list(50)).find(({ state }) => ["planned", "running", "stopped"].includes(state));
    return open
      ? ok(open.id)
      : refuse("not_found", "there is no run that could be carried out; make one with: scriptorium plan");
  }
  if (await app.runs.find(name)) return ok(name);
  const text = await readFile(name, "utf8").catch(() => undefined);
  if (text === undefined) return refuse("not_found", `there is no run and no file ${name}; see: scriptorium run list`);
  const { readChain } = await import("../crew/rules/chain-file.ts");
  const chain = readChain(text);
  if (!chain.ok) return chain;
  const known = await app.runs.find(chain.value.run);
  if (known && known.state !== "planned") return ok(known.id);
  const by = nameOf(await localPerson(app));
  const id = known?.id ?? (await app.runs.create(chain.value.request, by)).id;
  const adopted = await app.runs.adopt(id, chain.value.plan, by);
  return adopted.ok ? ok(id) : adopted;
}

async function showPlan(app: App, options: Common, run: string): Promise<void> {
  const read = await app.runs.readBack(run, nameOf(await localPerson(app)));
  if (!read.ok) return complain(options, read.problem);
  const [{ dependenciesOf }, { boundsFor }, { configuredAgents }] = await Promise.all([
    import("../crew/rules/plan.ts"),
    import("../crew/rules/breakers.ts"),
    import("../crew/agent/parts.ts"),
  ]);
  const agents = configuredAgents(app.config);
  const by = (part: "worker" | "qc") => {
    const playing = agents(part);
    return playing.ok
      ? `${playing.value.runner.name}${playing.value.model ? ` ${playing.value.model}` : ""}`
      : playing.problem.message;
  };
  const tasks = (read.value.plan?.tasks ?? []).map((task) => ({
    number: task.number,
    title: task.title,
    depends_on: dependenciesOf(task),
    attempts: task.max_retries + 1,
    checks: task.verification.filter((one) => one.check).length,
    criteria: task.verification.length,
    limits: snakeKeys(boundsFor("worker", task.estimated_tool_calls ?? null)),
  }));
  const plan = { run, title: read.value.title, worker: by("worker"), qc: by("qc"), tasks };
  if (options.json) return void process.stdout.write(`${json(plan)}\n`);
  const rows = inertly(tasks).map((task) => [
    task.number,
    task.depends_on.join(", ") || "–",
    String(task.attempts),
    `${task.checks} of ${task.criteria}`,
    String(task.limits.tool_calls),
    task.title,
  ]);
  const head = ["task", "after", "attempts", "checked", "tool calls", "title"];
  process.stdout.write(
    `${inertly(plan.title)}\nworkers: ${plan.worker}; verifiers: ${plan.qc}\n\n${table([head, ...rows])}\n\nNothing was run.\n`,
  );
}

/** The first Ctrl-C lets agents end and hands their tasks back; the second exits at once. */
function stopOnSignal(app: App) {
  let isStopping = false;
  const onSignal = () => {
    if (isStopping) process.exit(130);
    isStopping = true;
    process.stderr.write("scriptorium: stopping; once more to stop at once\n");
    void app.host.stop();
  };
  for (const signal of stopSignals) process.on(signal, onSignal);
  return {
    end: () => {
      for (const signal of stopSignals) process.off(signal, onSignal);
    },
  };
}

function count(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1) return value;
  throw new InvalidArgumentError("Expected a whole number from 1.");
}

function amount(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError("Expected a number above 0, such as 2.50.");
}
