import { useCallback } from "react";
import { useDraft } from "../client/draft.ts";
import type { Proposal } from "./proposal.tsx";

/** Left out, or taken with other lines. A change without a choice is taken as it is. */
export type Choice = "left out" | { content: string };

type Stored = Record<string, Choice>;
const none: Stored = {};

/** The choices among the changes of a proposal. They outlive the view of the change: an approval must know of them. */
export function useChoices({ id, impact, status, pending }: Proposal) {
  const { value, setValue, clear } = useDraft<Stored>(`changes ${id}`, none);
  const total = impact?.changes.length ?? 0;
  const choose = useCallback(
    (number: number, choice: Choice | undefined) => {
      const { [number]: _, ...others } = value;
      const next = choice === undefined ? others : { ...others, [number]: choice };
      if (Object.keys(next).length > 0) setValue(next);
      else clear();
    },
    [value, setValue, clear],
  );
  return {
    total,
    /** Changes can be chosen singly: the proposal is open, and all of its lines are shown. */
    canChoose: status === "open" && pending === null && impact?.omitted_lines === 0,
    isChoosing: status === "open" && Object.keys(value).length > 0,
    of: (number: number): Choice | undefined => value[number],
    choose,
    reset: clear,
  };
}

export type Choices = ReturnType<typeof useChoices>;
