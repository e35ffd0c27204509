import type { AgentReport } from "../../store/queries/agent-reports.ts";
import { type ReportKind, reportKinds, sectionsText } from "../rules/agent-report.ts";
import { plainly, quotation } from "./markdown.ts";

/** An agent's report under a heading that names its author, or the reason why there is none. */
export function analysisPart(
  level: "##" | "###",
  kind: ReportKind,
  written: Pick<AgentReport, "part" | "model" | "content" | "missing"> | undefined,
  reports: "agents" | "facts",
): string[] {
  const { part, title } = reportKinds[kind];
  const name = kind === "final" ? "Analysis" : `Analysis: ${title}`;
  if (!written?.content) return [`${level} ${name}`, whyMissing(written, reports)];
  const model = written.model === null ? "" : `, model ${plainly(written.model)}`;
  return [
    `${level} ${name} (written by the agent \`${part}\`${model})`,
    "An agent wrote this from the record. Nobody has checked it.",
    quotation(sectionsText(written.content)),
  ];
}

function whyMissing(written: Pick<AgentReport, "missing"> | undefined, reports: "agents" | "facts"): string {
  if (written?.missing) return `No agent's analysis: ${plainly(written.missing)}.`;
  if (reports === "facts") return "No agent's analysis: `crew.reports` is `facts`.";
  return written ? "An agent is writing it." : "No agent's analysis: none was written before the run stopped.";
}
