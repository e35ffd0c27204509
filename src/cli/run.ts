import { Command } from "@commander-js/extra-typings";
import { cleanRuns } from "../crew/clean.ts";
import { spelled } from "../crew/report/metrics.ts";
import type { runDetails } from "../crew/report/show.ts";
import { runUsage } from "../crew/report/usage.ts";
import { commandLines } from "../crew/rules/setup.ts";
import { answerQuestion, closeFailedRun, listRuns, metrics, runReport, showRun } from "../crew/run-operations.ts";
import { wordsFor } from "../tasks/state-words.ts";
import { listFocusRuns, moveFocus } from "../wiki/focus-operations.ts";
import { cancelCommand, pauseCommand, rerunCommand, resumeCommand } from "./execute.ts";
import { failureLines } from "./failures.ts";
import { allowFilesCommand, refuseFilesCommand } from "./held-files.ts";
import { mergeCommand, pullRequestCommand } from "./merge.ts";
import type { OutputOf } from "./output-of.ts";
import { planVersionsCommand } from "./plan-versions.ts";
import { replanCommand } from "./replan.ts";
import { type Common, report } from "./session.ts";
import { bold, table, when } from "./text.ts";
import { transcriptCommand } from "./transcript.ts";

export const runCommand = (common: () => Common) =>
  new Command("run")
    .description("list, inspect, pause, replan, resume, merge, cancel and clean runs; show and move the focus")
    .addCommand(
      new Command("list")
        .description(listRuns.summary)
        .option("--limit <n>", "maximum number", Number)
        .action(({ limit }) => report(common(), listRuns, { limit }, { text: listed, json: (found) => found.runs })),
    )
    .addCommand(
      new Command("show")
        .description(showRun.summary)
        .argument("<run>")
        .option("--metrics", "show the ten metrics of the run")
        .action((run, { metrics: figures }) =>
          figures ? report(common(), metrics, { run }, measured) : report(common(), showRun, { id: run }, described),
        ),
    )
    .addCommand(
      new Command("report")
        .description(runReport.summary)
        .argument("<run>")
        .action((run) => report(common(), runReport, { id: run }, ({ content }) => content)),
    )
    .addCommand(
      new Command("usage")
        .description(runUsage.summary)
        .argument("<run>")
        .action((run) => report(common(), runUsage, { id: run }, used)),
    )
    .addCommand(
      new Command("answer")
        .description(answerQuestion.summary)
        .argument("<question>", "id of the question, as shown by `run show`")
        .argument("<answer...>")
        .action((id, words) =>
          report(
            common(),
            answerQuestion,
            { id, answer: words.join(" ") },
            ({ task }) => `answered; the next attempt of ${task} gets the answer`,
          ),
        ),
    )
    .addCommand(
      new Command("close")
        .description(closeFailedRun.summary)
        .argument("<run>")
        .action((id) => report(common(), closeFailedRun, { id }, () => `${id} is no longer in the inbox`)),
    )
    .addCommand(transcriptCommand(common) as unknown as Command)
    .addCommand(allowFilesCommand(common) as unknown as Command)
    .addCommand(refuseFilesCommand(common) as unknown as Command)
    .addCommand(pauseCommand(common) as unknown as Command)
    .addCommand(planVersionsCommand(common) as unknown as Command)
    .addCommand(replanCommand(common) as unknown as Command)
    .addCommand(resumeCommand(common) as unknown as Command)
    .addCommand(rerunCommand(common) as unknown as Command)
    .addCommand(cancelCommand(common) as unknown as Command)
    .addCommand(mergeCommand(common) as unknown as Command)
    .addCommand(pullRequestCommand(common) as unknown as Command)
    .addCommand(focusCommand(common) as unknown as Command)
    .addCommand(cleanCommand(common) as unknown as Command);

const focusCommand = (common: () => Common) =>
  new Command("focus")
    .description(`${listFocusRuns.summary} --to moves the focus, --end ends the run.`)
    .argument("[run]", "only this run")
    .option("--to <role>", "give the focus to this role")
    .option("--end", "end the run")
    .option("--reason <text>", "why; it is written to the handoffs log")
    .option("--limit <n>", "maximum number", Number)
    .action((run, { to, end, reason, limit }, command) => {
      if (to === undefined && !end) return report(common(), listFocusRuns, { run, limit }, focused);
      if (run === undefined || (to !== undefined && end))
        return command.error("error: name the run, and use either --to or --end");
      return report(common(), moveFocus, { run, to, reason }, ({ holder }) =>
        holder === null ? `run ${run} ended` : `${holder} holds the focus of run ${run}`,
      );
    });

function focused({ pipeline, runs }: OutputOf<typeof listFocusRuns>): string {
  if (pipeline.length === 0) return "this wiki has no pipeline, so its runs have no focus";
  if (runs.length === 0) return `no runs along the pipeline (${pipeline.join(" → ")})`;
  const rows = runs.map(({ run, holder, since, step, max_steps, reads, read_cap, ended, begun }) => [
    ...[run, holder ?? `ended: ${ended ?? ""}`, when(since), `${step} of ${max_steps}`],
    holder === null ? "–" : begun ? `${reads} of ${read_cap}` : "not begun",
  ]);
  const told = runs.length > 1 ? [] : (runs[0]?.handoffs ?? []);
  return [
    table([["run", "holder", "since", "step", "reads"], ...rows]),
    ...told.map(
      ({ step, from, to, created_at, summary }) =>
        `\nstep ${step}, ${when(created_at)}: ${from} → ${to ?? "end"}\n${summary}`,
    ),
  ].join("\n");
}

