import { createHash } from "node:crypto";
import * as z from "zod";
import type { AgentReportRow, ReportSections } from "../../store/crew-tables.ts";
import type { Job } from "./breakers.ts";

/**
 * Reports that agents write from the record (O9, O11). Their text stands beside the facts, which rules make
 * (`failure.ts`), and decides nothing: no state, score or retry depends on it.
 */
export type ReportKind = AgentReportRow["kind"];

const text = (most: number) => z.string().trim().min(1, "expected some text").max(most);
const points = z.array(text(600)).min(1, "expected at least one point").max(10);

const shapes = {
  qc_failure: {
    timeline: text(2000).describe("What happened in each attempt, in order"),
    score_progression: text(800).describe("How the scores changed, and why"),
    root_causes: points.describe("Technical causes, the most important first; say which attempts show each"),
    recommendations: points.describe("What a next attempt must do differently"),
  },
  pm_failure: {
    blocked_tasks: text(1500).describe("Tasks that cannot start, and what is lost with them"),
    delay: text(800).describe("Cost of the failure: time, and work to repeat"),
    risk: text(800).describe("Risk for the request as a whole, and why"),
    next_actions: points.describe("What a person should do now, in order"),
    lessons: points.describe("What to plan differently next time"),
  },
  final: {
    outcome: text(2000).describe("What the request got, and what is missing"),
    reasoning: text(3000).describe("How the result came about: what was tried, what failed, what was changed"),
    key_decisions: points.describe("Decisions that people must know, with the number of their task"),
  },
} satisfies Record<ReportKind, Record<string, z.ZodType>>;

type About = { part: AgentReportRow["part"]; title: string; job: Job; sections: z.ZodType<ReportSections> };

export const reportKinds: Record<ReportKind, About> = {
  qc_failure: {
    part: "qc",
    title: "failure report",
    job: "qc_failure_report",
    sections: z.object(shapes.qc_failure),
  },
  pm_failure: {
    part: "pm",
    title: "impact analysis",
    job: "pm_failure_analysis",
    sections: z.object(shapes.pm_failure),
  },
  final: { part: "reporter", title: "final report", job: "final_report", sections: z.object(shapes.final) },
};

/** A report about a failed task holds for the attempt that was its last. */
export const aboutFailure = (task: string, epoch: number) => `${task}/${epoch}`;

/** A final report holds for one outcome; a run that is resumed afterwards gets another. */
export const aboutOutcome = (tasks: { id: string; state: string; epoch: number }[]) =>
  createHash("sha256")
    .update(
      tasks
        .map(({ id, state, epoch }) => `${id} ${state} ${epoch}`)
        .sort()
        .join("\n"),
    )
    .digest("hex")
    .slice(0, 32);

/** Sections as markdown; the names of the sections are ours, their text is the agent's. */
export const sectionsText = (sections: ReportSections): string =>
  Object.entries(sections)
    .map(([name, value]) => {
      const label = name.replaceAll("_", " ");
      const text = Array.isArray(value)
        ? value.map((point) => `- ${point.replaceAll(/\s+/g, " ").trim()}`).join("\n")
        : value;
      return `**${label[0]?.toUpperCase()}${label.slice(1)}**\n\n${text}`;
    })
    .join("\n\n");
