import { useParams } from "@tanstack/react-router";
import type { Output } from "../client/call.ts";
import { useWrite } from "../client/query.ts";
import { Markdown } from "../parts/markdown.tsx";
import { Shown } from "../parts/shown.tsx";
import { Time } from "../parts/time.tsx";
import { DecisionCard } from "./decision-card.tsx";
import { andResume, DecisionPage, TaskOfRun, useDecision, useWaiting } from "./decision-page.tsx";
import { hiddenIn, hiddenInPatch } from "./hidden.ts";
import { PatchedFiles } from "./patched-files.tsx";

type Gate = Output<"show_gate">;

/** The verified result of a task with a gate, or a question of a plan, and the decision about it. */
export function GatePage() {
  const { id = "" } = useParams({ strict: false });
  const found = useWaiting("show_gate", { id });
  const { data } = found;
  return (
    <DecisionPage
      title={data ? `${data.on_reject === null ? "Approve" : "Answer"} task ${data.number}` : "Approve a result"}
      found={found}
      about={({ task, title, run, on_reject }) => (
        <p className="lead">
          <TaskOfRun task={task} title={title} run={run} />{" "}
          {on_reject === null
            ? "is verified. It is merged, and tasks that depend on it start, once you approve."
            : `asks you. Tasks that depend on it start once you approve; a rejection ${on_reject === "fail" ? "fails the task" : "stops the run"}.`}
        </p>
      )}
    >
      {(gate) => <Whole key={gate.hash} gate={gate} />}
    </DecisionPage>
  );
}

function Whole({ gate }: { gate: Gate }) {
  if (gate.on_reject !== null)
    return (
      <>
        <section>
          <h2>Question</h2>
          <Markdown text={gate.requirements} lines={12} />
        </section>
        <Decide gate={gate} />
      </>
    );
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

function Decide({ gate }: { gate: Gate }) {
  const { task, hash, on_reject } = gate;
  const asks = on_reject !== null;
  const { note, decided } = useDecision(`gate ${task}`);
  const done = (what: string) => (of: { state: string }) =>
    decided(andResume(`${asks ? "Question" : "Result"} ${what}`, of));
  const approve = useWrite("approve_task", { onDone: done("approved") });
  const giveBack = useWrite("return_task", { onDone: done("returned") });
  const reject = useWrite("reject_task", { onDone: done("rejected") });
  const when = !approve.isPending && !giveBack.isPending && !reject.isPending;
  return (
    <DecisionCard
      note={note}
      hidden={[
        ...hiddenIn([
          ["title", gate.title],
          [asks ? "question" : "requirements", gate.requirements],
          ["verdict", gate.feedback],
          ["result", gate.output],
        ]),
        ...hiddenInPatch(gate.diff),
      ]}
      label={asks ? "Answer" : "Note"}
      description={
        asks
          ? "Optional; tasks that depend on this one read it when you approve"
          : "To return the result, say what must change; the next worker reads it"
      }
      accept={{
        ...{ id: "approve-task", label: "Approve", operation: "approve_task", when },
        run: (note) => approve.mutate({ id: task, hash, ...(note ? { note } : {}) }),
      }}
      decline={
        asks
          ? {
              ...{ id: "reject-task", label: "Reject", operation: "reject_task", when },
              run: (note) => reject.mutate({ id: task, hash, ...(note ? { note } : {}) }),
            }
          : {
              ...{ id: "return-task", label: "Return", operation: "return_task", when, needsNote: true },
              run: (note) => giveBack.mutate({ id: task, hash, note }),
            }
      }
    />
  );
}
