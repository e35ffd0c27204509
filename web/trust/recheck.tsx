import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { mayCall, type Output } from "../client/call.ts";
import { useOperation, useWrite } from "../client/query.ts";
import { Bot } from "../parts/icons.tsx";
import { Shown } from "../parts/shown.tsx";
import { Time } from "../parts/time.tsx";
import { say } from "../parts/toast.tsx";
import { AgentSetupLink } from "../topics/agent-setup-link.tsx";
import { JobState } from "../topics/job.tsx";

type Found = Output<"list_rechecks">["rechecks"][number];
type Props = { path: string; passage: string; onClose(): void };

/** The job that checks the passage, and what its agent found. */
export function Recheck({ path, passage, onClose }: Props) {
  const rechecks = useOperation("list_rechecks", { id: path });
  const jobs = useOperation("list_jobs", { source_path: path, limit: 20 }, { enabled: mayCall("list_jobs") });
  const start = useWrite("recheck_passage");
  const job = jobs.data?.jobs.find((one) => one.kind === "recheck" && one.passage === passage);
  const found = rechecks.data?.rechecks.find((one) => one.passage === passage);
  const isBusy = job?.status === "queued" || job?.status === "running";
  return (
    <>
      {found && <Finding found={found} onClose={onClose} />}
      {job && job.status !== "succeeded" && <JobState id={job.id} />}
      {mayCall("recheck_passage") && !isBusy && (
        <div className="row-of-buttons">
          <Button
            size="xs"
            variant="default"
            leftSection={<Bot size={14} />}
            loading={start.isPending}
            onClick={() => start.mutate({ id: path, passage })}
          >
            Re-check
          </Button>
          <span className="muted small">An agent compares it with what it cites and with the repository.</span>
          {start.error && <AgentSetupLink />}
        </div>
      )}
    </>
  );
}

const outcomes: Record<Found["outcome"], { word: string; tone: string }> = {
  holds: { word: "holds", tone: "good" },
  wrong: { word: "wrong", tone: "bad" },
  unclear: { word: "unclear", tone: "off" },
};

function Finding({ found, onClose }: { found: Found; onClose(): void }) {
  const { id, outcome, note, evidence, topic_id: topic, at, confirmed_by: confirmedBy } = found;
  const confirm = useWrite("confirm_recheck", {
    onDone() {
      say("Passage verified");
      onClose();
    },
  });
  return (
    <section className="trust-finding" aria-label="Report of the agent">
      <p className="facts">
        <span className={`state tone-${outcomes[outcome].tone}`}>{outcomes[outcome].word}</span>
        <span>
          checked by an agent, <Time at={at} />
        </span>
      </p>
      <p className="plain">
        <Shown text={note} />
      </p>
      {evidence.length > 0 && (
        <ul className="trust-causes small">
          {evidence.map(({ ref, line, quote }) => (
            <li key={`${ref} ${line} ${quote}`}>
              <code>
                <Shown text={`${ref}:${line}`} />
              </code>{" "}
              “<Shown text={quote} />”
            </li>
          ))}
        </ul>
      )}
      {topic !== null && (
        <p>
          <Link to={`/topics/${topic}`} onClick={onClose}>
            {outcome === "wrong" ? "Topic with the corrected text" : "Topic with the question"}
          </Link>
        </p>
      )}
      {confirmedBy !== null ? (
        <p className="muted small">
          Confirmed by <Shown text={confirmedBy} />
        </p>
      ) : (
        outcome === "holds" &&
        mayCall("confirm_recheck") && (
          <Button size="xs" loading={confirm.isPending} onClick={() => confirm.mutate({ id })}>
            Confirm
          </Button>
        )
      )}
    </section>
  );
}
