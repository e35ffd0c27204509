import { join } from "node:path";
import { Command } from "@commander-js/extra-typings";
import { getTaskContext, updateTodo } from "../crew/operations.ts";
import { overturnTask } from "../crew/overturn.ts";
import { attemptDiff } from "../crew/report/attempt-diff.ts";
import { steerTask } from "../crew/steer-operations.ts";
import { handBackTask, takeOver } from "../crew/take-operations.ts";
import { ok } from "../kernel/result.ts";
import { createTodo, limitRun, listTodos, lockTodo, releaseTask, unlockTodo } from "../tasks/operations.ts";
import { stateNamed, wordsFor } from "../tasks/state-words.ts";
import type { Confirmation } from "./decide.ts";
import { approveCommand, rejectCommand, returnCommand } from "./gates.ts";
import type { OutputOf } from "./output-of.ts";
import { type Common, report } from "./session.ts";
import { claimSecret, shell } from "./shell.ts";
import { bold, colouredDiff, inert, inertly, table } from "./text.ts";

export const taskCommand = (common: () => Common) =>
  new Command("task")
    .description("create, claim, approve, reject, take over, release and retry tasks")
    .addCommand(
      new Command("add")
        .description(createTodo.summary)
        .argument("<title...>")
        .option("--description <text>", "description: when is the task done")
        .option("--after <id...>", "tasks that this one depends on")
        .option("--priority <n>", "higher is claimed first", Number)
        .action((words, { description, after, priority }) =>
          report(
            common(),
            createTodo,
            { title: words.join(" "), description, depends_on: after, priority },
            (t) => `${t.id} is ${wordsFor(t.state)}`,
          ),
        ),
    )
    .addCommand(
      new Command("list")
        .description(listTodos.summary)
        .option("--state <state>", "only tasks in this state, such as waiting or failed")
        .option("--run <id>", "only tasks of this run")
        .option("--limit <n>", "maximum number", Number)
        .action(({ state, run, limit }) =>
          report(
            common(),
            listTodos,
            { state: state && stateNamed(state), run, limit: limit ?? 200 },
            { text: listed, json: (found) => found.todos },
          ),
        ),
    )
    .addCommand(
      new Command("show")
        .description(getTaskContext.summary)
        .argument("<id>")
        .action((id) => report(common(), getTaskContext, { id }, described)),
    )
    .addCommand(
      new Command("diff")
        .description(attemptDiff.summary)
        .argument("<id>")
        .option("--attempt <n>", "number of the attempt, or number-epoch after a rerun (default: the last one)")
        .option("--against <n>", "another attempt of the task (default: the accepted work that it started from)")
        .action((id, { attempt, against }) => report(common(), attemptDiff, { id, attempt, against }, changedFiles)),
    )
    .addCommand(
      new Command("claim")
        .description(lockTodo.summary)
        .argument("<id>")
        .requiredOption("--as <name>", "your name")
        .action((id, { as }) =>
          report(common(), lockTodo, { id, agent_id: as }, (got) => {
            if (got.status === "locked")
              return [
                `${id} is claimed until ${got.expires_at} (epoch ${got.epoch})`,
                `secret: ${got.secret}`,
                "Writing to the task or releasing it needs the epoch and the secret, which is shown only here.",
              ].join("\n");
            shell().exitCode = 1;
            return `${id} is held by ${got.holder} since ${got.since} until ${got.until}${got.alive ? "" : " (the lease has expired)"}`;
          }),
        ),
    )
    .addCommand(
      new Command("release")
        .description("Release a task that you hold; with --force, release it for another holder.")
        .argument("<id>")
        .option("--epoch <n>", "epoch of your claim", Number)
        .option("--secret <text>", "secret of your claim (default: SCRIPTORIUM_CLAIM_SECRET)")
        .option("--force", "release the claim of another holder")
        .action((id, { epoch, secret, force }) =>
          force
            ? report(
                common(),
                releaseTask,
                { id },
                (t) => `released from ${t.from?.holder}; ${id} is ${wordsFor(t.state)}`,
              )
            : report(
                common(),
                unlockTodo,
                { id, epoch, ...claimSecret(), ...(secret === undefined ? {} : { secret }) },
                (t) => `${id} is ${wordsFor(t.state)}`,
              ),
        ),
    )
    .addCommand(
      new Command("take")
        .description(takeOver.summary)
        .argument("<id>")
        .option("--here", "check it out in a new folder of the current one (default: in runs/)")
        .action((id, { here }) =>
          report(common(), takeOver, { id, ...(here ? { folder: join(shell().cwd, id) } : {}) }, taken),
        ),
    )
    .addCommand(
      new Command("hand-back")
        .description(handBackTask.summary)
        .argument("<id>")
        .option("--note <text>", "what you did, for the verifier; for a task that delivers a text, the text")
        .option("--discard", "delete your files and leave the task to agents")
        .action((id, { note, discard }) => report(common(), handBackTask, { id, note, discard }, handedBack)),
    )
    .addCommand(
      new Command("limit")
        .description(limitRun.summary)
        .argument("<run>")
        .argument("<most>", "a number, or none")
        .action((run, most) =>
          report(common(), limitRun, { run, most: most === "none" ? null : Number(most) }, (limit) =>
            limit.most === null ? `${run} has no limit` : `${run} is limited to ${limit.most} tasks at once`,
          ),
        ),
    )
    .addCommand(
      new Command("retry")
        .description("Reopen a failed or cancelled task and the stale tasks that depend on it.")
        .argument("<id>")
        .action((id) =>
          report(common(), updateTodo, { id, status: "reopened" }, (t) =>
            [
              ...(t.diff ? [`the plan changed:\n${colouredDiff(t.diff)}`] : []),
              `${id} is ${wordsFor(t.state)}`,
              ...(t.reopened ?? []).map((other) => `${other} is reopened too`),
            ].join("\n"),
          ),
        ),
    )
    .addCommand(
      new Command("steer")
        .description(steerTask.summary)
        .argument("<id>")
        .argument("<message...>")
        .action((id, words) =>
          report(common(), steerTask, { id, content: words.join(" ") }, ({ reaches }) =>
            reaches === "worker"
              ? "sent; the worker gets it with its next turn or tool result"
              : "sent; nobody works on the task now, the next attempt gets it",
          ),
        ),
    )
    .addCommand(approveCommand(common) as unknown as Command)
    .addCommand(rejectCommand(common))
    .addCommand(returnCommand(common) as unknown as Command)
    .addCommand(
      new Command("overturn")
        .description(`${overturnTask.summary} Shows a preview; --confirm applies it.`)
        .argument("<id>")
        .requiredOption("--reason <text>", "what is wrong; the next worker reads it")
        .option("--confirm", "apply the change")
        .action((id, { reason, confirm }) =>
          report(common(), overturnTask, { id, reason, confirm }, fallout, overturning(id, reason)),
        ),
    )
    .addCommand(
      new Command("cancel")
        .description("Cancel a task; tasks that depend on it are blocked.")
        .argument("<id>")
        .option("--reason <text>", "why")
        .action((id, { reason }) =>
          report(
            common(),
            updateTodo,
            { id, status: "cancelled", output: reason },
            (t) => `${id} is ${wordsFor(t.state)}`,
          ),
        ),
    );

