import { Command } from "@commander-js/extra-typings";
import { revertRun } from "../crew/revert.ts";
import type { OutputOf } from "./output-of.ts";
import { type Common, report } from "./session.ts";

export const revertCommand = (common: () => Common) =>
  new Command("revert")
    .description(`${revertRun.summary} Shows what that means; --confirm does it.`)
    .option("--run <id>", "all that was written under this run")
    .option("--task <id>", "only, or all, that was written under this task")
    .option("--epoch <n>", "only under this claim on the task", Number)
    .option("--role <role>", "only, or all, that agents in this role wrote")
    .option("--confirm", "do it")
    .action((wanted) => report(common(), revertRun, wanted, told));

type Told = OutputOf<typeof revertRun>;

const numbers = (versions: number[]) => `version${versions.length === 1 ? "" : "s"} ${versions.join(", ")}`;

function told({ reverted, what, entries, removed, restored, handoffs, needs_person }: Told): string {
  const lines = [
    ...entries.map(({ id, versions, to, version }) =>
      version === undefined
        ? `${id}: would take back ${numbers(versions)}; ${to}`
        : `${id}: version ${version} takes back ${numbers(versions)}; ${to}`,
    ),
    ...removed.map((subject) => `${subject}: removed`),
    ...restored.map((subject) => `${subject}: as it was`),
    ...(handoffs > 0 ? [`${handoffs} handoffs withdrawn`] : []),
    ...needs_person.map(({ what: thing, why }) => `${thing}: needs a person; ${why}`),
  ];
  if (lines.length === 0) return `nothing of ${what} is left`;
  return reverted ? lines.join("\n") : [...lines, "", "Nothing was changed; --confirm does it."].join("\n");
}
