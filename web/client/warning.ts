import { useSyncExternalStore } from "react";

let current: string | undefined;
const listeners = new Set<() => void>();

/** Every answer of the server carries its warning, such as a schema.yaml that is not in force, or none. */
export function noteWarning({ headers }: Response): void {
  const encoded = headers.get("scriptorium-warning");
  const warning = encoded === null ? undefined : decodeURIComponent(encoded);
  if (warning === current) return;
  current = warning;
  for (const listener of listeners) listener();
}

export const useWarning = (): string | undefined =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => current,
  );
