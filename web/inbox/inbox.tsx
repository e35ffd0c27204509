import { Button, Checkbox } from "@mantine/core";
import { Link, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { spellHidden } from "../../src/kernel/hidden.ts";
import { boot } from "../boot.ts";
import { mayCall, type Output } from "../client/call.ts";
import { useOperation, useWrite } from "../client/query.ts";
import { Check } from "../parts/icons.tsx";
import { addressOf } from "../parts/paths.ts";
import { firstWords } from "../parts/plain.ts";
import { Shown } from "../parts/shown.tsx";
import { Empty, Failed, Loading } from "../parts/state.tsx";
import { countOf, Time } from "../parts/time.tsx";
import { useTitle } from "../parts/title.ts";
import { say } from "../parts/toast.tsx";
import { Resume } from "../runs/resume.tsx";
import { runTone } from "../runs/tones.ts";
import { type Action, useActions } from "../shell/actions.ts";
import { TrustWord, trustStates } from "../trust/states.tsx";
import { whatToDo } from "../trust/what-to-do.ts";
import { BulkApprove } from "./bulk-approve.tsx";
import { Pending } from "./pending.tsx";
import { ProposalFacts, waited } from "./proposal-facts.tsx";
import { Questions } from "./questions.tsx";
import { fromRepository } from "./queue.ts";
import { Row } from "./row.tsx";
import { forYou, WaitingTopics } from "./waiting-topics.tsx";

export type InboxFilter = "all" | "decided";

/** Everything that waits for a person, and what was decided before. */
export function Inbox() {
  useTitle("Inbox");
  const { show } = useSearch({ strict: false }) as { show?: InboxFilter };
  const names = useOperation("list_names", {});
  const hasOthers = (names.data?.names ?? []).filter(({ assignable }) => assignable).length > 1;
  const filters: (InboxFilter | undefined)[] = [
    undefined,
    ...(hasOthers || show === "all" ? (["all"] as const) : []),
    "decided",
  ];
  return (
    <div className="column">
      <div className="page-head">
        <h1>Inbox</h1>
        <p className="lead">
          Topics for you, and proposals, questions, plan changes, results to approve, held files, stopped and failed
          runs, settings and passages that need a decision.
        </p>
      </div>
      <nav className="chips" aria-label="Show">
        {filters.map((name) => (
          <Link
            key={name ?? ""}
            to="/inbox"
            search={{ show: name }}
            className="chip"
            data-on={show === name || undefined}
            aria-current={show === name ? "page" : undefined}
            activeProps={{}}
          >
            {name === undefined ? (hasOthers ? "For me" : "Open") : name === "all" ? "All" : "Decided"}
          </Link>
        ))}
      </nav>
      {show === "decided" ? <Decided /> : <Waiting isForAll={show === "all"} />}
    </div>
  );
}

const kinds = {
  topics: "Topics",
  proposals: "Proposals",
  gates: "Results",
  files: "Files",
  plan_changes: "Plan changes",
  runs: "Runs",
  settings: "Settings",
  recheck: "Re-check",
} as const;
type Kind = keyof typeof kinds;

function Waiting({ isForAll }: { isForAll: boolean }) {
  const { data: all, error, refetch } = useOperation("inbox", {});
  const [only, setOnly] = useState<Kind>();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  useActions(rowActions);
  const failure = error && <Failed error={error} again={() => void refetch()} />;
  if (!all) return failure ?? <Loading />;
  const data = isForAll ? all : forYou(all);
  if (data.waiting + data.topics.length === 0 && all.waiting > 0) {
    return (
      <Empty icon={<Check size={28} aria-hidden />} title="Nothing waits for you">
        <p>
          <Link to="/inbox" search={{ show: "all" }}>
            {all.waiting === 1 ? "One decision waits" : `${all.waiting} decisions wait`} for others
          </Link>
        </p>
      </Empty>
    );
  }
  if (data.waiting + data.topics.length === 0) {
    return (
      <Empty icon={<Check size={28} aria-hidden />} title="Nothing to review">
        <p>
          Proposed changes to pages, new sections and questions from agents appear here.{" "}
          <Link to="/topics">Open topics</Link> to ask an agent for one.
        </p>
      </Empty>
    );
  }
  const present = (Object.keys(kinds) as Kind[]).filter((kind) => data[kind].length > 0);
  const shown = only !== undefined && present.includes(only) ? only : undefined;
  const has = (kind: Kind) => shown === undefined || shown === kind;
  const choose = (id: string, isChosen: boolean) => {
    const next = new Set(chosen);
    if (isChosen) next.add(id);
    else next.delete(id);
    setChosen(next);
  };
  const picked = data.proposals.filter(({ id }) => chosen.has(id));
  return (
    <>
      {failure}
      {present.length > 1 && (
        <nav className="chips" aria-label="Kinds">
          {[undefined, ...present].map((kind) => (
            <button
              key={kind ?? ""}
              type="button"
              className="chip"
              data-on={shown === kind || undefined}
              aria-pressed={shown === kind}
              onClick={() => setOnly(kind)}
            >
              {kind === undefined ? "All" : `${kinds[kind]} ${data[kind].length}`}
            </button>
          ))}
        </nav>
      )}
      {picked.length > 0 && <BulkApprove chosen={picked} onDone={() => setChosen(new Set())} />}
      <ul className="entries inbox-rows">
        {has("topics") && <WaitingTopics topics={data.topics} />}
        {has("settings") &&
          data.settings.map(({ name, keys, changed_at: at }) => (
            <Row
              key={name}
              to="/settings"
              title={
                <>
                  Settings of <Shown text={name} />
                </>
              }
              summary={<Shown text={keys.join(", ")} />}
              state={{ word: "not allowed", tone: "off" }}
              facts={[fromRepository, ...(at === null ? [] : [`waiting for ${waited(at)}`])]}
            />
          ))}
        {has("files") && data.files.map((held) => <HeldLine key={held.task} held={held} />)}
        {has("gates") && data.gates.map((gate) => <GateLine key={gate.task} gate={gate} />)}
        {has("plan_changes") &&
          data.plan_changes.map(({ id, title, tasks, reason, proposed_at: at }) => (
            <Row
              key={id}
              to={`/plan-changes/${id}`}
              title={
                <>
                  Plan change for task {tasks.join(", ")}: <Shown text={title} />
                </>
              }
              summary={reason && <Shown text={reason} />}
              state={{ word: "open", tone: "off" }}
              facts={["the planner", ...(at === null ? [] : [`waiting for ${waited(at)}`])]}
            />
          ))}
        {has("runs") &&
          data.runs.map((run) => (
            <WaitingRun
              key={run.id}
              run={run}
              planChange={data.plan_changes.find((change) => change.run === run.id)?.id}
            />
          ))}
        {has("proposals") &&
          data.proposals.map((proposal) => (
            <ProposalLine
              key={proposal.id}
              proposal={proposal}
              isChosen={chosen.has(proposal.id)}
              onChoose={(isChosen) => choose(proposal.id, isChosen)}
            />
          ))}
        {has("recheck") && data.recheck.map((page) => <RecheckLine key={page.source_path} page={page} />)}
      </ul>
    </>
  );
}

/** Moves the focus to the link of the next or previous row. */
function step(by: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLElement>(".inbox-rows h2 a")];
  const at = links.findIndex((link) => link.closest("li")?.contains(document.activeElement));
  links[at < 0 ? (by === 1 ? 0 : links.length - 1) : at + by]?.focus();
}

