import { Command } from "@commander-js/extra-typings";
import { revertRun } from "../crew/revert.ts";
import type { OutputOf } from "./output-of.ts";
import { type Common, report } from "./session.ts";

export const revertCommand = (common: () => Common) =>
  new Command("revert")
    .description(`${revertRun.summary} Shows a preview; --confirm applies it.`)
    .option("--run <id>", "everything written by this run")
    .option("--task <id>", "everything written by this task")
    .option("--epoch <n>", "only under this claim of the task", Number)
    .option("--role <role>", "everything written by agents with this role")
    .option("--confirm", "apply the change")
    .action((wanted) => report(common(), revertRun, wanted, told));

type Told = OutputOf<typeof revertRun>;

const numbers = (versions: number[]) => `version${versions.length === 1 ? "" : "s"} ${versions.join(", ")}`;

function told({ reverted, what, entries, removed, restored, handoffs, needs_person }: Told): string {
  const lines = [
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
  if (lines.length === 0) return `nothing to revert for ${what}`;
  return reverted ? lines.join("\n") : [...lines, "", "Preview only; apply it with --confirm."].join("\n");
}
