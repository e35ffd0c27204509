import { useDebouncedValue } from "@mantine/hooks";
import { Link, useSearch } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState } from "react";
import { mayCall, type Output, type Refusal } from "../client/call.ts";
import { useOperation, useWrite } from "../client/query.ts";
import { type Clash, Conflict } from "../entries/conflict.tsx";
import { CodeEditor } from "../parts/code-editor.tsx";
import { later } from "../parts/later.tsx";
import { Shown } from "../parts/shown.tsx";
import { Failed, Loading } from "../parts/state.tsx";
import { countOf } from "../parts/time.tsx";
import { say } from "../parts/toast.tsx";
import { ActionButton } from "../shell/action-button.tsx";
import { type Action, useActions } from "../shell/actions.ts";
import { dropPlanDraft, keepPlanDraft, loadPlanDraft, type PlanDraft } from "./plan-draft.ts";
import type { Run } from "./run.tsx";

const TaskGraph = later(() => import("./task-graph.tsx").then(({ TaskGraph }) => TaskGraph));

const PlanVersions = later(() => import("./plan-versions.tsx").then(({ PlanVersions }) => PlanVersions));

/** The plan as text, to be changed before it starts, with its graph beside it. */
export function Plan({ run }: { run: Run }) {
  const plan = useOperation("show_plan", { id: run.id }, { enabled: run.tasks.length > 0 });
  const { versions, against } = useSearch({ strict: false }) as { versions?: number | true; against?: number };
  if (run.tasks.length === 0) return <p className="note">No plan yet.</p>;
  if (plan.error) return <Failed error={plan.error} again={() => void plan.refetch()} />;
  if (!plan.data) return <Loading lines={12} />;
  if (versions !== undefined)
    return (
      <div className="plan">
        <p>
          <Link to="." search={{ tab: "plan" } as never} activeProps={{}}>
            Back to the plan
          </Link>
        </p>
        <PlanVersions
          run={run.id}
          chosen={versions === true ? undefined : versions}
          against={against}
          editable={plan.data.editable}
        />
      </div>
    );
  if (plan.data.editable && mayCall("save_plan")) return <PlanEditor key={run.id} run={run} latest={plan.data} />;
  return (
    <div className="plan">
      {!plan.data.editable && <p className="note">The plan is read-only: the run is {run.state}.</p>}
      <div className="editor-panes">
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and keys must be able to do that */}
        <pre className="plan-text" tabIndex={0}>
          {plan.data.content}
        </pre>
        <TaskGraph tasks={run.tasks} />
      </div>
      <p>
        <VersionsLink />
      </p>
    </div>
  );
}

const VersionsLink = () => (
  <Link to="." search={{ tab: "plan", versions: true } as never} activeProps={{}}>
    Versions
  </Link>
);

type Latest = Output<"show_plan">;
type PlanClash = Clash & { hash: string };

const fresh = ({ content, text_hash: hash }: Latest): PlanDraft => ({ text: content, base: content, hash });

