import { Command } from "@commander-js/extra-typings";
import { ok } from "../kernel/result.ts";
import { createPage, movePage } from "../wiki/pages/write-operations.ts";
import type { Confirmation } from "./decide.ts";
import type { OutputOf } from "./output-of.ts";
import { type Common, readInput, report } from "./session.ts";
import { bold, inertly, plural } from "./text.ts";

export const pageCommand = (common: () => Common) =>
  new Command("page")
    .description("create and move pages that are not entries")
    .addCommand(
      new Command("new")
        .description(`${createPage.summary} Never overwrites a file.`)
        .argument("<path>", "path of the page, such as docs/deploy.md")
        .option("--title <text>", "heading of the page (default: from its file name)")
        .option("--template <name>", "blank, guide, decision or meeting", "blank")
        .option("--file <path>", "file with the text of the page; - for stdin")
        .action(async (path, { title, template, file }) => {
          const content = file === undefined ? undefined : (await readInput(file)).toString("utf8");
          await report(
            common(),
            createPage,
            { path, title, template, content } as never,
            (made) => `${made.path} is created`,
          );
        }),
    )
    .addCommand(
      new Command("move")
        .description(movePage.summary)
        .argument("<path>", "path of the page")
        .argument("<new-path>", "its new path; renames it, if the folder is the same")
        .option("--dry-run", "show what would change, and change nothing")
        .action((path, newPath, { dryRun }) => {
          const input = { path, new_path: newPath };
          return report(common(), movePage, { ...input, confirm: !dryRun }, told, moving(input));
        }),
    );

type Moved = OutputOf<typeof movePage>;

const moving = (input: { path: string; new_path: string }): Confirmation => ({
  word: "move",
  async preview(app, person) {
    const plan = await movePage.perform(app, { ...input, confirm: false }, person);
    return plan.ok
      ? ok({ text: changes(inertly(plan.value)).join("\n"), pin: { source_sha: plan.value.source_sha } })
      : plan;
  },
});

const told = (done: Moved) =>
  [...changes(done), ...(done.moved ? [] : ["", "Preview only; without --dry-run, the page is moved."])].join("\n");

function changes({ path, new_path, moved, relinked, left, commit, ...follow }: Moved): string[] {
  const following = [
    follow.topics > 0 ? plural(follow.topics, "topic") : [],
    follow.proposals > 0 ? plural(follow.proposals, "open proposal") : [],
    follow.perspectives > 0 ? plural(follow.perspectives, "perspective") : [],
    follow.edges > 0 ? plural(follow.edges, "edge") : [],
  ].flat();
  return [
    bold(moved ? `${path} is now ${new_path}${commit ? ` (commit ${commit.slice(0, 12)})` : ""}` : `${path} → ${new_path}`),
    ...relinked.flatMap((page) => [
      `links in ${page.path}:`,
      ...page.lines.flatMap(({ line, before, after }) => [`  ${line} - ${before.trim()}`, `  ${line} + ${after.trim()}`]),
    ]),
    ...left.map((page) => `${page.path} still links to ${path}: ${page.reason}`),
    ...(following.length > 0 ? [`following: ${following.join(", ")}`] : []),
  ];
}
