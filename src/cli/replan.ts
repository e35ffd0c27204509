import { Command } from "@commander-js/extra-typings";
import { confirmPlanChange, rejectPlanChange, replanRun, showPlanChange } from "../crew/plan/change-operations.ts";
import { ok } from "../kernel/result.ts";
import { stopSignals } from "../kernel/stop-signals.ts";
import type { Confirmation } from "./decide.ts";
import type { OutputOf } from "./output-of.ts";
import { type Common, complain, perform, print, report, tokenOf, withApp } from "./session.ts";
import { shell, writeErr } from "./shell.ts";
import { bold, colouredDiff, inertly } from "./text.ts";

export const replanCommand = (common: () => Common) =>
  new Command("replan")
    .description(replanRun.summary)
    .argument("<run>")
    .option("--task <number...>", "tasks to replan (default: all that failed)")
    .option("--message <text>", "what the planner should do differently")
    .option("--confirm <change>", "confirm a proposed change of the plan")
    .option("--reject <change>", "reject it")
    .option("--note <text>", "why it is rejected")
    .action((run, { task, message, confirm, reject, note }, command) => {
      if (confirm !== undefined && reject !== undefined)
        return command.error("error: use either --confirm or --reject");
      if (confirm !== undefined)
        return report(common(), confirmPlanChange, { id: confirm }, confirmed, confirming(confirm));
      if (reject !== undefined)
        return report(
          common(),
          rejectPlanChange,
          { id: reject, note },
          ({ id }) => `${id} rejected; the plan is unchanged`,
        );
      return replan(common(), { id: run, tasks: task, message });
    });

type Wanted = { id: string; tasks: string[] | undefined; message: string | undefined };

/** Shows the proposal, and asks at a terminal; elsewhere it waits in the inbox. */
async function replan(common: Common, wanted: Wanted): Promise<void> {
  await withApp(common, async (app) => {
    const onSignal = () => void app.host.stop();
    for (const signal of stopSignals) process.once(signal, onSignal);
    const made = await perform(app, common, replanRun, wanted).finally(() => {
      for (const signal of stopSignals) process.off(signal, onSignal);
    });
    if (!made.ok) return complain(common, made.problem);
    const { change } = made.value;
    const { stdin, stderr } = shell();
    // A token would confirm without a question, before anybody has seen the diff.
    const asks = !tokenOf(common) && [stdin, stderr].every((stream) => (stream as { isTTY?: boolean }).isTTY);
    if (!change || common.json || !asks) return print(common, made, (value) => proposed(value));
    const done = await perform(app, common, confirmPlanChange, { id: change.id }, confirming(change.id));
    if (!done.ok) writeErr(`The proposal waits in the inbox: ${change.id}\n`);
    print(common, done, confirmed);
  });
}

const confirming = (id: string): Confirmation => ({
  word: "confirm",
  async preview(app, person) {
    const change = await showPlanChange.perform(app, { id }, person);
    return change.ok ? ok({ text: described(inertly(change.value)) }) : change;
  },
});

const described = ({ run, tasks, reason, diff }: OutputOf<typeof showPlanChange>) =>
  [bold(`Change of the plan of ${run} for task ${tasks.join(", ")}`), reason ?? "", "", colouredDiff(diff)].join("\n");

const proposed = ({ run, change_id, change }: OutputOf<typeof replanRun>) =>
  [
    ...(change ? [described(change), ""] : []),
    `Confirm it: scriptorium run replan ${run} --confirm ${change_id}`,
    `Reject it: scriptorium run replan ${run} --reject ${change_id}`,
  ].join("\n");

const confirmed = ({ run, reopened }: OutputOf<typeof confirmPlanChange>) =>
  [
    `the plan of ${run} is changed${reopened.length > 0 ? `; reopened: ${reopened.join(", ")}` : ""}`,
    `continue with: scriptorium run resume ${run}`,
  ].join("\n");
