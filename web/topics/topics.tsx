import { Button } from "@mantine/core";
import { Link, useSearch } from "@tanstack/react-router";
import { boot } from "../boot.ts";
import { useOperation, useWrite } from "../client/query.ts";
import { addressOf } from "../parts/paths.ts";
import { firstWords } from "../parts/plain.ts";
import { Shown } from "../parts/shown.tsx";
import { Empty, Failed, Loading } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import { useTitle } from "../parts/title.ts";

const filters = {
  open: "Open",
  unread: "Unread",
  assigned: "Assigned to me",
  mine: "Mine",
  questions: "Questions",
  lost: "Lost passage",
  resolved: "Resolved",
} as const;

/** Every topic of the workspace. */
export function Topics() {
  useTitle("Topics");
  const { show = "open" } = useSearch({ strict: false }) as { show?: keyof typeof filters };
  const list = useOperation("list_topics", { status: show === "resolved" ? "resolved" : "open", limit: 100 });
  const topics = (list.data?.topics ?? []).filter(({ created_by: createdBy, kind, anchor, assignee, unread }) => {
    if (show === "unread") return unread === true;
    if (show === "assigned") return assignee === boot.person.name;
    if (show === "mine") return createdBy === boot.person.name;
    if (show === "lost") return anchor?.state === "orphaned" || anchor?.state === "needs-review";
    return show !== "questions" || kind === "question";
  });
  const markRead = useWrite("mark_read");
  const hasUnread = list.data?.topics.some(({ unread }) => unread) ?? false;
  return (
    <div className="column">
      <div className="page-head">
        <h1>Topics</h1>
        <p className="lead">Discussions about pages. Select text on any page to open one.</p>
      </div>
      <nav className="chips" aria-label="Filter">
        {Object.entries(filters).map(([name, label]) => (
          <Link
            key={name}
            to="/topics"
            search={{ show: name }}
            className="chip"
            data-on={show === name || undefined}
            activeProps={{}}
          >
            {label}
          </Link>
        ))}
      </nav>
      {hasUnread && (
        <p>
          <Button
            size="xs"
            variant="default"
            loading={markRead.isPending}
            onClick={() => markRead.mutate({ all: true })}
          >
            Mark all read
          </Button>
        </p>
      )}
      {list.error && <Failed error={list.error} again={() => void list.refetch()} />}
      {list.isPending && <Loading />}
      {list.data && topics.length === 0 && (
        <Empty title="No topics">
          <p>
            <Link to="/">Open a page</Link> and select the words that you want to discuss.
          </p>
        </Empty>
      )}
      <ul className="entries">
        {topics.map((topic) => (
          <li key={topic.id}>
            <h2>
              <Link to={addressOf(topic.source_path, boot.workspace.wiki)} search={{ topic: topic.id } as never}>
                <Shown text={firstWords(topic.opening, 120)} />
              </Link>
            </h2>
            {topic.anchor && (
              <p className="summary muted">
                <Shown text={topic.anchor.quote.slice(0, 160)} />
              </p>
            )}
            <p className="facts">
              {topic.unread && <span className="state tone-busy">unread</span>}
              <span className="mode">{topic.kind}</span>
              {topic.assignee && (
                <span>
                  assigned to <Shown text={topic.assignee} />
                </span>
              )}
              {topic.anchor && topic.anchor.state !== "anchored" && (
                <span className="state tone-off">{topic.anchor.state.replace("-", " ")}</span>
              )}
              <span>
                <Shown text={topic.source_path} />
              </span>
              <span>
                <Shown text={topic.created_by} />, <Time at={topic.created_at} />
              </span>
            </p>
          </li>
        ))}
      </ul>
    </div>
  );
}
