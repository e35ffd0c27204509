import { useParams } from "@tanstack/react-router";
import type { Output } from "../client/call.ts";
import { useWrite } from "../client/query.ts";
import { Shown } from "../parts/shown.tsx";
import { DecisionCard } from "./decision-card.tsx";
import { andResume, DecisionPage, TaskOfRun, useDecision, useWaiting } from "./decision-page.tsx";
import { hiddenIn, hiddenInPatch } from "./hidden.ts";
import { PatchedFiles } from "./patched-files.tsx";

type Held = Output<"show_held_files">;

/** Files of a task that instruct agents or run programs unasked: their change, and the decision about it. */
export function HeldFilesPage() {
  const { id = "" } = useParams({ strict: false });
  const found = useWaiting("show_held_files", { task: id });
  return (
    <DecisionPage
      title={found.data ? `Files of task ${found.data.number}` : "Held files"}
      found={found}
      about={({ task, run, title }) => (
        <p className="lead">
          <TaskOfRun task={task} title={title} run={run} /> waits for your decision: these files instruct agents or run
          programs unasked.
        </p>
      )}
    >
      {(held) => <Whole key={held.hash} held={held} />}
    </DecisionPage>
  );
}

function Whole({ held }: { held: Held }) {
  const about = (path: string) =>
    held.files
      .filter((file) => file.path === path)
      .map(({ status, why }) => (
        <p key={why} className="facts">
          <span className="state">{status}</span>
          <span>
            It <Shown text={why} />.
          </span>
        </p>
      ));
  return (
    <>
      <PatchedFiles
        diff={held.diff}
        truncated={held.truncated}
        paths={held.files.map(({ path }) => path)}
        about={about}
      />
      <Decide held={held} />
    </>
  );
}

function Decide({ held: { task, hash, title, files, diff } }: { held: Held }) {
  const { note, decided } = useDecision(`held files ${task}`);
  const done = (what: string) => (of: { state: string }) => decided(andResume(what, of));
  const allow = useWrite("allow_files", { onDone: done("Files allowed") });
  const refuse = useWrite("refuse_files", { onDone: done("Files refused") });
  const when = !allow.isPending && !refuse.isPending;
  return (
    <DecisionCard
      label="Reason"
      note={note}
      hidden={[
        ...hiddenIn([["title", title], ...files.map(({ path }) => ["name of a file", path] as const)]),
        ...hiddenInPatch(diff),
      ]}
      description="For the next worker, if you refuse"
      accept={{
        ...{ id: "allow-files", label: "Allow files", operation: "allow_files", when },
        run: () => allow.mutate({ task, hash }),
      }}
      decline={{
        ...{ id: "refuse-files", label: "Refuse files", operation: "refuse_files", when },
        run: (note) => refuse.mutate({ task, hash, ...(note ? { note } : {}) }),
      }}
    />
  );
}
