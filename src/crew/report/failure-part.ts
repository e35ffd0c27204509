import { fenced } from "../../kernel/fenced.ts";
import type { Failure } from "../../store/crew-tables.ts";
import type { AgentReport } from "../../store/queries/agent-reports.ts";
import type { Impact } from "../rules/failure.ts";
import { analysisPart } from "./analysis.ts";
import { plainly, table } from "./markdown.ts";

type Failed = {
  number: string;
  title: string;
  failure: { report: Failure; impact: Impact; written: AgentReport[] };
};

/** A failed task: what is on record about it, then what the verifier's and the planner's agents made of it (O9). */
export function failurePart({ number, title, failure }: Failed, analysis: "agents" | "facts" | "none"): string[] {
  const { report, impact, written } = failure;
  const rising = report.scores.progression.join(" → ") || "no score";
  const by = (kind: AgentReport["kind"]) => written.find((one) => one.kind === kind);
  return [
    `## Task ${number} failed: ${plainly(title)}`,
    "### Facts (recorded by the system)",
    `Root causes:\n\n${report.rootCauses.map(causeItem).join("\n") || "- unknown"}`,
    `Next steps:\n\n${impact.nextActions.map((one) => `- ${plainly(one)}`).join("\n")}`,
    `Impact: ${impact.blocked.length === 0 ? "no task depends on it" : `${impact.blocked.map((one) => `${one.number} (${plainly(one.title)})`).join(", ")} cannot start`}. Delay: ${impact.delay}. Risk: ${impact.risk}.`,
    `Scores: ${rising} (lowest ${report.scores.lowest ?? "–"}, highest ${report.scores.highest ?? "–"}, average ${report.scores.average ?? "–"})`,
    table(
      ["attempt", "at", "worker", "verifier", "score", "outcome", "why"],
      report.timeline.map((one) => [
        String(one.attempt),
        one.at.slice(0, 19).replace("T", " "),
        one.worker,
        one.verifier ?? "–",
        String(one.score ?? "–"),
        one.outcome,
        one.reason,
      ]),
    ),
    `Lessons:\n\n${impact.lessons.map((one) => `- ${plainly(one)}`).join("\n")}`,
    ...(analysis === "none"
      ? []
      : (["qc_failure", "pm_failure"] as const).flatMap((kind) => analysisPart("###", kind, by(kind), analysis))),
  ];
}

/** A cause, and under it what the failed check printed. */
function causeItem({ cause, attempts, output }: Failure["rootCauses"][number]): string {
  const which = `${attempts.length === 1 ? "attempt" : "attempts"} ${attempts.join(", ")}`;
  const line = `- ${plainly(cause)} (${which})`;
  if (output === undefined) return line;
  const block = fenced("text", output)
    .split("\n")
    .map((one) => `  ${one}`.trimEnd())
    .join("\n");
  return `${line}\n\n${block}\n`;
}
