import { Button } from "@mantine/core";
import { useQueries } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Check } from "lucide-react";
import { useState } from "react";
import { mayCall, type Output } from "../client/call.ts";
import { operationQuery, useOperation, useWrite } from "../client/query.ts";
import { Shown } from "../parts/shown.tsx";
import { Empty, Failed, Loading } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import { useTitle } from "../parts/title.ts";
import { say } from "../parts/toast.tsx";
import { Questions } from "../runs/questions.tsx";

/** Everything that waits for a person, and what was decided before. */
export function Inbox() {
  useTitle("Inbox");
  const [which, setWhich] = useState<"open" | "decided">("open");
  const all = useOperation("list_proposals", {});
  const waiting = useWaitingRuns();
  const proposals = (all.data?.proposals ?? []).filter(({ status }) => (status === "open") === (which === "open"));
  return (
    <div className="column">
      <div className="page-head">
        <h1>Inbox</h1>
        <p className="lead">What waits for a person's decision.</p>
      </div>
      <fieldset className="chips" aria-label="Show">
        {(["open", "decided"] as const).map((name) => (
          <button
            key={name}
            type="button"
            className="chip"
            aria-pressed={which === name}
            data-on={which === name || undefined}
            onClick={() => setWhich(name)}
          >
            {name === "open" ? "Waiting" : "Decided"}
          </button>
        ))}
      </fieldset>
      {all.error && <Failed error={all.error} again={() => void all.refetch()} />}
      {all.isPending && <Loading />}
      {all.data && proposals.length === 0 && (which === "decided" || waiting.length === 0) && (
        <Empty
          icon={<Check size={28} aria-hidden />}
          title={which === "open" ? "Nothing waits for you" : "Nothing was decided yet"}
        >
          <p>Rewrites of pages, new sections and questions of running work appear here.</p>
        </Empty>
      )}
      {which === "open" && waiting.map((run) => <WaitingRun key={run.id} run={run} />)}
      <ul className="entries">
        {proposals.map((proposal) => (
          <li key={proposal.id}>
            <h2>
              <Link to={`/proposals/${proposal.id}`}>
                {proposal.kind === "section" ? "New section " : "Rewrite of "}
                <Shown text={proposal.subject} />
              </Link>
            </h2>
            <p className="facts">
              <span className={`state state-${proposal.status}`}>{proposal.status}</span>
              <span>
                <Shown text={proposal.proposedBy ?? "the agent"} />, <Time at={proposal.createdAt} />
              </span>
              {proposal.decidedBy && (
                <span>
                  {proposal.status} by <Shown text={proposal.decidedBy} />
                </span>
              )}
            </p>
          </li>
        ))}
      </ul>
    </div>
  );
}

type Waiting = Output<"show_run">;

/** Runs that cannot go on without a person: an agent asks something, or a limit was reached. */
function useWaitingRuns(): Waiting[] {
  const runs = useOperation("list_runs", { limit: 20 });
  const live = (runs.data?.runs ?? []).filter(({ state }) => state === "running" || state === "stopped");
  const shown = useQueries({ queries: live.slice(0, 5).map(({ id }) => operationQuery("show_run", { id })) });
  return shown
    .flatMap(({ data }) => (data ? [data as Waiting] : []))
    .filter(({ state, questions }) => state === "stopped" || questions.some(({ answer }) => answer === null));
}

function WaitingRun({ run }: { run: Waiting }) {
  const resume = useWrite("execute_run", { onDone: () => say("It is being carried out") });
  return (
    <section className="waiting-run" aria-label={`What ${run.title} waits for`}>
      <h2>
        <Link to={`/runs/${run.id}`}>
          <Shown text={run.title} />
        </Link>
      </h2>
      {run.state === "stopped" && (
        <div className="note waiting-reason">
          <p>
            <strong>The run stopped.</strong> {run.reason && <Shown text={run.reason} />}
          </p>
          {mayCall("execute_run") && (
            <Button size="xs" loading={resume.isPending} onClick={() => resume.mutate({ id: run.id })}>
              Resume
            </Button>
          )}
        </div>
      )}
      <Questions run={run} />
    </section>
  );
}