/** Edits are kept in the browser until they are saved over the text that they began from, or not at all. */
function PlanEditor({ run: { id, tasks }, latest }: { run: Run; latest: Latest }) {
  const [begun, setBegun] = useState<PlanDraft>(() => loadPlanDraft(id) ?? fresh(latest));
  const [text, setText] = useState(begun.text);
  // The editor keeps its own text: another number makes it begin again, with `begun`.
  const [edition, setEdition] = useState(0);
  const [clash, setClash] = useState<PlanClash>();
  // The hash that one's own save replaced: the query has it until it is read again.
  const [replaced, setReplaced] = useState("");
  const [trouble, setTrouble] = useState<string>();
  const current = useRef(text);
  current.current = text;
  const isChanged = text !== begun.base;
  const begin = (draft: PlanDraft) => {
    setBegun(draft);
    setText(draft.text);
    setEdition((number) => number + 1);
  };

  const save = useWrite("save_plan", {
    onDone({ content, text_hash: hash, tasks }, sent) {
      setTrouble(undefined);
      setClash(undefined);
      setReplaced(latest.text_hash);
      // What was typed while it was being saved stays, as an edit of the saved text.
      const wasTyping = clash === undefined && current.current !== sent.content;
      if (wasTyping || (clash === undefined && content === sent.content))
        setBegun({ text: current.current, base: content, hash });
      else begin({ text: content, base: content, hash });
      say(`Plan saved (${countOf(tasks.length, "task", "tasks")})`);
    },
    onRefused(refusal) {
      const theirs = clashOf(refusal);
      if (theirs === undefined) setTrouble(refusal.message);
      else setClash({ base: begun.base, mine: clash ? clash.mine : current.current, version: 0, ...theirs });
      return true;
    },
  });

  const isOutdated = latest.text_hash !== begun.hash && latest.text_hash !== replaced;
  useEffect(() => {
    if (isChanged) keepPlanDraft(id, { ...begun, text });
    else dropPlanDraft(id);
  }, [id, begun, text, isChanged]);
  useEffect(() => {
    // Somebody saved another plan. Without edits of one's own there is nothing to decide, and edits without a draft
    // were saved or discarded elsewhere: in the dialog that starts the run, or in another tab.
    const isMine = isChanged && latest.content !== text && loadPlanDraft(id) !== undefined;
    if (isOutdated && !isMine && !save.isPending) {
      setBegun(fresh(latest));
      setText(latest.content);
      setEdition((number) => number + 1);
    }
  }, [id, text, isOutdated, isChanged, save.isPending, latest]);

  const { problems, typed } = useChecked(id, text, isChanged && !clash);
  const drawn = useMemo(() => (typed ? tasksOf(typed, tasks) : tasks), [typed, tasks]);
  const action: Action = {
    id: "plan-save",
    label: "Save plan",
    group: "Run",
    keys: "mod+s",
    operation: "save_plan",
    when: isChanged && !save.isPending && !clash,
    run: () => save.mutate({ id, content: current.current, base_hash: begun.hash }),
  };
  useActions([action]);

  if (clash) {
    return (
      <Conflict
        key={clash.hash}
        clash={clash}
        name="their plan"
        trouble={trouble}
        busy={save.isPending}
        onSave={(content) => save.mutate({ id, content, base_hash: clash.hash })}
        onText={(mine) => {
          keepPlanDraft(id, { ...begun, text: mine });
          setClash((was) => was && { ...was, mine });
        }}
      />
    );
  }
  return (
    <div className="plan">
      {isOutdated && isChanged && (
        <p className="note" role="status">
          Someone saved another plan while you were editing. Saving shows both texts.
        </p>
      )}
      {begun.text !== begun.base && (
        <p className="note">
          These are your unsaved edits.{" "}
          <button
            type="button"
            className="link-button"
            onClick={() => {
              dropPlanDraft(id);
              begin(fresh(latest));
            }}
          >
            Discard edits
          </button>
        </p>
      )}
      {trouble && (
        <p className="note bad plain" role="alert">
          <Shown text={trouble} />
        </p>
      )}
      <div className="editor-panes">
        <CodeEditor
          key={edition}
          value={begun.text}
          onChange={setText}
          label="The plan"
          onSave={() => action.when && action.run()}
        />
        <TaskGraph tasks={drawn} />
      </div>
      {problems.length > 0 && (
        <div className="note bad" role="status">
          <p>{countOf(problems.length, "error", "errors")} in the plan:</p>
          <ul>
            {problems.slice(0, 20).map(({ line, message }) => (
              <li key={`${line} ${message}`}>
                line {line}: <Shown text={message} />
              </li>
            ))}
          </ul>
        </div>
      )}
      <div className="editor-foot">
        <ActionButton action={action} busy={save.isPending} />
        <VersionsLink />
        <span className="hint">
          {latest.file}. {isChanged && "Your edits are kept in this browser until you save."}
        </span>
      </div>
    </div>
  );
}

/** The other text and its hash, if the refusal says that somebody else saved first. */
function clashOf({ status, details }: Refusal): { theirs: string; hash: string } | undefined {
  const { latestContent: theirs, text_hash: hash } = details;
  return status === 409 && typeof theirs === "string" && typeof hash === "string" ? { theirs, hash } : undefined;
}

const checkAfterMs = 400;

type Checked = Output<"check_plan">;

/** The errors of the text by line, and the tasks of its last valid version, shortly after the last key. */
function useChecked(id: string, text: string, isOn: boolean) {
  const [content] = useDebouncedValue(text, checkAfterMs);
  const { data } = useOperation("check_plan", { id, content }, { enabled: isOn && content !== "", keep: true });
  const [typed, setTyped] = useState<Checked["tasks"]>();
  if (data && data.tasks.length > 0 && data.tasks !== typed) setTyped(data.tasks);
  return isOn ? { problems: data?.problems ?? [], typed } : { problems: [], typed: undefined };
}

/** The typed tasks as the graph draws them: with the state of saved ones, and without a page for new ones. */
function tasksOf(typed: Checked["tasks"], saved: Run["tasks"]): Run["tasks"] {
  const byNumber = new Map(saved.map((task) => [task.number, task]));
  const unsaved = {
    ...{ id: "", state: "pending", attempts: 0, max_retries: 0, score: null, holder: null },
    ...{ gate: null, waits_for_approval: false, asks: false },
  };
  return typed.map((task) => ({ ...unsaved, ...byNumber.get(task.number), ...task }));
}
