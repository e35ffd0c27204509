import { isDoubtful, isVerified, type TrustState, trustStates } from "../../src/trust/state.ts";

/** Which results a search shows. */
export const trustFilters = { verified: "Verified", unverified: "Unverified", doubtful: "Doubtful" } as const;
export type TrustFilter = keyof typeof trustFilters;

export const isTrustState = (state: string | undefined): state is TrustState =>
  trustStates.some((one) => one === state);

/** Whether a text in this state passes the filter; sources, tasks and nodes have no state, and pass none. */
export function isTrusted(state: string | undefined, filter: TrustFilter): boolean {
  if (!isTrustState(state)) return false;
  if (filter === "verified") return isVerified(state);
  return filter === "doubtful" ? isDoubtful(state) : state === "unverified";
}
