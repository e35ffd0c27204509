import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { Command, InvalidArgumentError } from "@commander-js/extra-typings";
import type { App } from "../app.ts";
import type { PlannedSetup } from "../crew/attempt/planned-setup.ts";
import { executeRun } from "../crew/execute-operations.ts";
import type { Outcome } from "../crew/record/run-host.ts";
import { runDetails } from "../crew/report/show.ts";
import { rerunRun } from "../crew/rerun.ts";
import { currentBudget } from "../crew/rules/run-budget.ts";
import { cancelRun, pauseRun } from "../crew/run-operations.ts";
import { nameOf } from "../kernel/caller.ts";
import { ok, type Result, refuse, unwrap } from "../kernel/result.ts";
import { stopSignals } from "../kernel/stop-signals.ts";
import { snakeKeys } from "../kernel/wire.ts";
import { noSuch } from "../store/no-such.ts";
import type { Confirmation } from "./decide.ts";
import { failureLines } from "./failures.ts";
import type { OutputOf } from "./output-of.ts";
import { progress } from "./progress.ts";
import { type Common, complain, localPerson, perform, print, report, withApp } from "./session.ts";
import { shell, writeErr, writeOut } from "./shell.ts";
import { inert, inertly, json, plural, table } from "./text.ts";

export const executeCommand = (common: () => Common) =>
  new Command("execute")
    .description("run a plan: workers, checks, verification, retries and a report")
    .argument("[run]", "id of the run, or path of its chain-output.md (default: the newest unfinished run)")
    .option("--workers <n>", "maximum number of tasks in progress at once", count)
    .option("--budget-tokens <n>", "token budget of the run; it stops before a call that would exceed it", count)
    .option("--no-budget-tokens", "no token budget")
    .option("--budget-usd <x>", "budget of the run in US dollars; it stops before a call that would exceed it", amount)
    .option("--no-budget-usd", "no budget in US dollars")
    .option("--dry-run", "show tasks, agents and limits without running anything")
    .action((run, { workers, budgetTokens, budgetUsd, dryRun }) =>
      withApp(common(), async (app) => {
        const found = await runNamed(app, common(), run);
        if (!found.ok) return complain(common(), found.problem);
        if (dryRun) return showPlan(app, common(), found.value);
        await carryOut(app, common(), found.value, { workers, budgetTokens, budgetUsd });
      }),
    );

export const workCommand = (common: () => Common) =>
  new Command("work")
    .description("add workers to the runs of this workspace, also from another machine; Ctrl-C stops them")
    .argument("[run]", "only this run; exits when the run ends")
    .option("--workers <n>", "maximum number of tasks in progress at once", count)
    .option(
      "--database <url>",
      "PostgreSQL address of the runs; in an empty folder it makes a workspace for the worker",
    )
    .action(async (run, { workers, database }) => {
      const root = database === undefined ? undefined : unwrap(await rootOfWorker(common(), database));
      const open = { root, database };
      await withApp(
        common(),
        async (app) => {
          if (run && !(await app.runs.find(run)))
            return complain(common(), (await noSuch(app.db.read, "run", run)).problem);
          const done = await watched(app, common(), async () =>
            app.host.work(run, { workers, by: nameOf(await localPerson(app, common())) }),
          );
          if (!done.ok) complain(common(), done.problem);
        },
        open,
      );
    });

