import type { Output } from "../client/call.ts";
import { firstWords } from "../parts/plain.ts";
import { Shown } from "../parts/shown.tsx";
import { Time } from "../parts/time.tsx";
import { Row } from "./row.tsx";

type Waiting = Output<"inbox">;

/** Open topics that are assigned to the person, or mention them in a message that they have not read. */
export function WaitingTopics({ topics }: { topics: Waiting["topics"] }) {
  return topics.map(({ id, opening, reason, source_path: path, by, at }) => (
    <Row
      key={id}
      to={`/topics/${id}`}
      title={<Shown text={firstWords(opening, 120)} />}
      state={{ word: reason === "assigned" ? "assigned to you" : "mentions you", tone: "busy" }}
      facts={[
        <Shown key="path" text={path} />,
        <>
          <Shown text={by} />, <Time at={at} />
        </>,
      ]}
    />
  ));
}

/** The part of the inbox that is for the signed-in person. */
export function forYou(inbox: Waiting): Waiting {
  const own = new Set(inbox.for_you);
  return {
    ...inbox,
    waiting: inbox.waiting_for_you,
    proposals: inbox.proposals.filter(({ id }) => own.has(id)),
    runs: inbox.runs.filter(({ id }) => own.has(id)),
    plan_changes: inbox.plan_changes.filter(({ id }) => own.has(id)),
    files: inbox.files.filter(({ task }) => own.has(task)),
    gates: inbox.gates.filter(({ task }) => own.has(task)),
    settings: inbox.settings.filter(({ name }) => own.has(name)),
    recheck: inbox.recheck.filter(({ source_path: path }) => own.has(`recheck:${path}`)),
  };
}
