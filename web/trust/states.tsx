import type { TrustState } from "../../src/trust/state.ts";
import { AlertTriangle, Check, CheckCircled, Circle, Clock, CrossCircled } from "../parts/icons.tsx";

/** Each state has a word and a shape of its own, so that it is not told by its colour alone. */
export const trustStates: Record<TrustState, { word: string; tone: string; Shape: typeof Check }> = {
  verified_by_person: { word: "verified by a person", tone: "good", Shape: CheckCircled },
  verified_by_check: { word: "verified by a check", tone: "good", Shape: Check },
  unverified: { word: "unverified", tone: "plain", Shape: Circle },
  stale: { word: "stale", tone: "off", Shape: Clock },
  disputed: { word: "disputed", tone: "bad", Shape: AlertTriangle },
  withdrawn: { word: "withdrawn", tone: "bad", Shape: CrossCircled },
};

export function TrustLabel({ state }: { state: TrustState }) {
  return (
    <span className={`state tone-${trustStates[state].tone}`}>
      <TrustWord state={state} />
    </span>
  );
}

export function TrustWord({ state }: { state: TrustState }) {
  const { word, Shape } = trustStates[state];
  return (
    <span className="trust-label">
      <Shape size={12} aria-hidden />
      {word}
    </span>
  );
}

export const sentenceCase = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
