import type { Stage } from "./scale.ts";

export const phaseWords: Record<Stage["phase"], string> = {
  planning: "Planning",
  preparing: "Preparing",
  work: "Work",
  waiting: "Waiting for a verifier",
  checks: "Checks",
  verification: "Verification",
  approval: "Waiting for approval",
  merge: "Merge",
  report: "Report",
};

/** The token of each phase's colour. */
export const phaseColours: Record<Stage["phase"], string> = {
  planning: "--muted",
  preparing: "--field",
  work: "--busy",
  waiting: "--field",
  checks: "--warn",
  verification: "--code-token-function",
  approval: "--warn",
  merge: "--good",
  report: "--muted",
};
export const isThin = (phase: Stage["phase"]) => phase === "waiting" || phase === "approval";
