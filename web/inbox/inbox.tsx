import { Link } from "@tanstack/react-router";
import { Check } from "lucide-react";
import { useState } from "react";
import { useOperation } from "../client/query.ts";
import { Shown } from "../parts/shown.tsx";
import { Empty, Failed, Loading } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import { useTitle } from "../parts/title.ts";
import { Questions } from "../runs/run.tsx";

/** Everything that waits for a person, and what was decided before. */
export function Inbox() {
  useTitle("Inbox");
  const [which, setWhich] = useState<"open" | "decided">("open");
  const all = useOperation("list_proposals", {});
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
      {all.data && proposals.length === 0 && (
        <Empty
          icon={<Check size={28} aria-hidden />}
          title={which === "open" ? "Nothing waits for you" : "Nothing was decided yet"}
        >
          <p>Rewrites of pages, new sections and questions of running work appear here.</p>
        </Empty>
      )}
      {which === "open" && <RunQuestions />}
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

/** Questions that agents of running work put to a person. */
function RunQuestions() {
  const runs = useOperation("list_runs", { limit: 20 });
  const live = (runs.data?.runs ?? []).filter(({ state }) => state === "running" || state === "stopped").slice(0, 5);
  return live.map(({ id, title }) => <QuestionsOf key={id} id={id} title={title} />);
}

function QuestionsOf({ id, title }: { id: string; title: string }) {
  const run = useOperation("show_run", { id });
  if (!run.data || run.data.questions.every(({ answer }) => answer !== null)) return null;
  return (
    <section aria-label={`Questions of ${title}`}>
      <h2 className="folder-name">
        <Link to={`/runs/${id}`}>
          <Shown text={title} />
        </Link>
      </h2>
      <Questions run={run.data} />
    </section>
  );
}
