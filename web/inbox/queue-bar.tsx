import { Link, useNavigate } from "@tanstack/react-router";
import { boot } from "../boot.ts";
import { Shown } from "../parts/shown.tsx";
import { type Action, useActions } from "../shell/actions.ts";
import { Pending } from "./pending.tsx";
import { waited } from "./proposal-facts.tsx";
import { type Item, placeOf, useQueue } from "./queue.ts";

/** Above the page of something that waits: the ways to the other items of the inbox, and decisions to undo. */
export function QueueBar() {
  const { items, at, previous, next, isDecisionPage, decided, pathname } = useQueue();
  const navigate = useNavigate();
  const isHere = isDecisionPage || at >= 0;
  const go = (to: Item | undefined) => () => void navigate(to ? placeOf(to) : { to: "/inbox" });
  const step = (id: string, label: string, keys: string, to: Item | undefined): Action => ({
    ...{ id, label, group: "Decision", when: to !== undefined && isHere, run: go(to) },
    // On other pages these keys move between topics.
    ...(isDecisionPage ? { keys } : {}),
  });
  useActions([
    step("item-next", "Next item of the inbox", "j", next),
    step("item-previous", "Previous item of the inbox", "k", previous),
  ]);
  const own = decided.filter(({ id, pending }) => pending?.by === boot.person.name && pathname !== `/proposals/${id}`);
  const hasOthers = items.length > (at < 0 ? 0 : 1);
  if (!isHere || (own.length === 0 && !hasOthers)) return null;
  return (
    <div className="queue-strip">
      {own.map((proposal) => (
        <Pending key={proposal.id} proposal={proposal} subject={proposal.subject} isMine />
      ))}
      {hasOthers && (
        <nav className="queue-bar" aria-label="Inbox">
          <details>
            <summary>{at < 0 ? `${items.length} in the inbox` : `${at + 1} of ${items.length} in the inbox`}</summary>
            <ul>
              {items.map((one, index) => (
                <li key={one.to}>
                  <Link {...placeOf(one)} aria-current={index === at ? "page" : undefined} activeProps={{}}>
                    <Shown text={one.title} />
                  </Link>
                  <span className="muted small">
                    <Shown text={one.by} />
                    {one.since !== null && `, ${waited(one.since)}`}
                    {one.isDecided && ", decided"}
                  </span>
                </li>
              ))}
            </ul>
          </details>
          {previous && <Link {...placeOf(previous)}>Previous item</Link>}
          {next && <Link {...placeOf(next)}>Next item</Link>}
        </nav>
      )}
    </div>
  );
}