const rowActions: Action[] = [
  { id: "row-next", label: "Next row", group: "Decision", keys: "j", run: () => step(1) },
  { id: "row-previous", label: "Previous row", group: "Decision", keys: "k", run: () => step(-1) },
];

function Decided() {
  const { data, error, refetch } = useOperation("list_proposals", {});
  if (error) return <Failed error={error} again={() => void refetch()} />;
  if (!data) return <Loading />;
  const decided = data.proposals.filter(({ status }) => status !== "open");
  if (decided.length > 0) {
    return (
      <ul className="entries">
        {decided.map((proposal) => (
          <ProposalLine key={proposal.id} proposal={proposal} />
        ))}
      </ul>
    );
  }
  return (
    <Empty title="No decisions yet">
      <p>Approved and rejected proposals appear here, with the person and the note.</p>
    </Empty>
  );
}

type Proposal = Output<"list_proposals">["proposals"][number];

type LineProps = { proposal: Proposal; isChosen?: boolean; onChoose?: (isChosen: boolean) => void };

function ProposalLine({ proposal, isChosen = false, onChoose }: LineProps) {
  const { kind, subject, data, status, revision_number, proposed_by, decided_by, created_at } = proposal;
  const name = `${kind === "section" ? "New section" : "Change to"} ${subject}`;
  return (
    <li className={onChoose && mayCall("decide_proposal") ? "choosable" : undefined}>
      {onChoose && mayCall("decide_proposal") && (
        <Checkbox
          size="xs"
          aria-label={`Choose ${spellHidden(name)}`}
          checked={isChosen}
          disabled={proposal.pending !== null && proposal.pending.problem === null}
          onChange={(event) => onChoose(event.currentTarget.checked)}
        />
      )}
      <h2>
        <Link to={`/proposals/${proposal.id}`}>
          {kind === "section" ? "New section " : "Change to "}
          <Shown text={subject} />
        </Link>
      </h2>
      {typeof data.description === "string" && (
        <p className="summary">
          <Shown text={data.description} />
        </p>
      )}
      {status === "open" && <ProposalFacts id={proposal.id} since={created_at} />}
      <p className="facts">
        <span className={`state state-${status}`}>{status}</span>
        {revision_number !== null && <span>revision {revision_number}</span>}
        <span>
          <Shown text={proposed_by ?? "the agent"} />, <Time at={created_at} />
        </span>
        {decided_by && (
          <span>
            {status} by <Shown text={decided_by} />
          </span>
        )}
      </p>
      <Pending proposal={proposal} isMine={false} />
    </li>
  );
}

