import { Link, useNavigate, useParams } from "@tanstack/react-router";
import type { Output } from "../client/call.ts";
import { useOperation, useWrite } from "../client/query.ts";
import { Markdown } from "../parts/markdown.tsx";
import { Shown } from "../parts/shown.tsx";
import { Failed, Loading } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import { useTitle } from "../parts/title.ts";
import { say } from "../parts/toast.tsx";
import { DecisionCard, PatchedFiles } from "./decision-card.tsx";

type Gate = Output<"show_gate">;

/** The verified result of a task with a gate, and the decision about it. */
export function GatePage() {
  const { id = "" } = useParams({ strict: false });
  const { data, error, refetch } = useOperation("show_gate", { id });
  const title = data ? `Approve task ${data.number}` : "Approve a result";
  useTitle(title);
  return (
    <div className="column wide">
      <div className="page-head">
        <h1>{title}</h1>
        {data && (
          <p className="lead">
            <Link to={`/tasks/${data.task}`}>
              <Shown text={data.title} />
            </Link>{" "}
            of <Link to={`/runs/${data.run}`}>{data.run}</Link> is verified. It is merged, and tasks that depend on it
            start, once you approve.
          </p>
        )}
      </div>
      {error && <Failed error={error} again={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data && <Whole key={data.hash} gate={data} />}
    </div>
  );
}

function Whole({ gate }: { gate: Gate }) {
  return (
    <>
      <section>
        <h2>Requirements</h2>
        <p className="plain">
          <Shown text={gate.requirements} />
        </p>
      </section>
      <section>
        <h2>Verdict</h2>
        <p className="facts">
          {gate.score !== null && <span className="state tone-good">PASS {gate.score}</span>}
          <span>
            <Time at={gate.held_at} />
          </span>
        </p>
        <p>
          <Shown text={gate.feedback} />
        </p>
      </section>
      <section>
        <h2>Result</h2>
        <Markdown text={gate.output} lines={6} />
      </section>
      <PatchedFiles diff={gate.diff} truncated={gate.truncated} />
      <Decide gate={gate} />
    </>
  );
}

function Decide({ gate: { task, hash } }: { gate: Gate }) {
  const navigate = useNavigate();
  const done =
    (what: string) =>
    ({ state }: { state: string }) => {
      say(`Result ${what}${state === "running" ? "" : "; resume the run in the inbox"}`);
      void navigate({ to: "/inbox", search: {} as never });
    };
  const approve = useWrite("approve_task", { onDone: done("approved") });
  const giveBack = useWrite("return_task", { onDone: done("returned") });
  const when = !approve.isPending && !giveBack.isPending;
  return (
    <DecisionCard
      label="Note"
      description="To return the result, say what must change; the next worker reads it"
      accept={{
        ...{ id: "approve-task", label: "Approve", operation: "approve_task", when },
        run: (note) => approve.mutate({ id: task, hash, ...(note ? { note } : {}) }),
      }}
      decline={{
        ...{ id: "return-task", label: "Return", operation: "return_task", when, needsNote: true },
        run: (note) => giveBack.mutate({ id: task, hash, note }),
      }}
    />
  );
}
