import { Button } from "@mantine/core";
import { Link, useSearch } from "@tanstack/react-router";
import { Check } from "lucide-react";
import { mayCall, type Output } from "../client/call.ts";
import { useOperation, useWrite } from "../client/query.ts";
import { Shown } from "../parts/shown.tsx";
import { Empty, Failed, Loading } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import { useTitle } from "../parts/title.ts";
import { say } from "../parts/toast.tsx";
import { Questions } from "../runs/questions.tsx";

/** Everything that waits for a person, and what was decided before. */
export function Inbox() {
  useTitle("Inbox");
  const { show } = useSearch({ strict: false }) as { show?: "decided" };
  return (
    <div className="column">
      <div className="page-head">
        <h1>Inbox</h1>
        <p className="lead">What waits for a person's decision.</p>
      </div>
      <nav className="chips" aria-label="Show">
        {([undefined, "decided"] as const).map((name) => (
          <Link
            key={name ?? ""}
            to="/inbox"
            search={{ show: name }}
            className="chip"
            data-on={show === name || undefined}
            aria-current={show === name ? "page" : undefined}
            activeProps={{}}
          >
            {name === undefined ? "Waiting" : "Decided"}
          </Link>
        ))}
      </nav>
      {show === "decided" ? <Decided /> : <Waiting />}
    </div>
  );
}

function Waiting() {
  const { data, error, refetch } = useOperation("inbox", {});
  if (error) return <Failed error={error} again={() => void refetch()} />;
  if (!data) return <Loading />;
  if (data.waiting === 0) {
    return (
      <Empty icon={<Check size={28} aria-hidden />} title="Nothing waits for you">
        <p>Rewrites of pages, new sections and questions of running work appear here.</p>
      </Empty>
    );
  }
  return (
    <>
      {data.runs.map((run) => (
        <WaitingRun key={run.id} run={run} />
      ))}
      <Proposals proposals={data.proposals} />
    </>
  );
}

function Decided() {
  const { data, error, refetch } = useOperation("list_proposals", {});
  if (error) return <Failed error={error} again={() => void refetch()} />;
  if (!data) return <Loading />;
  const decided = data.proposals.filter(({ status }) => status !== "open");
  if (decided.length > 0) return <Proposals proposals={decided} />;
  return (
    <Empty title="Nothing was decided yet">
      <p>Whatever people approve or reject is kept here, with who decided and why.</p>
    </Empty>
  );
}

function Proposals({ proposals }: { proposals: Output<"list_proposals">["proposals"] }) {
  return (
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
  );
}

type Run = Output<"inbox">["runs"][number];

function WaitingRun({ run }: { run: Run }) {
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