function HeldLine({ held }: { held: Output<"inbox">["files"][number] }) {
  return (
    <Row
      to={`/held-files/${held.task}`}
      title={
        <>
          Files of task {held.number}: <Shown text={held.title} />
        </>
      }
      summary={<Shown text={held.files.map(({ path }) => path).join(", ")} />}
      state={{ word: "held", tone: "off" }}
      facts={["the worker", `waiting for ${waited(held.held_at)}`]}
    />
  );
}

function GateLine({ gate }: { gate: Output<"inbox">["gates"][number] }) {
  const asks = gate.on_reject !== null;
  return (
    <Row
      to={`/gates/${gate.task}`}
      title={
        <>
          {asks ? "Answer" : "Approve"} task {gate.number}: <Shown text={gate.title} />
        </>
      }
      summary={
        asks
          ? "It asks you a question of the plan. Tasks that depend on it start once you approve."
          : "Its result is verified. It is merged, and tasks that depend on it start, once you approve."
      }
      state={{ word: asks ? "needs an answer" : "needs approval", tone: "off" }}
      facts={[asks ? "the plan" : "the worker", `waiting for ${waited(gate.held_at)}`]}
    />
  );
}

/** A page with passages that lost their trust. */
function RecheckLine({ page }: { page: Output<"inbox">["recheck"][number] }) {
  const { source_path: path, passage, text, state, cause, count, since } = page;
  return (
    <Row
      to={addressOf(path, boot.workspace.wiki)}
      search={{ passage }}
      title={
        <>
          Re-check <Shown text={path} />
        </>
      }
      summary={
        <>
          “<Shown text={firstWords(text, 160)} />” {cause && <Shown text={cause} />}
        </>
      }
      state={{ word: <TrustWord state={state} />, tone: trustStates[state].tone }}
      facts={[countOf(count, "passage", "passages"), `waiting for ${waited(since)}`]}
    >
      <p className="muted small">{whatToDo(state, true)}</p>
    </Row>
  );
}

type Run = Output<"inbox">["runs"][number];

type RunProps = {
  run: Run;
  /** The change of its plan that waits for a decision. */
  planChange: string | undefined;
};

function WaitingRun({ run, planChange }: RunProps) {
  return (
    <Row
      to={`/runs/${run.id}`}
      title={<Shown text={run.title} />}
      state={{ word: run.state, tone: runTone(run.state) }}
      facts={[
        <>
          started by <Shown text={run.created_by} />
        </>,
        `waiting for ${waited(run.waiting_since)}`,
      ]}
    >
      {run.state === "stopped" && <Resume run={run} />}
      {(run.state === "running" || run.state === "planning") && run.reason !== null && (
        <div className="note waiting-reason">
          <p>
            <strong>{run.stalled ? "The run is stalled:" : "The run waits:"}</strong> <Shown text={run.reason} />
          </p>
        </div>
      )}
      {run.state === "failed" && <FailedRun run={run} planChange={planChange} />}
      <Questions run={run} />
    </Row>
  );
}

/** Its page has the failures, and the buttons that retry them or edit the plan. A retry repeats the plan that failed. */
function FailedRun({ run: { id, reason }, planChange }: RunProps) {
  const close = useWrite("close_run", { onDone: () => say("Run removed from the inbox") });
  return (
    <div className="note waiting-reason">
      <p>
        <strong>The run failed{reason ? ":" : "."}</strong> {reason && <Shown text={reason} />}
      </p>
      <div className="row-of-buttons">
        {planChange === undefined ? (
          <Link to={`/runs/${id}`}>Open run to retry it</Link>
        ) : (
          <Link to={`/plan-changes/${planChange}`}>Review plan change</Link>
        )}
        {mayCall("close_run") && (
          <Button size="xs" variant="default" loading={close.isPending} onClick={() => close.mutate({ id })}>
            Dismiss
          </Button>
        )}
      </div>
    </div>
  );
}
