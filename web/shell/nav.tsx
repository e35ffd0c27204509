import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { OperationName } from "../../src/operation-loaders.ts";
import { boot } from "../boot.ts";
import { mayCall } from "../client/call.ts";
import type { LiveState } from "../client/live.ts";
import { useOperation } from "../client/query.ts";
import { useBrowserNotices } from "../notifications/browser-notices.ts";
import {
  BookOpen,
  FileStack,
  GitFork,
  Inbox,
  ListChecks,
  MessagesSquare,
  Network,
  ScrollText,
  Search,
  Users,
} from "../parts/icons.tsx";
import { Shown } from "../parts/shown.tsx";
import { useTitleCount } from "../parts/title.ts";
import { Account } from "./account.tsx";
import { Bell } from "./bell.tsx";
import { Tree } from "./tree.tsx";

type Place = { to: string; label: string; icon: ReactNode; keys: string; operation?: OperationName };

/** The main navigation. */
export const places: Place[] = [
  { to: "/", label: "Wiki", icon: <BookOpen size={17} />, keys: "g h" },
  { to: "/inbox", label: "Inbox", icon: <Inbox size={17} />, keys: "g i" },
  { to: "/topics", label: "Topics", icon: <MessagesSquare size={17} />, keys: "g d" },
  { to: "/runs", label: "Runs", icon: <GitFork size={17} />, keys: "g r" },
  { to: "/tasks", label: "Tasks", icon: <ListChecks size={17} />, keys: "g t" },
  { to: "/activity", label: "Activity", icon: <ScrollText size={17} />, keys: "g a" },
  { to: "/graph", label: "Graph", icon: <Network size={17} />, keys: "g g" },
  { to: "/sources", label: "Sources", icon: <FileStack size={17} />, keys: "g s" },
  { to: "/people", label: "People", icon: <Users size={17} />, keys: "g p", operation: "list_tokens" },
];

const liveWords: Record<LiveState, string> = {
  connecting: "Connecting",
  live: "Live",
  offline: "Offline",
  "signed-out": "Signed out",
};

type Props = { live: LiveState; onFind(): void; find: ReactNode; onHelp(): void };

export function Nav({ live, onFind, find, onHelp }: Props) {
  const inbox = useOperation("inbox", {});
  const count = inbox.data?.waiting_for_you ?? 0;
  useTitleCount(count);
  useBrowserNotices(useOperation("notifications", {}).data);
  return (
    <>
      <div className="brand-row">
        <Link to="/" className="brand">
          <Shown text={boot.workspace.name} />
        </Link>
        <Bell place="side" />
      </div>
      <button type="button" className="find" onClick={onFind}>
        <Search size={16} aria-hidden />
        <span>Find anything</span>
        {find}
      </button>
      <nav aria-label="Main" className="places">
        {places
          .filter(({ operation }) => operation === undefined || mayCall(operation))
          .map(({ to, label, icon }) => (
            <Link key={to} to={to} activeOptions={{ exact: to === "/" }}>
              <span aria-hidden>{icon}</span>
              {label}
              {to === "/inbox" && count > 0 && (
                <span className="count">
                  {count}
                  <span className="sr-only"> waiting</span>
                </span>
              )}
            </Link>
          ))}
      </nav>
      <Tree />
      <footer className="side-foot">
        <span className={`live live-${live}`} role="status">
          {liveWords[live]}
        </span>
        <Account />
        <button type="button" className="icon-button" aria-label="Show keyboard shortcuts" onClick={onHelp}>
          ?
        </button>
      </footer>
    </>
  );
}
