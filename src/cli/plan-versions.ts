import { Command } from "@commander-js/extra-typings";
import { listPlanVersions, restorePlanVersion, showPlanVersion } from "../crew/plan/version-operations.ts";
import type { OutputOf } from "./output-of.ts";
import { type Common, report } from "./session.ts";
import { colouredDiff, table, when } from "./text.ts";

export const planVersionsCommand = (common: () => Common) =>
  new Command("plan")
    .description("list, show, compare and restore the versions of a run's plan")
    .addCommand(
      new Command("list")
        .description(listPlanVersions.summary)
        .argument("<run>")
        .action((id) =>
          report(common(), listPlanVersions, { id }, { text: listed, json: ({ versions }) => versions }),
        ) as unknown as Command,
    )
    .addCommand(
      new Command("show")
        .description("print one version of the plan")
        .argument("<run>")
        .argument("<version>", "number of the version", Number)
        .action((id, version) =>
          report(common(), showPlanVersion, { id, version }, ({ content }) => content),
        ) as unknown as Command,
    )
    .addCommand(
      new Command("diff")
        .description("compare two versions of the plan")
        .argument("<run>")
        .argument("<version>", "number of the version", Number)
        .option("--against <version>", "the version to compare it with (default: the one before it)", Number)
        .action((id, version, { against }) =>
          report(common(), showPlanVersion, { id, version, against }, ({ diff }) =>
            diff === "" ? "no differences" : colouredDiff(diff),
          ),
        ) as unknown as Command,
    )
    .addCommand(
      new Command("restore")
        .description(restorePlanVersion.summary)
        .argument("<run>")
        .argument("<version>", "number of the version", Number)
        .action((id, version) =>
          report(
            common(),
            restorePlanVersion,
            { id, version },
            (done) => `${colouredDiff(done.diff)}\nversion ${done.restored} is restored as version ${done.version}`,
          ),
        ) as unknown as Command,
    );

const listed = ({ versions }: OutputOf<typeof listPlanVersions>) =>
  table([
    ["version", "saved", "by", "tasks"],
    ...versions.map(({ version, at, by, tasks, current }) => [
      `${version}${current ? " (current)" : ""}`,
      when(at),
      by,
      String(tasks),
    ]),
  ]);
