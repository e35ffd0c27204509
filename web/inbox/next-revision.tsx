import { Link, useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import { mayCall } from "../client/call.ts";
import { useOperation } from "../client/query.ts";
import { say } from "../parts/toast.tsx";
import { JobState } from "../topics/job.tsx";
import { JobTranscript } from "./job-transcript.tsx";
import type { Proposal } from "./proposal.tsx";

/** The job that revises a returned proposal, and then its revision. `follow`: this person waits for it here. */
export function NextRevision({ proposal, follow }: { proposal: Proposal; follow: boolean }) {
  const { id, topic_id: topic, subject, revision_number: revision, job_id: own, created_at: since } = proposal;
  const isPage = proposal.kind === "page" && topic !== null;
  const found = useOperation("list_proposals", { topic_id: topic ?? "" }, { enabled: isPage });
  const jobs = useOperation(
    "list_jobs",
    { source_path: subject, limit: 20 },
    { enabled: isPage && mayCall("list_jobs") },
  );
  const navigate = useNavigate();
  const newest = found.data?.proposals.find((other) => (other.revision_number ?? 0) > (revision ?? 0));
  const job = jobs.data?.jobs.find((one) => one.topic_id === topic && one.id !== own && one.created_at > since);
  const next = newest?.id;
  useEffect(() => {
    if (!follow || next === undefined || next === id) return;
    say(`Revision ${newest?.revision_number} is here`);
    void navigate({ to: `/proposals/${next}` });
  }, [follow, next, id, navigate, newest?.revision_number]);
  if (!isPage) return null;
  if (newest) {
    return (
      <p className="note" role="status">
        <Link to={`/proposals/${newest.id}`}>Revision {newest.revision_number}</Link> replaced this one.
      </p>
    );
  }
  if (!job) return null;
  return (
    <section aria-label="The next revision">
      <JobState id={job.id} />
      {mayCall("job_transcript") && <JobTranscript id={job.id} />}
    </section>
  );
}
