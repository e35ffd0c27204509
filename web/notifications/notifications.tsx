import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useOperation, useWrite } from "../client/query.ts";
import { Bell } from "../parts/icons.tsx";
import { Empty, Failed, Loading } from "../parts/state.tsx";
import { useTitle } from "../parts/title.ts";
import { NoticeList } from "./notice.tsx";

/** What was addressed to the person or needs a decision, newest first. */
export function Notifications() {
  useTitle("Notifications");
  const found = useOperation("notifications", {});
  const markRead = useWrite("mark_read");
  const { data } = found;
  const newest = data?.notifications[0]?.id;
  return (
    <div className="column">
      <div className="page-head">
        <h1>Notifications</h1>
        <p className="lead">
          Mentions, topics assigned to you, and what needs a decision. <Link to="/profile">Profile</Link> turns on
          notifications of the browser.
        </p>
      </div>
      {found.error && <Failed error={found.error} again={() => void found.refetch()} />}
      {found.isPending && <Loading />}
      {data && newest === undefined && (
        <Empty icon={<Bell size={28} />} title="No notifications">
          <p>
            Mentions of you, topics assigned to you and decisions that wait appear here.{" "}
            <Link to="/inbox">Open the inbox</Link>
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
      {data && newest !== undefined && <NoticeList of={data.notifications} />}
    </div>
  );
}
