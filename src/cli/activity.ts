import { Command, Option } from "@commander-js/extra-typings";
import { activity } from "../crew/report/activity.ts";
import { activityThings } from "../crew/report/activity-words.ts";
import type { OutputOf } from "./output-of.ts";
import { type Common, report } from "./session.ts";
import { dim, when } from "./text.ts";

export const activityCommand = (common: () => Common) =>
  new Command("activity")
    .description("list who did what, newest first")
    .option("--by <name>", "only what this person or role did")
    .addOption(new Option("--who <who>", "only what people, or only what agents did").choices(["people", "agents"]))
    .addOption(new Option("--about <thing>", "only about these things").choices(activityThings))
    .option("--page <path>", "only about this page, its topics and its proposals")
    .option("--run <id>", "only about this run and its tasks")
    .option("--limit <n>", "maximum number of rows", Number, 30)
    .option("--before <id>", "older than this; the last line of a full list names it", Number)
    .action(({ by, who, about, page, run, limit, before }) =>
      report(
        common(),
        activity,
        {
          ...(by === undefined ? {} : { by }),
          ...(who === undefined ? {} : { who }),
          ...(about === undefined ? {} : { about }),
          ...(page === undefined ? {} : { source_path: page }),
          ...(run === undefined ? {} : { run_id: run }),
          ...(before === undefined ? {} : { before }),
          limit,
        },
        listed,
      ),
    );

function listed({ activity: rows, next }: OutputOf<typeof activity>): string {
  const lines = rows.map(({ at, by, text, title, note }) => {
    const what = [by, text, title].filter((part) => part !== null).join(" ");
    return `${when(at)}  ${what}${note === null ? "" : `\n${" ".repeat(18)}${dim(note)}`}`;
  });
  if (lines.length === 0 && next === null) return "no activity";
  return [...lines, ...(next === null ? [] : [dim(`older: --before ${next}`)])].join("\n");
}
