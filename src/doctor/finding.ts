import { createHash } from "node:crypto";
import * as z from "zod";

/** The parts of Scriptorium that a finding can concern, in the order they are shown. */
export const purposes = ["wiki", "serve", "jobs", "crew", "search"] as const;

export const finding = z.object({
  id: z.string().describe("Stays the same while the finding does; for acknowledge_finding"),
  for: z.enum(purposes).describe("The part of Scriptorium that needs it"),
  check: z.string().describe("What was checked, such as git or login"),
  kind: z
    .string()
    .describe("What was found, such as version-not-in-history; the name of the check if it finds one thing"),
  subject: z.string().describe("Id of the checked thing, such as entry:vision; empty for the whole workspace"),
  state: z
    .enum(["ok", "optional", "missing", "warning", "problem"])
    .describe(
      "optional: not set up, and nothing configured needs it; missing: configured, but not on this machine; problem: the workspace is damaged or unusable",
    ),
  message: z.string(),
  evidence: z.string().describe("What the finding was concluded from; another evidence makes another id"),
  fix: z.string().optional().describe("The next command or change"),
  acknowledged: z
    .object({ by: z.string(), at: z.string(), note: z.string() })
    .optional()
    .describe("The person who accepted this finding as it is"),
});

export type Finding = z.infer<typeof finding>;
export type Purpose = Finding["for"];

export const diagnosis = z.object({
  healthy: z.boolean().describe("True without a problem; missing, optional and acknowledged things do not count"),
  findings: z.array(finding),
});
export type Diagnosis = z.infer<typeof diagnosis>;

export const diagnose = (findings: Finding[]): Diagnosis => ({
  healthy: findings.every(({ state, acknowledged }) => state !== "problem" || acknowledged !== undefined),
  findings: purposes.flatMap((purpose) => findings.filter((one) => one.for === purpose)),
});

/** What a finding is about, for checks that can find several things. */
export type About = { kind?: string; subject?: string; evidence?: string };

/** Makes findings of one check. */
export function findingsOf(purpose: Purpose, check: string) {
  const make =
    (state: Finding["state"]) =>
    (message: string, fix?: string, about: About = {}): Finding => {
      const { kind = check, subject = "", evidence = message } = about;
      const id = idOf([purpose, check, kind, subject, evidence]);
      return { id, for: purpose, check, kind, subject, state, message, evidence, ...(fix ? { fix } : {}) };
    };
  return {
    ok: make("ok"),
    optional: make("optional"),
    missing: make("missing"),
    warning: make("warning"),
    problem: make("problem"),
  };
}

const idOf = (parts: string[]) => `f-${createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 12)}`;
