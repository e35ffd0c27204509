import * as z from "zod";

/** The parts of Scriptorium that a finding can concern, in the order they are shown. */
export const purposes = ["wiki", "serve", "jobs", "crew", "search"] as const;

export const finding = z.object({
  for: z.enum(purposes).describe("The part of Scriptorium that needs it"),
  check: z.string().describe("What was checked, such as git or login"),
  state: z
    .enum(["ok", "optional", "missing", "warning", "problem"])
    .describe(
      "optional: not set up, and nothing configured needs it; missing: configured, but not on this machine; problem: the workspace is damaged or unusable",
    ),
  message: z.string(),
  fix: z.string().optional().describe("The next command or change"),
});

export type Finding = z.infer<typeof finding>;
export type Purpose = Finding["for"];

export const diagnosis = z.object({
  healthy: z.boolean().describe("True without a problem; missing and optional things do not count"),
  findings: z.array(finding),
});
export type Diagnosis = z.infer<typeof diagnosis>;

export const diagnose = (findings: Finding[]): Diagnosis => ({
  healthy: findings.every(({ state }) => state !== "problem"),
  findings: purposes.flatMap((purpose) => findings.filter((one) => one.for === purpose)),
});

/** Makes findings of one check. */
export function findingsOf(purpose: Purpose, check: string) {
  const make =
    (state: Finding["state"]) =>
    (message: string, fix?: string): Finding => ({ for: purpose, check, state, message, ...(fix ? { fix } : {}) });
  return {
    ok: make("ok"),
    optional: make("optional"),
    missing: make("missing"),
    warning: make("warning"),
    problem: make("problem"),
  };
}
