import { isVerified, type TrustState } from "./state.ts";

/** What the record says about one passage. Times are ISO 8601. */
export type Facts = {
  written: { by: string; at: string; version: number };
  /** A person: an approval, an own edit with proof, or an explicit verification. A check: a verdict that passed. */
  verifications: Verification[];
  /** The run or task that wrote it was overturned or reverted. */
  withdrawals: { what: string; by: string; at: string }[];
  disputes: { by: string; why: string; at: string; topic: string | null }[];
  /** Cited sources that no longer say what they said when it was verified. */
  sources: { ref: string; trouble: "changed" | "gone"; at: string }[];
  /** Passages that say the same with other values, and when they were verified. */
  contradictions: { subject: string; passage: string; says: string; at: string }[];
  /** The verified passage that it replaced. */
  replaced?: { state: TrustState; passage: string } | undefined;
  staleAfter?: string | null | undefined;
};

export type Verification = { kind: "person" | "check"; by: string; at: string };

export type Cause =
  | { kind: "text_changed"; by: string; version: number; from: TrustState; passage: string; at: string }
  | { kind: "source_changed" | "source_gone"; ref: string; at: string }
  | { kind: "overturned" | "reverted"; what: string; by: string; at: string }
  | { kind: "contradicted"; subject: string; passage: string; says: string; at: string }
  | { kind: "disputed"; by: string; why: string; topic_id: string | null; at: string }
  | { kind: "stale_after"; at: string };

export type Trust = {
  state: TrustState;
  causes: Cause[];
  since: string;
  verification: Verification | undefined;
  /** The verified state that it no longer has. */
  lost: TrustState | undefined;
};

/**
 * The state of a passage. The newest verification counts, and cancels every loss that is older:
 *
 *   verified ──source changed, stale_after passed──▶ stale      ──verified again──▶ verified
 *            ──contradicted, disputed──────────────▶ disputed   ──verified again──▶ verified
 *   any      ──its run or task reverted────────────▶ withdrawn  ──verified again──▶ verified
 *
 * A change of the text makes another passage, which is unverified.
 */
export function trustOf(facts: Facts, now: string): Trust {
  const verification = newest(facts.verifications.filter(({ at }) => at >= facts.written.at));
  const since = verification?.at ?? facts.written.at;
  const isNewer = ({ at }: { at: string }) => verification === undefined || at > verification.at;
  const withdrawn = facts.withdrawals.filter(isNewer).map(({ what, by, at }): Cause => ({ ...named(what), by, at }));
  const disputed = [
    ...facts.disputes.filter(isNewer).map((one): Cause => {
      return { kind: "disputed", by: one.by, why: one.why, topic_id: one.topic, at: one.at };
    }),
    ...facts.contradictions.filter(isNewer).map((one): Cause => ({ kind: "contradicted", ...one })),
  ];
  const stale = verification ? staleCauses(facts, verification, now) : [];
  const verified: TrustState | undefined =
    verification && (verification.kind === "person" ? "verified_by_person" : "verified_by_check");

  const [state, causes] = firstWithCauses([
    ["withdrawn", withdrawn],
    ["disputed", disputed],
    ["stale", stale],
  ]) ?? [verified ?? "unverified", verified ? [] : textChanged(facts)];
  return {
    state,
    causes: causes.sort((a, b) => (a.at < b.at ? 1 : -1)),
    since: causes.reduce((last, { at }) => (at > last ? at : last), since),
    verification,
    lost: isVerified(state) ? undefined : (verified ?? replacedState(facts)),
  };
}

function staleCauses({ sources, staleAfter }: Facts, verification: Verification, now: string): Cause[] {
  const passed = staleAfter && staleAfter <= now && staleAfter > verification.at;
  return [
    ...sources.map(({ ref, trouble, at }): Cause => {
      return { kind: trouble === "gone" ? "source_gone" : "source_changed", ref, at };
    }),
    ...(passed ? [{ kind: "stale_after", at: staleAfter } as const] : []),
  ];
}

function textChanged({ replaced, written: { by, version, at } }: Facts): Cause[] {
  if (!replaced || !isVerified(replaced.state)) return [];
  return [{ kind: "text_changed", by, version, from: replaced.state, passage: replaced.passage, at }];
}

const replacedState = ({ replaced }: Facts) => (replaced && isVerified(replaced.state) ? replaced.state : undefined);

/** "task t-1 was overturned" as a cause. */
function named(what: string) {
  const kind = what.endsWith(" overturned") ? "overturned" : "reverted";
  return { kind, what: what.replace(/ (overturned|reverted)$/, "") } as const;
}

const newest = (verifications: Verification[]): Verification | undefined =>
  verifications.reduce<Verification | undefined>((best, one) => {
    if (!best || one.at > best.at) return one;
    return one.at === best.at && one.kind === "person" ? one : best;
  }, undefined);

const firstWithCauses = (ranked: [TrustState, Cause[]][]) => ranked.find(([, causes]) => causes.length > 0);

/** A cause in words. */
export function causeText(cause: Cause): string {
  switch (cause.kind) {
    case "text_changed":
      return `${cause.by} changed the verified text in version ${cause.version}`;
    case "source_changed":
      return `${cause.ref} changed`;
    case "source_gone":
      return `${cause.ref} is gone`;
    case "contradicted":
      return `${cause.subject} says "${cause.says}"`;
    case "disputed":
      return `${cause.by}: ${cause.why}`;
    case "stale_after":
      return `verified until ${cause.at.slice(0, 10)}`;
    default:
      return `${cause.what} was ${cause.kind} by ${cause.by}`;
  }
}
