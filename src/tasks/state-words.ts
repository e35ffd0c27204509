/** The states of a task in the words of GLOSSARY.md, for people; the wire has the names. Free of imports, since the browser loads it. */
export const stateWords: Record<string, string> = {
  pending: "waiting",
  worker_executing: "in progress",
  worker_completed: "submitted",
  qc_executing: "being verified",
  qc_passed: "verified",
  qc_failed: "rejected",
  preparing_retry: "retrying",
  completed: "completed",
  failed: "failed",
  cancelled: "cancelled",
  blocked: "blocked",
  stale: "stale",
};

export const wordsFor = (state: string): string => stateWords[state] ?? state;

/** The state that a person names by its word or by its name on the wire. */
export const stateNamed = (word: string): string =>
  Object.keys(stateWords).find((state) => stateWords[state] === word.toLowerCase()) ?? word;
