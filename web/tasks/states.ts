/** The states of a task in people's words, and their colour. */
export const stateWords: Record<string, string> = {
  pending: "waiting",
  worker_executing: "worker at it",
  worker_completed: "work handed in",
  qc_executing: "being verified",
  qc_passed: "verified",
  qc_failed: "not accepted",
  preparing_retry: "trying again",
  completed: "completed",
  failed: "failed",
  cancelled: "cancelled",
  blocked: "blocked",
  stale: "stale",
};

export const toneOf = (state: string): "idle" | "busy" | "good" | "bad" | "off" => {
  if (state === "completed" || state === "qc_passed") return "good";
  if (state === "failed" || state === "qc_failed") return "bad";
  if (state === "cancelled" || state === "blocked" || state === "stale") return "off";
  return state === "pending" ? "idle" : "busy";
};
