import { Command } from "@commander-js/extra-typings";
import { allowFiles, refuseFiles, showHeldFiles } from "../crew/file-operations.ts";
import { spellHidden } from "../kernel/hidden.ts";
import { ok, unwrap } from "../kernel/result.ts";
import type { Confirmation } from "./decide.ts";
import type { OutputOf } from "./output-of.ts";
import { type Common, localPerson, perform, print, report, withApp } from "./session.ts";
import { bold, colouredDiff, inertly } from "./text.ts";

export const allowFilesCommand = (common: () => Common) =>
  new Command("allow-files")
    .description(allowFiles.summary)
    .argument("<task>", "id of the task, as shown by `inbox`")
    .option("--show", "only show the change")
    .action((task, { show }) =>
      show ? report(common(), showHeldFiles, { task }, described) : decide(common(), allowFiles, { task }, "allow"),
    );

export const refuseFilesCommand = (common: () => Common) =>
  new Command("refuse-files")
    .description(refuseFiles.summary)
    .argument("<task>", "id of the task, as shown by `inbox`")
    .option("--note <text>", "why, for the next worker")
    .action((task, { note }) => decide(common(), refuseFiles, { task, note }, "refuse"));

/** Decides about exactly the files that are shown. */
function decide(
  common: Common,
  operation: typeof allowFiles | typeof refuseFiles,
  input: { task: string; note?: string | undefined },
  word: "allow" | "refuse",
): Promise<void> {
  return withApp(common, async (app) => {
    const held = unwrap(await showHeldFiles.perform(app, { task: input.task }, await localPerson(app, common)));
    const confirmation: Confirmation = { word, preview: async () => ok({ text: described(inertly(held)) }) };
    const done = await perform(app, common, operation, { ...input, hash: held.hash }, confirmation);
    print(common, done, ({ run, state }) =>
      state === "running" ? `done; ${run} goes on` : `done; continue with: scriptorium run resume ${run}`,
    );
  });
}

type Held = OutputOf<typeof showHeldFiles>;

const described = ({ number, title, files, diff, truncated }: Held) =>
  [
    bold(`Task ${number}: ${title}`),
    ...files.map(({ path, status, why }) => `  ${status}: ${spellHidden(path)} (it ${why})`),
    "",
    colouredDiff(spellHidden(diff)),
    ...(truncated ? ["… the diff is longer than this"] : []),
  ].join("\n");
