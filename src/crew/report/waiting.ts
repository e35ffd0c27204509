import type { Failure, QuestionRow } from "../../store/crew-tables.ts";
import type { Impact } from "../rules/failure.ts";
import type { Run } from "../rules/run.ts";
import { plainly } from "./markdown.ts";

export type FailedTask = { number: string; title: string; failure: { report: Failure; impact: Impact } };

type About = {
  run: Run;
  failed: FailedTask[];
  questions: QuestionRow[];
  /** Open proposals of the workspace; they belong to no run. */
  proposals: number;
};

/** Everything that needs a person's decision, as the inbox shows it, with the command for each. */
export function waitingFor({ run, failed, questions, proposals }: About): string[] {
  const open = questions.filter((question) => question.answer === null);
  return [
    ...(run.state === "stopped" ? [stoppedLine(run)] : []),
    ...(run.state === "running" && run.reason !== null
      ? [`The run waits, and goes on by itself: ${plainly(run.reason)}.`]
      : []),
    ...failed.map(({ number, title, failure }) => {
      const cause = failure.report.rootCauses[0]?.cause ?? "see below";
      return `Task ${number} (${plainly(title)}) failed: ${plainly(cause)}. ${sentence(failure.impact.nextActions[0])}`;
    }),
    ...open.map(
      ({ question, id }) => `An agent asked: ${plainly(question)} (answer with: scriptorium run answer ${id} "…")`,
    ),
    ...(proposals > 0
      ? [`${proposals} open ${proposals === 1 ? "proposal" : "proposals"} in this workspace: scriptorium proposal list`]
      : []),
  ];
}

function stoppedLine({ id, reason, budgetTokens, budgetUsd }: Run): string {
  const isBudget = reason?.includes("budget") ?? false;
  const removed = [
    ...(budgetUsd === null ? [] : ["`--budget-usd N` or `--no-budget-usd`"]),
    ...(budgetTokens === null ? [] : ["`--budget-tokens N` or `--no-budget-tokens`"]),
  ];
  const how = isBudget && removed.length > 0 ? ` with ${removed.join(", and ")}` : "";
  return `The run stopped: ${plainly(reason ?? "no reason was recorded")}. Resume it: \`scriptorium run resume ${id}\`${how}. Or cancel it: \`scriptorium run cancel ${id}\`.`;
}

const sentence = (text = "") => (text === "" ? "" : `${plainly(text[0]?.toUpperCase() + text.slice(1))}.`);
