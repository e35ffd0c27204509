import { Command } from "@commander-js/extra-typings";
import { mergeRun } from "../crew/merge.ts";
import { openPullRequest } from "../crew/pull-request.ts";
import { ok } from "../kernel/result.ts";
import type { Confirmation } from "./decide.ts";
import type { OutputOf } from "./output-of.ts";
import { type Common, complain, localPerson, perform, print, report, tokenOf, withApp } from "./session.ts";
import { writeErr } from "./shell.ts";
import { bold, inert, inertly, plural } from "./text.ts";

export const mergeCommand = (common: () => Common) =>
  new Command("merge")
    .description(mergeRun.summary)
    .argument("<run>")
    .option("--into <branch>", "a local branch (default: the one that is checked out)")
    .option("--squash", "one commit, without the history of the attempts")
    .option("--dry-run", "only show what would be merged")
    .action((id, { into, squash, dryRun }) => {
      const input = { id, into, squash };
      return report(common(), mergeRun, { ...input, confirm: !dryRun }, merged, merging(input));
    });

const merging = (input: object): Confirmation => ({
  word: "merge",
  async preview(app, person) {
    const found = await mergeRun.perform(app, { ...input, confirm: false }, person);
    if (!found.ok) return found;
    return ok({ text: merged(inertly(found.value)), pin: { commit: found.value.accepted } });
  },
});

function merged({ merged, already, into, from, commit, folder, files, message }: OutputOf<typeof mergeRun>): string {
  if (already) return `${into} has the accepted work already`;
  if (merged)
    return [
      `merged ${plural(files.length, "file")} into ${into} (${commit?.slice(0, 12)})`,
      ...(folder === null ? [`${into} is not checked out; only the branch moved`] : []),
    ].join("\n");
  return [
    bold(`Merge ${from} into ${into}`),
    ...files.map(({ path, status }) => `  ${status}: ${path}`),
    "",
    ...message.split("\n").map((line) => `  ${line}`.trimEnd()),
  ].join("\n");
}

export const pullRequestCommand = (common: () => Common) =>
  new Command("pr")
    .description(openPullRequest.summary)
    .argument("<run>")
    .option("--base <branch>", "branch to merge into (default: the default branch of the remote)")
    .option("--remote <name>", "remote to push to (default: the only one, or origin)")
    .option("--forge <name>", "github or gitlab, if the address of the remote does not tell")
    .option("--draft", "open it as a draft")
    .option("--force-with-lease", "replace what the remote has on the branch, such as work from before a rerun")
    .option("--dry-run", "only show what would be pushed, and where to")
    .action((id, { base, remote, forge, draft, forceWithLease, dryRun }) =>
      withApp(common(), async (app) => {
        const input = { id, base, remote, forge, draft };
        const person = await localPerson(app, common());
        const found = await openPullRequest.perform(app, { ...input, confirm: false }, person);
        if (!found.ok) return complain(common(), found.problem);
        if (dryRun) return print(common(), found, pushing);
        // With a token nobody is asked: print the destination before the push.
        if (tokenOf(common())) writeErr(`${pushing(inertly(found.value))}\n`);
        const confirmation = { word: "push", preview: async () => ok({ text: pushing(inertly(found.value)) }) };
        const replace = forceWithLease ? found.value.replaces?.commit : undefined;
        const pin = { ...input, remote: found.value.remote, replace, confirm: true };
        print(common(), await perform(app, common(), openPullRequest, pin, confirmation), ({ message }) => message);
      }),
    );

const pushing = ({ remote, url, branch, base, title, program, replaces }: OutputOf<typeof openPullRequest>) =>
  [
    bold(`Push ${branch} to ${remote} (${inert(url)})`),
    program === null
      ? "  no program for pull requests was found; only the branch is pushed"
      : `  ${program} opens a pull request into ${base ?? "the default branch"}: ${title}`,
    ...(replaces === null
      ? []
      : [
          `  replaces ${replaces.commit.slice(0, 12)} on ${remote}, which the accepted work no longer contains (--force-with-lease)`,
          ...replaces.commits.map((subject) => `    - ${subject}`),
        ]),
  ].join("\n");
