import { useOperation } from "../client/query.ts";
import { Shown } from "../parts/shown.tsx";
import { countOf } from "../parts/time.tsx";

/** The topic of an open proposal, the size of its change, and what stands in the way of approving it. */
export function ProposalFacts({ id, since }: { id: string; since: string }) {
  const { data } = useOperation("summarize_proposals", {});
  const found = data?.proposals.find((proposal) => proposal.id === id);
  if (!found) return null;
  const { title, topic, change } = found;
  return (
    <>
      {topic && (
        <p className="summary">
          {topic.quote && (
            <q>
              <Shown text={topic.quote} />
            </q>
          )}{" "}
          <Shown text={topic.content} />
        </p>
      )}
      <p className="facts">
        {change?.conflict && <span className="state tone-bad">conflicts with the page</span>}
        {change?.hidden && <span className="state tone-bad">hidden characters</span>}
        {title && (
          <span>
            <Shown text={title} />
          </span>
        )}
        {change && (
          <span>
            {countOf(change.added, "line", "lines")} added, {change.removed} removed
          </span>
        )}
        <span>waiting for {waited(since)}</span>
      </p>
    </>
  );
}

const minuteMs = 60_000;

export function waited(since: string): string {
  const minutes = Math.floor((Date.now() - new Date(since).getTime()) / minuteMs);
  if (minutes < 1) return "less than a minute";
  if (minutes < 60) return countOf(minutes, "minute", "minutes");
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? countOf(hours, "hour", "hours") : countOf(Math.floor(hours / 24), "day", "days");
}
