import { useSyncExternalStore } from "react";
import { boot } from "../boot.ts";

/** Unsaved edits of a plan, kept in this browser per person and run. `base` is the text they began from. */
export type PlanDraft = { text: string; base: string; hash: string };

const keyOf = (run: string) => `scriptorium plan ${boot.person.name} ${run}`;
const listeners = new Set<() => void>();

export function loadPlanDraft(run: string): PlanDraft | undefined {
  return parsed(localStorage.getItem(keyOf(run)));
}

function parsed(stored: string | null): PlanDraft | undefined {
  try {
    const { text, base, hash } = JSON.parse(stored ?? "{}") as Partial<PlanDraft>;
    return text !== undefined && base !== undefined && hash !== undefined ? { text, base, hash } : undefined;
  } catch {
    return undefined;
  }
}

export function keepPlanDraft(run: string, draft: PlanDraft): void {
  localStorage.setItem(keyOf(run), JSON.stringify(draft));
  for (const listener of listeners) listener();
}

export function dropPlanDraft(run: string): void {
  localStorage.removeItem(keyOf(run));
  for (const listener of listeners) listener();
}

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  window.addEventListener("storage", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("storage", listener);
  };
};

/** Whether this browser has unsaved edits of the plan. */
export const useHasPlanDraft = (run: string): boolean =>
  useSyncExternalStore(subscribe, () => localStorage.getItem(keyOf(run)) !== null);
