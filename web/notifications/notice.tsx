import { Link } from "@tanstack/react-router";
import type { Output } from "../client/call.ts";
import { Shown } from "../parts/shown.tsx";
import { Time } from "../parts/time.tsx";

export type Notification = Output<"notifications">["notifications"][number];

/** What happened, without the words of anybody: browser notifications show no more than this. */
export const noticeWords: Record<Notification["kind"], string> = {
  mentioned: "You were mentioned in a topic",
  assigned: "A topic was assigned to you",
  proposal: "A proposal needs a decision",
  question: "An agent asks a question",
  gate: "A result needs approval",
  held_files: "Files of a task are held",
  run: "A run stopped or failed",
  plan_change: "A plan change needs a decision",
  waiting_run: "A run waits",
  stalled_run: "No process executes a run",
  settings: "Settings wait to be allowed",
};

/** The page of the thing; questions are answered in the inbox. */
export function noticeAddress({ kind, subject }: Notification): string {
  const id = subject.slice(subject.indexOf(":") + 1);
  if (kind === "mentioned" || kind === "assigned") return `/topics/${id}`;
  if (kind === "proposal") return `/proposals/${id}`;
  if (kind === "gate") return `/gates/${id}`;
  if (kind === "held_files") return `/held-files/${id}`;
  if (kind === "plan_change") return `/plan-changes/${id}`;
  if (kind === "settings") return "/settings";
  return kind === "question" ? "/inbox" : `/runs/${id}`;
}

export const isNew = ({ read, waiting }: Notification): boolean => !read && waiting;

/** Notifications as rows: what, about which thing, from whom, when. */
export function NoticeList({ of, onFollow }: { of: Notification[]; onFollow?: () => void }) {
  return (
    <ul className="notices">
      {of.map((one) => (
        <li key={one.id} data-new={isNew(one) || undefined}>
          <Link to={noticeAddress(one)} {...(onFollow ? { onClick: onFollow } : {})}>
            <span className="notice-what">
              {isNew(one) && <span className="sr-only">Unread: </span>}
              {noticeWords[one.kind]}
            </span>
            {one.title && (
              <span className="notice-title">
                <Shown text={one.title} />
              </span>
            )}
          </Link>
          <span className="facts">
            {!one.waiting && <span className="state tone-good">done</span>}
            {one.source_path && one.source_path !== one.title && (
              <span>
                <Shown text={one.source_path} />
              </span>
            )}
            <span>
              <Shown text={one.by} />, <Time at={one.at} />
            </span>
          </span>
        </li>
      ))}
    </ul>
  );
}
