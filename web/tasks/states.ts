/** The colour of a task's state. */
export const toneOf = (state: string): "idle" | "busy" | "good" | "bad" | "off" => {
  if (state === "completed" || state === "qc_passed") return "good";
  if (state === "failed" || state === "qc_failed") return "bad";
  if (state === "cancelled" || state === "blocked" || state === "stale") return "off";
  return state === "pending" ? "idle" : "busy";
};
