import { Command } from "@commander-js/extra-typings";
import { approveTask, rejectTask, returnTask, showGate } from "../crew/gate-operations.ts";
import { spellHidden } from "../kernel/hidden.ts";
import { ok, unwrap } from "../kernel/result.ts";
import type { Confirmation } from "./decide.ts";
import type { OutputOf } from "./output-of.ts";
import { type Common, localPerson, perform, print, report, withApp } from "./session.ts";
import { bold, colouredDiff, inertly } from "./text.ts";

export const approveCommand = (common: () => Common) =>
  new Command("approve")
    .description(approveTask.summary)
    .argument("<id>", "id of the task, as shown by `inbox`")
    .option("--note <text>", "kept with the decision; the answer to a question")
    .option("--show", "only show the result or the question")
    .action((id, { note, show }) =>
      show ? report(common(), showGate, { id }, described) : decide(common(), approveTask, { id, note }, "approve"),
    );

export const rejectCommand = (common: () => Common) =>
  new Command("reject")
    .description(rejectTask.summary)
    .argument("<id>", "id of the task, as shown by `inbox`")
    .option("--note <text>", "why; kept with the decision")
    .action((id, { note }) => decide(common(), rejectTask, { id, note }, "reject"));

export const returnCommand = (common: () => Common) =>
  new Command("return")
    .description(returnTask.summary)
    .argument("<id>", "id of the task, as shown by `inbox`")
    .requiredOption("--note <text>", "what must change; the next worker reads it")
    .action((id, { note }) => decide(common(), returnTask, { id, note }, "return"));

/** Decides about exactly the result that is shown. */
function decide(
  common: Common,
  operation: typeof approveTask | typeof rejectTask | typeof returnTask,
  input: { id: string; note: string | undefined },
  word: "approve" | "reject" | "return",
): Promise<void> {
  return withApp(common, async (app) => {
    const gate = unwrap(await showGate.perform(app, { id: input.id }, await localPerson(app, common)));
    const confirmation: Confirmation = { word, preview: async () => ok({ text: described(inertly(gate)) }) };
    const done = await perform(
      app,
      common,
      operation as typeof approveTask,
      { ...input, hash: gate.hash },
      confirmation,
    );
    print(common, done, ({ run, state }) =>
      state === "running" ? `done; ${run} goes on` : `done; continue with: scriptorium run resume ${run}`,
    );
  });
}

type Gate = OutputOf<typeof showGate>;

const described = ({ number, title, requirements, output, score, feedback, diff, truncated, on_reject }: Gate) =>
  [
    bold(`Task ${number}: ${title}`),
    spellHidden(requirements),
    ...(on_reject === null
      ? ["", bold(`Result, score ${score ?? "none"}: ${spellHidden(feedback)}`), spellHidden(output)]
      : ["", `A rejection ${on_reject === "fail" ? "fails the task" : "stops the run"}.`]),
    ...(diff === "" ? [] : ["", colouredDiff(spellHidden(diff))]),
    ...(truncated ? ["… the diff is longer than this"] : []),
  ].join("\n");
