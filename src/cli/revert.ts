import { Command, Option } from "@commander-js/extra-typings";
import { revertRun } from "../crew/revert.ts";
import { fileModes } from "../crew/revert-branches.ts";
import { ok } from "../kernel/result.ts";
import type { Confirmation } from "./decide.ts";
import type { OutputOf } from "./output-of.ts";
import { type Common, report } from "./session.ts";
import { inertly } from "./text.ts";

export const revertCommand = (common: () => Common) =>
  new Command("revert")
    .description(`${revertRun.summary} Shows a preview; --confirm applies it.`)
    .option("--run <id>", "everything written by this run")
    .option("--task <id>", "everything written by this task")
    .option("--epoch <n>", "only under this claim of the task", Number)
    .option("--role <role>", "everything written by agents with this role")
    .addOption(
      new Option(
        "--files <how>",
        "accepted files leave your branches by a commit, by a branch to merge (branch), or not (keep)",
      )
        .choices(fileModes)
        .default("commit" as const),
    )
    .option("--confirm", "apply the change")
    .action((wanted) => report(common(), revertRun, wanted, told, reverting(wanted)));

const reverting = (wanted: object): Confirmation => ({
  word: "revert",
  async preview(app, person) {
    const change = await revertRun.perform(app, { ...wanted, confirm: false }, person);
    return change.ok ? ok({ text: changes(inertly(change.value)).join("\n") || nothing(change.value) }) : change;
  },
});

type Told = OutputOf<typeof revertRun>;

const numbers = (versions: number[]) => `version${versions.length === 1 ? "" : "s"} ${versions.join(", ")}`;

function told(found: Told): string {
  const lines = changes(found);
  const { entries, removed, restored, handoffs, tasks, branches, needs_person } = found;
  const hasChanges = [entries, removed, restored, tasks, branches, needs_person].some((list) => list.length > 0);
  if (!hasChanges && handoffs === 0) return [nothing(found), ...lines].join("\n");
  return (found.reverted ? lines : [...lines, "", "Preview only; apply it with --confirm."]).join("\n");
}

function changes(found: Told): string[] {
  const { reverted, entries, removed, restored, handoffs, tasks, branches, depends, needs_person } = found;
  return [
    ...entries.map(({ id, versions, to, version }) =>
      version === undefined
        ? `${id}: would revert ${numbers(versions)}; ${to}`
        : `${id}: version ${version} reverts ${numbers(versions)}; ${to}`,
    ),
    ...removed.map((subject) => `${subject}: removed`),
    ...restored.map((subject) => `${subject}: restored`),
    ...(handoffs > 0 ? [`${handoffs} handoffs withdrawn`] : []),
    ...tasks.map(({ id, number, title }) => `task ${number} (${id}) ${title}: overturned`),
    ...branches.flatMap((branch) => [
      branchLine(branch, reverted),
      ...branch.files.map(({ path, status }) => `  ${status}: ${path}`),
    ]),
    ...depends.map(({ what: thing, why }) => `depends on it: ${thing}: ${why}`),
    ...needs_person.map(({ what: thing, why }) => `${thing}: needs your decision; ${why}`),
  ];
}

function branchLine({ branch, files, commit, revert_branch, folder }: Told["branches"][number], done: boolean): string {
  const count = `${files.length} ${files.length === 1 ? "file" : "files"}`;
  if (revert_branch !== null)
    return `${branch}: ${done ? `merge ${revert_branch} to take ${count} back` : `${revert_branch} would take ${count} back`}`;
  if (!done) return `${branch}: a revert commit would change ${count}`;
  return `${branch}: ${commit === null ? "a revert commit" : `commit ${commit.slice(0, 10)}`} took ${count} back${folder === null ? "" : `; the files in ${folder} are updated`}`;
}

const nothing = ({ what }: Told) => `nothing to revert for ${what}`;
