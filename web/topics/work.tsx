import { Link } from "@tanstack/react-router";
import { useOperation } from "../client/query.ts";
import { Time } from "../parts/time.tsx";
import type { Topic } from "./discussion.tsx";

/** What came of a topic: the rewrites that were proposed for it. */
export function TopicWork({ topic }: { topic: Topic }) {
  const proposals = useOperation("list_proposals", { topic: topic.id });
  const found = proposals.data?.proposals ?? [];
  return (
    <div className="work">
      {found.map((proposal) => (
        <p key={proposal.id} className="proposal-line">
          <Link to={`/proposals/${proposal.id}`}>Proposal {proposal.revisionNumber}</Link>{" "}
          <span className={`state state-${proposal.status}`}>{proposal.status}</span> <Time at={proposal.createdAt} />
        </p>
      ))}
    </div>
  );
}
