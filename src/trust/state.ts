/** The states of a passage, from the one to rely on to the one to avoid. */
export const trustStates = [
  "verified_by_person",
  "verified_by_check",
  "unverified",
  "stale",
  "disputed",
  "withdrawn",
] as const;
export type TrustState = (typeof trustStates)[number];

export const isVerified = (state: TrustState) => state === "verified_by_person" || state === "verified_by_check";
/** Verified once, or written by a run that was reverted. */
export const isDoubtful = (state: TrustState) => state === "stale" || state === "disputed" || state === "withdrawn";

/** The state to name for a text of several passages: the least trustworthy. */
export const worstOf = (states: readonly TrustState[]): TrustState | undefined =>
  trustStates[Math.max(...states.map((state) => trustStates.indexOf(state)))];

export type Counts = Partial<Record<TrustState, number>>;

export const countStates = (states: readonly TrustState[]): Counts => {
  const all = new Map<TrustState, number>();
  for (const state of states) all.set(state, (all.get(state) ?? 0) + 1);
  return Object.fromEntries(trustStates.flatMap((state) => (all.has(state) ? [[state, all.get(state)]] : [])));
};
