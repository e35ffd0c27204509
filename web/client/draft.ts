import { useCallback, useMemo, useSyncExternalStore } from "react";
import { boot } from "../boot.ts";

/**
 * Unsent texts. They are kept in the browser's storage per workspace, person and place, so they survive Escape, a
 * link, a reload, a crash, another tab and a new sign-in, until they are sent or discarded.
 */
const keyOf = (key: string) => `scriptorium draft ${JSON.stringify([boot.workspace.name, boot.person.name])} ${key}`;

/** Used when the browser refuses to store: private windows and full storage. */
const unstored = new Map<string, string>();
const listeners = new Set<() => void>();

function read(key: string): string | null {
  const own = unstored.get(key);
  if (own !== undefined) return own;
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function write(key: string, json: string | null): void {
  unstored.delete(key);
  try {
    if (json === null) localStorage.removeItem(key);
    else localStorage.setItem(key, json);
  } catch {
    if (json !== null) unstored.set(key, json);
  }
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  // Fires in every other tab of this origin.
  window.addEventListener("storage", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("storage", listener);
  };
}

function parse<T>(json: string | null): T | undefined {
  try {
    return json === null ? undefined : (JSON.parse(json) as T);
  } catch {
    return undefined;
  }
}

export const loadDraft = <T>(key: string): T | undefined => parse<T>(read(keyOf(key)));
export const saveDraft = (key: string, value: unknown): void => write(keyOf(key), JSON.stringify(value));
export const clearDraft = (key: string): void => write(keyOf(key), null);

type Draft<T> = {
  /** The stored draft, or `initial` if there is none. */
  value: T;
  /** True if the browser has a draft for the key. */
  isKept: boolean;
  /** An empty string removes the draft. */
  setValue(next: T): void;
  clear(): void;
  /** Removes the text that was sent, unless the draft is another one by now: the person went on typing. */
  clearSent(sent: string): void;
};

/** The draft for a place, such as `reply t-1`; the same in every component and tab that shows it. */
export function useDraft<T = string>(key: string, initial: T): Draft<T> {
  const name = keyOf(key);
  const json = useSyncExternalStore(subscribe, () => read(name));
  const stored = useMemo(() => parse<T>(json), [json]);
  const clear = useCallback(() => write(name, null), [name]);
  const setValue = useCallback((next: T) => write(name, next === "" ? null : JSON.stringify(next)), [name]);
  const clearSent = useCallback(
    (sent: string) => {
      const now = parse<unknown>(read(name));
      if (typeof now !== "string" || now.trim() === sent.trim()) write(name, null);
    },
    [name],
  );
  return { value: stored ?? initial, isKept: stored !== undefined, setValue, clear, clearSent };
}
