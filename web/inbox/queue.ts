import { useLocation, useNavigate } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { boot } from "../boot.ts";
import type { Output } from "../client/call.ts";
import { useOperation } from "../client/query.ts";
import { addressOf } from "../parts/paths.ts";
import { forYou } from "./waiting-topics.tsx";

type Waiting = Output<"inbox">;
/** `isDecided`: the decision is held, and only Undo is left to do. */
export type Item = {
  to: string;
  /** Of a page that is in the queue only when it is opened to look at this passage. */
  passage?: string;
  title: string;
  by: string;
  since: string | null;
  isDecided: boolean;
};

/** What waits, in the order of the inbox. */
const itemsOf = (inbox: Waiting): Item[] => [
  ...inbox.topics.map(({ id, opening, by, at }) => item(`/topics/${id}`, opening, by, at)),
  ...inbox.settings.slice(0, 1).map((one) => item("/settings", "Settings to allow", fromRepository, one.changed_at)),
  ...inbox.files.map((one) =>
    item(`/held-files/${one.task}`, `Files of task ${one.number}`, "the worker", one.held_at),
  ),
  ...inbox.gates.map((one) =>
    item(`/gates/${one.task}`, one.title, one.on_reject === null ? "the worker" : "the plan", one.held_at),
  ),
  ...inbox.plan_changes.map((one) =>
    item(`/plan-changes/${one.id}`, `Plan change: ${one.title}`, "the planner", one.proposed_at),
  ),
  ...inbox.runs.map((one) => item(`/runs/${one.id}`, one.title, one.created_by, one.waiting_since)),
  ...inbox.proposals.map((one) => ({
    ...item(`/proposals/${one.id}`, one.subject, one.proposed_by ?? "the agent", one.created_at),
    isDecided: one.pending !== null && one.pending.problem === null,
  })),
  ...inbox.recheck.map((one) => ({
    ...item(addressOf(one.source_path, boot.workspace.wiki), `Re-check ${one.source_path}`, "the record", one.since),
    passage: one.passage,
  })),
];

/** What leads to an item. */
export const placeOf = ({ to, passage }: Item) => ({ to, search: (passage ? { passage } : {}) as never });

export const fromRepository = "the repository";

const item = (to: string, title: string, by: string, since: string | null): Item => ({
  ...{ to, title, by, since, isDecided: false },
});

/** Pages that only decide something. They have the bar also when their item is decided. */
const decisionPage = /^\/(?:proposals|gates|held-files|plan-changes)\//;

/** The queue around the item of the page that is shown. */
export function useQueue() {
  const { pathname, search } = useLocation();
  const { data } = useOperation("inbox", {});
  const { topic, passage } = search as { topic?: string; passage?: string };
  const isHere = ({ to, passage: own }: Item) =>
    (to === pathname && (own === undefined || passage !== undefined)) ||
    (topic !== undefined && to === `/topics/${topic}`);
  const all = data ? itemsOf(data) : [];
  const own = data ? itemsOf(forYou(data)) : [];
  const items = own.some(isHere) || !all.some(isHere) ? (own.length > 0 ? own : all) : all;
  const at = items.findIndex(isHere);
  // An item leaves the list when it is decided; those after it are still next.
  const place = useRef({ pathname, at: 0 });
  useEffect(() => {
    if (at >= 0) place.current = { pathname, at: at + 1 };
  });
  const from = at >= 0 ? at + 1 : place.current.pathname === pathname ? Math.max(0, place.current.at - 1) : 0;
  const waiting = (some: Item[]) => some.filter(({ isDecided, ...one }) => !isDecided && one.to !== pathname);
  const previous = at > 0 ? waiting(items.slice(0, at)).at(-1) : undefined;
  const following = waiting(items.slice(from));
  const afterDecision = following[0] ?? waiting(items)[0];
  return {
    items,
    at,
    previous,
    /** On the page of an item that was decided: the one to continue with. */
    next: at < 0 ? afterDecision : following[0],
    /** The item to continue with after a decision: the next one, or else the first that is left. */
    afterDecision,
    isDecisionPage: decisionPage.test(pathname),
    decided: (data?.proposals ?? []).filter(({ pending }) => pending !== null),
    pathname,
  };
}

/** Goes on with the next item of the inbox; without one, does nothing and says so. */
export function useMoveOn(): () => Promise<boolean> {
  const { afterDecision } = useQueue();
  const navigate = useNavigate();
  return async () => {
    if (!afterDecision) return false;
    await navigate(placeOf(afterDecision));
    return true;
  };
}
