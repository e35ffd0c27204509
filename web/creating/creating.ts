import { useSyncExternalStore } from "react";

/** What the person is about to make or move. One dialog at a time, opened from anywhere. */
export type Creating =
  | { kind: "page"; path?: string }
  | { kind: "section"; id?: string }
  | { kind: "move"; path: string; entry: string | undefined; title: string };

let current: Creating | undefined;
const listeners = new Set<() => void>();

export function startCreating(next: Creating | undefined): void {
  current = next;
  for (const listener of listeners) listener();
}

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => void listeners.delete(listener);
};

export const useCreating = (): Creating | undefined => useSyncExternalStore(subscribe, () => current);
