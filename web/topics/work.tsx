import { Link } from "@tanstack/react-router";
import { mayCall } from "../client/call.ts";
import { useOperation, useWrite } from "../client/query.ts";
import { Bot } from "../parts/icons.tsx";
import { Time } from "../parts/time.tsx";
import { ActionButton } from "../shell/action-button.tsx";
import { type Action, useActions } from "../shell/actions.ts";
import { AgentSetupLink } from "./agent-setup-link.tsx";
import type { Topic } from "./discussion.tsx";
import { JobState } from "./job.tsx";

/** The jobs and proposals of a topic. */
export function TopicWork({ topic }: { topic: Topic }) {
  const proposals = useOperation("list_proposals", { topic_id: topic.id });
  const jobs = useOperation(
    "list_jobs",
    { source_path: topic.source_path, limit: 20 },
    { enabled: mayCall("list_jobs") },
  );
  const start = useWrite("start_job");
  const own = (jobs.data?.jobs ?? []).filter((job) => job.topic_id === topic.id);
  const [latest] = own;
  const isBusy = latest?.status === "queued" || latest?.status === "running";
  const didFail = latest?.status === "failed" || latest?.status === "timed_out";
  const ask: Action = {
    id: "topic-ask",
    label: didFail ? "Try again" : "Ask agent",
    group: "Discussion",
    operation: "start_job",
    when: topic.status === "open" && !isBusy && !start.isPending,
    run: () => start.mutate({ kind: "incorporate", topic_id: topic.id, source_path: topic.source_path }),
  };
  useActions([ask]);
  const found = proposals.data?.proposals ?? [];
  return (
    <div className="work">
      {found.map((proposal) => (
        <p key={proposal.id} className="proposal-line">
          <Link to={`/proposals/${proposal.id}`}>Proposal {proposal.revision_number}</Link>{" "}
          <span className={`state state-${proposal.status}`}>{proposal.status}</span> <Time at={proposal.created_at} />
        </p>
      ))}
      {latest && <JobState id={latest.id} />}
      {topic.status === "open" && !isBusy && (
        <div>
          <ActionButton
            action={ask}
            icon={<Bot size={14} />}
            size="xs"
            variant={found.some(({ status }) => status === "open") ? "default" : "light"}
            busy={start.isPending}
          />
          {start.error && <AgentSetupLink />}
        </div>
      )}
    </div>
  );
}