async function rootOfWorker({ dir }: Common, url: string): Promise<Result<string>> {
  if (!/^postgres(ql)?:\/\//.test(url))
    return refuse("invalid", `--database ${url}: expected a PostgreSQL URL such as postgres://host/name`);
  const { workerFolder } = await import("../setup/worker-folder.ts");
  const { env, cwd } = shell();
  const folder = resolve(cwd, dir ?? ".");
  return workerFolder({ folder, url, env, onWait: (message) => writeErr(`scriptorium: ${message}\n`) });
}

export const resumeCommand = (common: () => Common) =>
  new Command("resume")
    .description("continue a stopped or killed run; finished work is kept")
    .argument("<run>")
    .option("--workers <n>", "maximum number of tasks in progress at once", count)
    .option("--budget-tokens <n>", "new token budget", count)
    .option("--no-budget-tokens", "remove the token budget")
    .option("--budget-usd <x>", "new budget in US dollars", amount)
    .option("--no-budget-usd", "remove the budget in US dollars")
    .option("--retry", "reopen its failed tasks first")
    .action((run, { retry, ...options }) =>
      withApp(common(), async (app) => {
        const found = await runNamed(app, common(), run);
        if (!found.ok) return complain(common(), found.problem);
        await carryOut(app, common(), found.value, retry ? { ...options, retry: "all" } : options);
      }),
    );

export const pauseCommand = (common: () => Common) =>
  new Command("pause")
    .description(pauseRun.summary)
    .argument("<run>")
    .option("--reason <text>", "why")
    .option("--now", "also stop the agents and release their tasks; no attempt is used")
    .action((id, { reason, now }) =>
      report(common(), pauseRun, { id, reason, now }, ({ in_progress, released }) =>
        [
          `run ${id} is paused`,
          ...(released.length > 0 ? [`released ${plural(released.length, "task")}: ${released.join(", ")}`] : []),
          ...(in_progress > 0 ? [`${plural(in_progress, "agent")} in progress will end the current stage`] : []),
          `continue with: scriptorium run resume ${id}`,
        ].join("\n"),
      ),
    );

export const rerunCommand = (common: () => Common) =>
  new Command("rerun")
    .description(rerunRun.summary)
    .argument("<run>")
    .requiredOption("--from <task[@attempt]>", "the task, such as 1.2, or one of its attempts, such as 1.2@1")
    .option("--message <text>", "why; the next worker reads it")
    .option("--workers <n>", "maximum number of tasks in progress at once", count)
    .option("--no-start", "only prepare it; run resume continues")
    .option("--dry-run", "only show what would be repeated")
    .action((id, { from, message, workers, start, dryRun }) =>
      withApp(common(), async (app) => {
        const input = { id, from, message };
        const confirmation: Confirmation = {
          word: "rerun",
          async preview(app, person) {
            const found = await rerunRun.perform(app, { ...input, confirm: false }, person);
            return found.ok ? ok({ text: repeated(inertly(found.value)) }) : found;
          },
        };
        const done = await perform(app, common(), rerunRun, { ...input, confirm: !dryRun }, confirmation);
        if (!done.ok || dryRun || !start) return print(common(), done, repeated);
        writeOut(common().json ? `${json({ kind: "rerun", ...done.value })}\n` : `${repeated(inertly(done.value))}\n`);
        await carryOut(app, common(), id, { workers });
      }),
    );

const repeated = ({ id, rerun, number, attempt, repeated, kept }: OutputOf<typeof rerunRun>) =>
  [
    `${rerun ? "repeating" : "would repeat"} ${id} from task ${number}, ${attempt === null ? "on the accepted work" : `with the files of attempt ${attempt}`}`,
    ...repeated.map((task) => `  ${task.number}: ${task.title}`),
    `kept: ${kept.join(", ") || "nothing"}`,
  ].join("\n");

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
        (done) => `run ${done.id} cancelled (${plural(done.cancelled, "task")})`,
      ),
    );

/** Commander sets an option to true without its value, and to false by its `--no-` form. */
type Budget = number | boolean | undefined;
type How = { workers?: number | undefined; budgetTokens?: Budget; budgetUsd?: Budget; retry?: "all" };

const budgetFrom = (option: Budget) => (option === false ? null : option === true ? undefined : option);

async function carryOut(
  app: App,
  options: Common,
  run: string,
  { workers, budgetTokens, budgetUsd, retry }: How,
): Promise<void> {
  const budget = { budget_tokens: budgetFrom(budgetTokens), budget_usd: budgetFrom(budgetUsd) };
  const input = { id: run, workers, retry, ...budget };
  const done = await watched(app, options, async () => perform(app, options, executeRun, input, raising(input)));
  if (!done.ok) return complain(options, done.problem);
  const outcome = { ...unknownOutcome, ...done.value };
  if (outcome.state !== "completed") process.exitCode = 1;
  const details = outcome.state === "failed" ? await runDetails.of(app, run) : undefined;
  const failures = details?.ok ? details.value.failures : [];
  const told = [summary(inertly(outcome)), ...failureLines(run, inertly(failures))].join("\n");
  writeOut(options.json ? `${json({ kind: "summary", ...outcome, failures })}\n` : `${told}\n`);
}

type NewBudget = { id: string; budget_tokens: number | null | undefined; budget_usd: number | null | undefined };

