import { useState } from "react";
import type { TrustState } from "../../src/trust/state.ts";
import type { Output } from "../client/call.ts";
import { countOf } from "../parts/time.tsx";
import { useActions } from "../shell/actions.ts";
import { TrustLabel, trustStates } from "./states.tsx";

const key = "scriptorium trust marks";

/** Whether marks are shown for every passage; by default only those that lost their trust have one. */
export function useAllMarks(): [isAll: boolean, set: (isAll: boolean) => void] {
  const [isAll, setAll] = useState(() => localStorage.getItem(key) === "all");
  const set = (next: boolean) => {
    if (next) localStorage.setItem(key, "all");
    else localStorage.removeItem(key);
    setAll(next);
  };
  useActions([
    {
      ...{ id: "trust-all", group: "View", keys: "v t", run: () => set(!isAll) },
      label: isAll ? "Hide marks of trusted passages" : "Mark the trust of every passage",
    },
  ]);
  return [isAll, set];
}

type Props = { counts: Output<"get_trust">["counts"]; isAll: boolean; onAll(isAll: boolean): void };

/** How many passages of the page are in each state. */
export function TrustSummary({ counts, isAll, onAll }: Props) {
  const states = (Object.keys(trustStates) as TrustState[]).filter((state) => (counts[state] ?? 0) > 0);
  if (states.length === 0) return null;
  return (
    <section aria-labelledby="trust-summary">
      <h2 id="trust-summary">Trust</h2>
      <ul className="trust-counts">
        {states.map((state) => (
          <li key={state}>
            <TrustLabel state={state} /> {countOf(counts[state] ?? 0, "passage", "passages")}
          </li>
        ))}
      </ul>
      <button type="button" className="link-button" aria-pressed={isAll} onClick={() => onAll(!isAll)}>
        {isAll ? "Mark only doubtful passages" : "Mark every passage"}
      </button>
    </section>
  );
}
