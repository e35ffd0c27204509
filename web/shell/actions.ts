import { useEffect, useSyncExternalStore } from "react";
import type { OperationName } from "../../src/operation-loaders.ts";
import { mayCall } from "../client/call.ts";

/** Something a person can do: read by buttons, keys, the palette and the help. */
export type Action = {
  id: string;
  label: string;
  group: "Go to" | "Page" | "Discussion" | "Decision" | "Run" | "View";
  /** One key, or two in a row: "g i". "mod+k" is Ctrl or Command. */
  keys?: string;
  /** A selector: the keys work only while the focus is in such an element. */
  within?: string;
  /** The operation it performs: a person whose rank may not call it does not see the action. */
  operation?: OperationName;
  /** Left out, it can always be done now. */
  when?: boolean;
  run(): void;
};

const lists = new Map<symbol, Action[]>();
const listeners = new Set<() => void>();
let snapshot: Action[] = [];

function publish(): void {
  const byId = new Map([...lists.values()].flat().map((action) => [action.id, action]));
  snapshot = [...byId.values()].filter(isAllowed);
  for (const listener of listeners) listener();
}

const isAllowed = ({ operation, when = true }: Action) => when && (operation === undefined || mayCall(operation));

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => void listeners.delete(listener);
};

/** The actions that are available on the current page. */
export const useAvailable = (): Action[] => useSyncExternalStore(subscribe, () => snapshot);

/** Offers actions for as long as the component is shown. */
export function useActions(actions: Action[]): void {
  useEffect(() => {
    const key = Symbol("actions");
    lists.set(key, actions);
    publish();
    return () => {
      lists.delete(key);
      publish();
    };
  });
}

const typing = (target: EventTarget | null) =>
  target instanceof HTMLElement &&
  (target.isContentEditable ||
    /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) ||
    target.closest(".cm-editor") !== null);

const isIn = (target: EventTarget | null, selector: string) =>
  target instanceof Element && target.closest(selector) !== null;

/** Keys lead to actions; while someone is typing, only those with Ctrl or Command do. */
export function listenToKeys(): () => void {
  let first = "";
  let firstAt = 0;
  const onKey = (event: KeyboardEvent) => {
    if (event.defaultPrevented || event.isComposing || event.altKey) return;
    const mod = event.ctrlKey || event.metaKey;
    if (!mod && typing(event.target)) return;
    if (!mod && document.querySelector("[role=dialog]")) return;
    const key = mod ? `mod+${event.shiftKey ? "shift+" : ""}${event.key.toLowerCase()}` : event.key;
    const sequence = Date.now() - firstAt < 1200 ? `${first} ${key}` : key;
    const reachable = snapshot.filter(({ within }) => within === undefined || isIn(event.target, within));
    const found = reachable.find(({ keys }) => keys === sequence) ?? reachable.find(({ keys }) => keys === key);
    first = key;
    firstAt = Date.now();
    if (!found) return;
    event.preventDefault();
    first = "";
    found.run();
  };
  window.addEventListener("keydown", onKey);
  return () => window.removeEventListener("keydown", onKey);
}