const cleanCommand = (common: () => Common) =>
  new Command("clean")
    .description(cleanRuns.summary)
    .argument("[run]", "a finished run, also a failed one")
    .option("--all", "all completed and cancelled runs")
    .option("--unmerged", "also delete accepted work that is not merged into your branch")
    .option("--dry-run", "only list what would be deleted")
    .action((id, { all, unmerged, dryRun }, command) => {
      if ((id === undefined) !== Boolean(all)) return command.error("error: name a run, or use --all");
      return report(common(), cleanRuns, { id, unmerged, dry_run: dryRun }, cleaned);
    });

function cleaned({ deleted, branches, checkouts, setups, kept }: OutputOf<typeof cleanRuns>): string {
  const gone = [
    ...branches.map((branch) => `branch ${branch}`),
    ...checkouts.map((folder) => `folder ${folder}`),
    ...setups.map(({ folder, bytes }) => `installed dependencies ${folder} (${(bytes / 1e6).toFixed(1)} MB)`),
  ];
  const stays = kept.map(({ branch, reason }) => `kept branch ${branch}: ${reason}`);
  if (gone.length === 0) return ["nothing to delete", ...stays].join("\n");
  return [...gone.map((one) => `${deleted ? "deleted" : "would delete"} ${one}`), ...stays].join("\n");
}

type Line = { id: string; state: string; title: string; created_at: string };

function listed({ runs }: { runs: Line[] }): string {
  if (runs.length === 0) return 'no runs; create one with: scriptorium plan "what you want done"';
  return table([
    ["run", "state", "created", "title"],
    ...runs.map((run) => [run.id, run.state, when(run.created_at), run.title]),
  ]);
}

type Details = Extract<Awaited<ReturnType<typeof runDetails.of>>, { ok: true }>["value"];

function described(run: Details): string {
  const { input_tokens, output_tokens, cost_usd, agents } = run.used;
  const tokens =
    input_tokens === null && output_tokens === null
      ? "tokens unknown"
      : `${(input_tokens ?? 0) + (output_tokens ?? 0)} tokens`;
  return [
    bold(run.title),
    `${run.id}, ${run.state}${run.reason ? `: ${run.reason}` : ""}; ${agents} agents, ${tokens}, ${cost_usd === null ? "cost unknown" : `$${cost_usd.toFixed(4)}`}`,
    `plan: ${run.chain}`,
    ...run.setups.map(setupLine),
    "",
    table([
      ["task", "state", "attempts", "score", "after", "title"],
      ...run.tasks.map((task) => [
        task.number,
        task.waits_for_approval ? "needs approval" : wordsFor(task.state),
        `${task.attempts} of ${task.max_retries + 1}`,
        task.score === null ? "–" : String(task.score),
        task.depends_on.join(", ") || "–",
        task.title,
      ]),
    ]),
    ...(run.draft ?? []).map((task) => `submitted: ${task.number} ${task.title}`),
    ...run.questions
      .filter((one) => one.answer === null)
      .map(
        (one) =>
          `\n${one.id} (task ${one.task}) asks: ${one.question}${one.passed_on ? ` (the planner passed it on: ${one.passed_on})` : ""}`,
      ),
    ...failureLines(run.id, run.failures),
    ...(run.plan_change ? [changeLine(run.id, run.plan_change)] : []),
  ].join("\n");
}

const changeLine = (run: string, { id, state }: NonNullable<Details["plan_change"]>) =>
  state === "open"
    ? `\nplan change ${id} waits for you: scriptorium run replan ${run} --confirm ${id}`
    : `\nthe planner is writing plan change ${id}`;

function setupLine({ commands, origin, task, state, duration_ms, bytes }: Details["setups"][number]): string {
  const size = bytes === null ? "" : `, ${(bytes / 1e6).toFixed(1)} MB`;
  const time = duration_ms === null || state === "reused" ? "" : ` in ${(duration_ms / 1000).toFixed(1)} s`;
  return `setup${task === null ? "" : ` of task ${task}`}: ${commandLines(commands)} (from ${origin}), ${state}${time}${size}`;
}

type Usage = OutputOf<typeof runUsage>;

function used({ tasks, others, models, workers }: Usage): string {
  const known = (value: number | null, spell: (there: number) => string) => (value === null ? "–" : spell(value));
  const figures = ({ tokens, usd, ms }: Usage["others"]) => [
    known(tokens, String),
    known(usd, (there) => `$${there.toFixed(4)}`),
    `${(ms / 1000).toFixed(1)} s`,
  ];
  return [
    table([
      ["task", "tokens", "cost", "time", "attempts", "score", "title"],
      ...tasks.map((task) => [
        ...[task.number, ...figures(task), String(task.attempts), known(task.score, String), task.title],
      ]),
      ["others", ...figures(others), "", "", "agents without a task, such as the planner"],
    ]),
    "",
    table([
      ["model", "tokens", "cost", "time", "agents"],
      ...models.map((one) => [`${one.runner}${one.model ? ` ${one.model}` : ""}`, ...figures(one), String(one.agents)]),
    ]),
    ...(workers.length === 0
      ? []
      : [
          "",
          table([
            ["workers", "claims", "conflicts", "busy", "idle"],
            ...workers.map(({ name, claims, conflicts, busy_ms, idle_ms }) => [
              ...[name, String(claims), String(conflicts)],
              ...[busy_ms, idle_ms].map((ms) => `${(ms / 1000).toFixed(1)} s`),
            ]),
          ]),
        ]),
  ].join("\n");
}

type Figures = OutputOf<typeof metrics>;

const measured = ({ figures }: Figures) =>
  table([
    ["metric", "value", "target", "met", "computed from"],
    ...figures.map((one) => [
      one.name.replaceAll("_", " "),
      spelled(one),
      one.target ?? "–",
      one.met === null ? "–" : one.met ? "yes" : "no",
      one.counted,
    ]),
  ]);
