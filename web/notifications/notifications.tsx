import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { Output } from "../client/call.ts";
import { useOperation, useWrite } from "../client/query.ts";
import { Shown } from "../parts/shown.tsx";
import { Empty, Failed, Loading } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import { useTitle } from "../parts/title.ts";

type Notification = Output<"notifications">["notifications"][number];

const words: Record<Notification["kind"], string> = {
  mentioned: "You were mentioned in a topic",
  assigned: "A topic was assigned to you",
  proposal: "A proposal needs a decision",
  question: "An agent asks a question",
  gate: "A result needs approval",
  held_files: "Files of a task are held",
  run: "A run stopped or failed",
};

/** What was addressed to the person or needs a decision, newest first. */
export function Notifications() {
  const found = useOperation("notifications", {});
  const markRead = useWrite("mark_read");
  const { data } = found;
  useTitle(data && data.unread > 0 ? `(${data.unread}) Notifications` : "Notifications");
  const newest = data?.notifications[0]?.id;
  return (
    <div className="column">
      <div className="page-head">
        <h1>Notifications</h1>
        <p className="lead">Mentions, topics assigned to you, and what needs a decision.</p>
      </div>
      {found.error && <Failed error={found.error} again={() => void found.refetch()} />}
      {found.isPending && <Loading />}
      {data && newest === undefined && (
        <Empty title="No notifications">
          <p>
            Mentions of you and decisions that wait appear here. <Link to="/inbox">Open the inbox</Link>
          </p>
        </Empty>
      )}
      {data && newest !== undefined && data.notifications.some(({ read }) => !read) && (
        <p>
          <Button
            size="xs"
            variant="default"
            loading={markRead.isPending}
            onClick={() => markRead.mutate({ up_to: newest })}
          >
            Mark all read
          </Button>
        </p>
      )}
      <ul className="entries">
        {data?.notifications.map((one) => (
          <li key={one.id}>
            <h2>
              <Link to={addressOf(one)}>{words[one.kind]}</Link>
            </h2>
            <p className="facts">
              {!one.read && one.waiting && <span className="state tone-busy">unread</span>}
              {!one.waiting && <span className="state tone-good">done</span>}
              <span>
                <Shown text={one.by} />, <Time at={one.at} />
              </span>
            </p>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The page of the thing; questions are answered in the inbox. */
function addressOf({ kind, subject }: Notification): string {
  const id = subject.slice(subject.indexOf(":") + 1);
  if (kind === "mentioned" || kind === "assigned") return `/topics/${id}`;
  if (kind === "proposal") return `/proposals/${id}`;
  if (kind === "gate") return `/gates/${id}`;
  if (kind === "held_files") return `/held-files/${id}`;
  return kind === "run" ? `/runs/${id}` : "/inbox";
}
