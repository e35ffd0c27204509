import { parseJsonOr } from "../store/json.ts";
import type { PassageState } from "../store/queries/trust.ts";
import { type Passage, passagesOf } from "./passages.ts";
import { type Cause, causeText } from "./rule.ts";
import { cut } from "./shown.ts";
import { isDoubtful, isVerified, type TrustState, trustStates, worstOf } from "./state.ts";

/** A text that search found: part of a page, under its nearest heading. */
export type Found = { subject: string; heading: string; body: string };

/** The trust of a text: the state of its least trustworthy passage, and which ones to doubt. */
export type Label = {
  trust: TrustState;
  doubts: string[];
  /** The verified passages of the text, if that is not all of it. */
  verified: string | undefined;
};

const longestQuote = 60;
const mostDoubts = 3;

const mostRemembered = 5000;

/** Splits found texts into passages. The same texts are found again and again, and hashing them takes longest. */
export function passageReader(): (found: Found) => Passage[] {
  const known = new Map<string, Passage[]>();
  return ({ heading, body }) => {
    const key = `${heading}\n${body}`;
    const passages = known.get(key) ?? passagesOf(body, heading);
    known.delete(key);
    known.set(key, passages);
    const [oldest] = known.size > mostRemembered ? known.keys() : [];
    if (oldest !== undefined) known.delete(oldest);
    return passages;
  };
}

/** Pure. A passage that is not on record was just written, or is part of a longer one: it is unverified. */
export function labelOf(
  subject: string,
  found: Passage[],
  states: ReadonlyMap<string, PassageState>,
  now: string,
): Label {
  const passages = found.map(({ text, hash }) => {
    const row = states.get(`${subject}#${hash}`);
    return { text, row, state: stateOf(row, now) };
  });
  const doubtful = passages.filter(({ state }) => isDoubtful(state));
  const trusted = passages.filter(({ state }) => isVerified(state));
  return {
    trust: worstOf(passages.map(({ state }) => state)) ?? "unverified",
    doubts: doubtful.slice(0, mostDoubts).map(({ text, state, row }) => {
      const [cause] = parseJsonOr<Cause[]>(row?.causes ?? "", []);
      const quote = passages.length > 1 ? ` "${cut(text.replaceAll(/\s+/g, " "), longestQuote)}"` : "";
      return `${state}${quote}${cause ? `: ${causeText(cause)}` : ""}`;
    }),
    verified: trusted.length === 0 ? undefined : trusted.map(({ text }) => text).join("\n\n"),
  };
}

/** The state now: the time of a passage may be over although nobody has looked since. */
function stateOf(row: PassageState | undefined, now: string): TrustState {
  const state = trustStates.find((one) => one === row?.state) ?? "unverified";
  return row?.stale_after && row.stale_after <= now && isVerified(state) ? "stale" : state;
}

/** Multiplies the score of a passage in `recall`. Not tuned; `npm run bench -- trust` shows the effect. */
export const trustWeight: Record<TrustState, number> = {
  verified_by_person: 1,
  verified_by_check: 1,
  unverified: 0.9,
  stale: 0.7,
  disputed: 0.6,
  withdrawn: 0.4,
};
