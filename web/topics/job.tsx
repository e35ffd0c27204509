import { Button, Loader } from "@mantine/core";
import { useState } from "react";
import { useOperation, useWrite } from "../client/query.ts";
import { Destinations } from "../parts/destinations.tsx";
import { Shown } from "../parts/shown.tsx";
import { duration, Time } from "../parts/time.tsx";
import { say } from "../parts/toast.tsx";

const words = { queued: "waiting", running: "running", succeeded: "done", failed: "failed", timed_out: "timed out" };

/** An agent's job as it goes on: its state, what it prints, what it costs, and the way to stop it. */
export function JobState({ id }: { id: string }) {
  const shown = useOperation("show_job", { id });
  const [isOpen, setOpen] = useState(false);
  const cancel = useWrite("cancel_job", { onDone: () => say("Job cancelled") });
  const job = shown.data;
  if (!job) return null;
  const isLive = job.status === "queued" || job.status === "running";
  const didFail = job.status === "failed" || job.status === "timed_out";
  const tone = isLive ? "busy" : job.status === "succeeded" ? "good" : "bad";
  return (
    <div className="job">
      <p className="job-line" role="status">
        {isLive && <Loader size={14} aria-hidden />}
        <span className={`state tone-${tone}`}>agent {words[job.status]}</span>
        <span className="muted">
          {job.completed_at ? <Time at={job.completed_at} /> : <Time at={job.created_at} />}
          {job.duration_ms !== null && `, ${duration(job.duration_ms)}`}
          {job.cost_usd !== null && `, $${job.cost_usd.toFixed(3)}`}
          {job.usage.output_tokens !== null && `, ${job.usage.output_tokens.toLocaleString("en-GB")} output tokens`}
        </span>
      </p>
      {job.message && !isLive && job.status !== "succeeded" && (
        <p className="job-message">
          <Shown text={job.message} />
        </p>
      )}
      {job.error_tail && didFail && !isOpen && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and keys must be able to do that
        <pre className="job-log" tabIndex={0}>
          <Shown text={job.error_tail.trim()} />
        </pre>
      )}
      <Destinations of={job.destinations} />
      <div className="row-of-buttons">
        {isLive && (
          <Button size="compact-xs" variant="default" loading={cancel.isPending} onClick={() => cancel.mutate({ id })}>
            Cancel job
          </Button>
        )}
        <button type="button" className="link-button small" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? "Hide log" : "Show log"}
        </button>
      </div>
      {isOpen && <Log id={id} isLive={isLive} tail={job.error_tail} />}
    </div>
  );
}

function Log({ id, isLive, tail }: { id: string; isLive: boolean; tail: string | null }) {
  const log = useOperation("job_log", { id }, { everyMs: isLive ? 1500 : false });
  const text = [log.data?.text, tail].filter(Boolean).join("\n");
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and keys must be able to do that
    <pre className="job-log" tabIndex={0}>
      <Shown text={text.trim() || "No output yet."} />
    </pre>
  );
}