const raising = ({ id, budget_tokens, budget_usd }: NewBudget): Confirmation => ({
  word: "raise",
  async preview(app) {
    const run = await app.runs.find(id);
    if (!run) return noSuch(app.db.read, "run", id);
    const current = currentBudget(run, app.config.crew.budget);
    const change = (unit: string, before: number | null, after: number | null | undefined) =>
      after === undefined ? [] : [`  ${unit}: ${before ?? "no limit"} → ${after ?? "no limit"}`];
    const changes = [
      ...change("tokens", current.tokens, budget_tokens),
      ...change("US dollars", current.usd, budget_usd),
    ];
    return ok({ text: [`Raise the budget of ${id} and continue: ${inert(run.title)}`, ...changes].join("\n") });
  },
});

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
    `${tasks.completed} of ${tasks.all} tasks accepted${tasks.lost > 0 ? `, ${tasks.lost} failed or cancelled` : ""}`,
    ...(report ? [`report: ${report}`] : []),
    ...(branch && tasks.completed > 0
      ? [`accepted work is on the branch ${branch}; merge it with: scriptorium run merge ${run}`]
      : []),
    ...(state === "stopped" ? [`continue with: scriptorium run resume ${run}`] : []),
  ].join("\n");
}

/** Finds a run by id or file; without a name, the newest that has not ended. */
async function runNamed(app: App, common: Common, name: string | undefined): Promise<Result<string>> {
  if (name === undefined) {
    const open = (await app.runs.list(50)).find(({ state }) => ["planned", "running", "stopped"].includes(state));
    return open ? ok(open.id) : refuse("not_found", "no run can be executed; create one with: scriptorium plan");
  }
  if (await app.runs.find(name)) return ok(name);
  const text = await readFile(name, "utf8").catch(() => undefined);
  if (text === undefined)
    return refuse("not_found", `${name} is neither a run nor a file; list the runs with: scriptorium run list`);
  const [{ readChain }, { planHash }] = await Promise.all([
    import("../crew/rules/chain-file.ts"),
    import("../crew/rules/plan.ts"),
  ]);
  const chain = readChain(text);
  if (!chain.ok) return chain;
  const known = await app.runs.find(chain.value.run);
  if (known && planHash(chain.value.plan) === known.planHash) return ok(known.id);
  const { checkBase } = await import("../crew/record/runs.ts");
  const current = known ? checkBase(known, chain.value) : ok(true);
  if (!current.ok) return current;
  const by = nameOf(await localPerson(app, common));
  const id = known?.id ?? (await app.runs.create(chain.value.request, by)).id;
  const adopted = await app.runs.adopt(id, chain.value.plan, by);
  return adopted.ok ? ok(id) : adopted;
}

async function showPlan(app: App, options: Common, run: string): Promise<void> {
  const read = await app.runs.readBack(run, nameOf(await localPerson(app, options)));
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
  const planned = read.value.run;
  const tasks = (planned.plan?.tasks ?? []).map((task) => ({
    number: task.number,
    title: task.title,
    depends_on: dependenciesOf(task),
    attempts: task.max_retries + 1,
    checks: task.verification.filter((one) => one.check).length,
    criteria: task.verification.length,
    limits: snakeKeys(boundsFor("worker", task.estimated_tool_calls ?? null)),
  }));
  const { plannedSetup } = await import("../crew/attempt/planned-setup.ts");
  const setup = await plannedSetup(app, run);
  const plan = { run, title: planned.title, worker: by("worker"), qc: by("qc"), setup, tasks };
  if (options.json) return void writeOut(`${json(plan)}\n`);
  const rows = inertly(tasks).map((task) => [
    task.number,
    task.depends_on.join(", ") || "–",
    String(task.attempts),
    `${task.checks} of ${task.criteria}`,
    String(task.limits.tool_calls),
    task.title,
  ]);
  const head = ["task", "after", "attempts", "checked", "tool calls", "title"];
  writeOut(
    `${inertly(plan.title)}\nworkers: ${plan.worker}; verifiers: ${plan.qc}\n${setupText(inertly(setup))}\n\n${table([head, ...rows])}\n\nDry run: nothing was executed.\n`,
  );
}

function setupText(setup: PlannedSetup | null): string {
  if (!setup) return "setup: none";
  const commands = setup.commands.map((command) => command.join(" ")).join("; ");
  return `setup: ${commands} (from ${setup.origin}), ${setup.is_installed ? "already installed" : "not installed yet"}`;
}

/** The first Ctrl-C lets agents end and hands their tasks back; the second exits at once. */
function stopOnSignal(app: App) {
  let isStopping = false;
  const onSignal = () => {
    if (isStopping) process.exit(130);
    isStopping = true;
    writeErr("scriptorium: stopping; press Ctrl-C again to stop immediately\n");
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
  throw new InvalidArgumentError("Expected a whole number of at least 1.");
}

function amount(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError("Expected a number greater than 0, such as 2.50.");
}