const taken = ({ id, folder, branch, from, expires_at }: OutputOf<typeof takeOver>) =>
  [
    `${id} is yours until ${expires_at.slice(0, 10)}${from ? `; it was taken from ${from}` : ""}`,
    `its files are in ${folder} (branch ${branch})`,
    `hand it back with: scriptorium task hand-back ${id} --note "…"`,
  ].join("\n");

const handedBack = ({ id, run, state, files }: OutputOf<typeof handBackTask>) =>
  [
    `${id} is ${wordsFor(state)}${files.length > 0 ? `; changed: ${files.join(", ")}` : ""}`,
    `continue with: scriptorium run resume ${run}`,
  ].join("\n");

const overturning = (id: string, reason: string): Confirmation => ({
  word: "overturn",
  async preview(app, person) {
    const found = await overturnTask.perform(app, { id, reason, confirm: false }, person);
    if (!found.ok) return found;
    return ok({ text: [`Overturn task ${id}: ${inert(reason)}`, ...affected(inertly(found.value))].join("\n") });
  },
});

type Line = { id: string; title: string; state: string; priority: number; holder?: string; waits_for?: number };

function listed({ todos }: { todos: Line[] }): string {
  if (todos.length === 0) return "no tasks; create one with: scriptorium task add <title>";
  return table([
    ["id", "state", "priority", "holder", "title"],
    ...todos.map((t) => [
      t.id,
      t.waits_for ? `${wordsFor(t.state)} (for ${t.waits_for})` : wordsFor(t.state),
      String(t.priority),
      t.holder ?? "–",
      t.title,
    ]),
  ]);
}

const lost = new Set(["failed", "stale", "cancelled"]);

type Named = { id: string; title: string };

type Fallout = OutputOf<typeof overturnTask>;

const fallout = (found: Fallout) => [found.message, ...affected(found)].join("\n");

function affected({ overturned, stale, stopped, waiting }: Fallout): string[] {
  const will = overturned ? "" : "would be ";
  const lines = (state: string, tasks: Named[]) => tasks.map(({ id, title }) => `  ${will}${state}: ${id} ${title}`);
  return [...lines("stale", stale), ...lines("stopped", stopped), ...lines("blocked", waiting)];
}

function described(
  t: Line & {
    description: string;
    result: Record<string, unknown>;
    dependencies: { id: string; title: string; state: string }[];
    blocked_by?: { id: string; title: string; state: string }[];
    steps?: { text: string; status: string }[];
  },
): string {
  return [
    bold(t.title),
    `${t.id}, ${wordsFor(t.state)}${t.holder ? `, held by ${t.holder}` : ""}${lost.has(t.state) ? `: ${t.result.reason}` : ""}`,
    ...(t.description ? ["", t.description] : []),
    ...t.dependencies.map((d) => `  after ${d.id} (${wordsFor(d.state)}): ${d.title}`),
    ...(t.blocked_by ?? []).map((b) => `  blocked by ${b.id} (${wordsFor(b.state)}): ${b.title}`),
    ...(t.steps ? ["", "steps of its worker:", ...t.steps.map((one) => `  ${one.status.padEnd(7)} ${one.text}`)] : []),
  ].join("\n");
}

function changedFiles({ attempt, against, files, more_files }: OutputOf<typeof attemptDiff>): string {
  const named = (one: { attempt: number; epoch: number }) => `attempt ${one.attempt}-${one.epoch}`;
  const head = `${named(attempt)} ${against ? `against ${named(against)}` : "against the accepted work"}`;
  const parts = files.flatMap(({ path, old_path, status, hunks, omitted }) => {
    const name = old_path === null ? path : `${old_path} → ${path}`;
    const lines = hunks.flatMap((hunk) => [`@@ -${hunk.old_start} +${hunk.new_start} @@`, ...hunk.lines]);
    const what = omitted === null ? "" : omitted === "binary" ? ", binary" : ", too large to show";
    return [bold(inert(`${status} ${name}${what}`)), ...(lines.length > 0 ? [colouredDiff(lines.join("\n"))] : [])];
  });
  const rest = more_files > 0 ? [`and ${more_files} more files`] : [];
  return [head, ...(files.length === 0 ? ["no differences"] : parts), ...rest].join("\n");
}
