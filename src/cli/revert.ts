import { Command } from "@commander-js/extra-typings";
import { revertRun } from "../crew/revert.ts";
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
  const isPreview = !found.reverted && lines.length > 0;
  return (isPreview ? [...lines, "", "Preview only; apply it with --confirm."] : lines).join("\n") || nothing(found);
}

function changes({ entries, removed, restored, handoffs, needs_person }: Told): string[] {
  return [
    ...entries.map(({ id, versions, to, version }) =>
      version === undefined
        ? `${id}: would revert ${numbers(versions)}; ${to}`
        : `${id}: version ${version} reverts ${numbers(versions)}; ${to}`,
    ),
    ...removed.map((subject) => `${subject}: removed`),
    ...restored.map((subject) => `${subject}: restored`),
    ...(handoffs > 0 ? [`${handoffs} handoffs withdrawn`] : []),
    ...needs_person.map(({ what: thing, why }) => `${thing}: needs your decision; ${why}`),
  ];
}

const nothing = ({ what }: Told) => `nothing to revert for ${what}`;
