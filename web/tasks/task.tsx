import { Link, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { stateWords } from "../../src/tasks/state-words.ts";
import { useOperation, useWrite } from "../client/query.ts";
import { AgentName } from "../parts/agent-name.tsx";
import { later } from "../parts/later.tsx";
import { Shown } from "../parts/shown.tsx";
import { Failed, Loading } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import { useTitle } from "../parts/title.ts";
import { say } from "../parts/toast.tsx";
import { ActionButton } from "../shell/action-button.tsx";
import { type Action, useActions } from "../shell/actions.ts";
import { HandBack } from "./hand-back.tsx";
import { TaskRecord } from "./record.tsx";
import { toneOf } from "./states.ts";

const RerunDialog = later(() => import("./rerun.tsx").then(({ RerunDialog }) => RerunDialog));
const OverturnDialog = later(() => import("./overturn.tsx").then(({ OverturnDialog }) => OverturnDialog));

const over = new Set(["completed", "failed", "cancelled"]);

/** One task: what is to be done, who has it, and what became of it. */
export function TaskPage() {
  const { id = "" } = useParams({ strict: false });
  const found = useOperation("get_task_context", { id });
  const task = found.data;
  const mayWait = task?.run !== undefined && (task.state === "qc_passed" || task.state === "pending");
  const waiting = useOperation("inbox", {}, { enabled: mayWait }).data;
  const gate = waiting?.gates.find((one) => one.task === id);
  useTitle(task?.title ?? "Task");
  const update = useWrite("update_todo", {
    onDone: (_, { status }) =>
      say(
        status === "reopened" ? "Reopened" : "Cancelled",
        status === "cancelled" ? () => update.mutate({ id, status: "reopened" }) : undefined,
      ),
  });
  const release = useWrite("release_task", { onDone: () => say("Claim released") });
  const take = useWrite("take_task", {
    onDone: ({ folder }) =>
      say(isText ? "The task is yours; hand it back with its text" : `The task is yours; its files are in ${folder}`),
  });
  const [isOverturning, setOverturning] = useState(false);
  const [isHandingBack, setHandingBack] = useState(false);
  const [rerunFrom, setRerunFrom] = useState<string>();
  const retry = useWrite("execute_run", { onDone: () => say("Task reopened, run started") });
  const run = useOperation("show_run", { id: task?.run ?? "" }, { enabled: task?.run !== undefined }).data;
  const isText = run?.tasks.find((one) => one.id === id)?.deliverable === "text";
  const canRerun =
    (task?.state === "completed" || task?.state === "failed") &&
    run !== undefined &&
    ["stopped", "failed", "completed"].includes(run.state);
  const canRetry =
    task?.state === "failed" && run !== undefined && ["stopped", "failed", "running"].includes(run.state);
  const isTaken = task?.holder !== undefined && task.result.taken_by === task.holder;
  const actions: Record<
    "cancel" | "reopen" | "release" | "take" | "handBack" | "rerun" | "retry" | "overturn",
    Action
  > = {
    rerun: {
      id: "task-rerun",
      label: "Rerun from here",
      group: "Page",
      operation: "rerun_run",
      when: canRerun,
      run: () => setRerunFrom(id),
    },
    retry: {
      id: "task-retry",
      label: "Retry",
      group: "Page",
      operation: "execute_run",
      when: canRetry && !retry.isPending,
      run: () => retry.mutate({ id: task?.run ?? "", retry: [id] }),
    },
    take: {
      id: "task-take",
      label: "Take over",
      group: "Page",
      operation: "take_task",
      when:
        task?.run !== undefined &&
        task.state !== "completed" &&
        !isTaken &&
        !task.waits_for &&
        !gate?.on_reject &&
        !take.isPending,
      run: () => take.mutate({ id }),
    },
    handBack: {
      id: "task-hand-back",
      label: "Hand back",
      group: "Page",
      operation: "hand_back_task",
      when: isTaken,
      run: () => setHandingBack(true),
    },
    cancel: {
      id: "task-cancel",
      label: "Cancel task",
      group: "Page",
      operation: "update_todo",
      when: task !== undefined && !over.has(task.state),
      run: () => update.mutate({ id, status: "cancelled" }),
    },
    reopen: {
      id: "task-reopen",
      label: "Reopen",
      group: "Page",
      operation: "update_todo",
      when: task !== undefined && ((task.state === "failed" && !canRetry) || task.state === "cancelled"),
      run: () => update.mutate({ id, status: "reopened" }),
    },
    overturn: {
      id: "task-overturn",
      label: "Overturn",
      group: "Page",
      operation: "overturn_task",
      when: task?.state === "completed",
      run: () => setOverturning(true),
    },
    release: {
      id: "task-release",
      label: "Release claim",
      group: "Page",
      operation: "release_task",
      when: task?.holder !== undefined,
      run: () => release.mutate({ id }),
    },
  };
  useActions(Object.values(actions));
  if (found.error) {
    return (
      <div className="column">
        <h1>Task</h1>
        <Failed error={found.error} again={() => void found.refetch()} />
      </div>
    );
  }
  if (!task) {
    return (
      <div className="column">
        <Loading />
      </div>
    );
  }
  return (
    <div className="column wide">
      <nav className="crumbs" aria-label="Breadcrumbs">
        <ol>
          <li>{task.run ? <Link to="/runs">Runs</Link> : <Link to="/tasks">Tasks</Link>}</li>
          {task.run && (
            <li>
              <Link to={`/runs/${task.run}`}>{task.run}</Link>
            </li>
          )}
          <li aria-current="page">{task.id}</li>
        </ol>
      </nav>
      <div className="page-head with-actions">
        <div>
          <h1>
            <Shown text={task.title} />
          </h1>
          <p className="facts">
            <span className={`state tone-${toneOf(task.state)}`}>{stateWords[task.state]}</span>
            {task.attempt ? <span>attempt {task.attempt}</span> : null}
            {task.holder && (
              <span>
                held by <AgentName of={task.holder} />
                {task.held_until && (
                  <>
                    {" "}
                    until <Time at={task.held_until} />
                  </>
                )}
              </span>
            )}
            <span>priority {task.priority}</span>
          </p>
        </div>
        <div className="row-of-buttons">
          {actions.handBack.when && <ActionButton action={actions.handBack} />}
          {canRetry && <ActionButton action={actions.retry} busy={retry.isPending} />}
          {actions.reopen.when && <ActionButton action={actions.reopen} />}
          {actions.rerun.when && <ActionButton action={actions.rerun} variant="default" />}
          {actions.take.when && <ActionButton action={actions.take} variant="default" />}
          {actions.release.when && <ActionButton action={actions.release} variant="default" />}
          {actions.overturn.when && <ActionButton action={actions.overturn} variant="default" />}
          {actions.cancel.when && <ActionButton action={actions.cancel} variant="default" />}
        </div>
      </div>
      {isOverturning && <OverturnDialog id={id} run={task.run} onClose={() => setOverturning(false)} />}
      {rerunFrom !== undefined && (
        <RerunDialog run={task.run ?? ""} from={rerunFrom} onClose={() => setRerunFrom(undefined)} />
      )}
      {isHandingBack && (
        <HandBack id={id} deliverable={isText ? "text" : "files"} onClose={() => setHandingBack(false)} />
      )}
      {gate && (
        <p className="note">
          {gate.on_reject === null ? "The verified result" : "The question"}{" "}
          <Link to={`/gates/${id}`}>{gate.on_reject === null ? "waits for approval" : "waits for an answer"}</Link>.
        </p>
      )}
      {task.blocked_by && task.blocked_by.length > 0 && (
        <p className="note bad">
          Blocked by{" "}
          {task.blocked_by.map((one) => (typeof one === "string" ? one : (one as { title: string }).title)).join(", ")}.
        </p>
      )}
      {!task.run && (
        <section>
          <h2>Description</h2>
          {task.description ? (
            <p className="plain">
              <Shown text={task.description} />
            </p>
          ) : (
            <p className="muted">No description.</p>
          )}
        </section>
      )}
      {task.dependencies.length > 0 && (
        <section>
          <h2>Depends on</h2>
          <ul className="links">
            {task.dependencies.map((one) => (
              <li key={one.id}>
                <Link to={`/tasks/${one.id}`}>
                  <Shown text={one.title} />
                </Link>{" "}
                <span className={`state tone-${toneOf(one.state)}`}>{stateWords[one.state]}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
      {task.run && (
        <TaskRecord
          id={id}
          state={task.state}
          onRerun={canRerun ? (attempt) => setRerunFrom(`${id}@${attempt}`) : undefined}
        />
      )}
      {!task.run && Object.keys(task.result).length > 0 && (
        <section>
          <h2>Result</h2>
          <dl className="about">
            {Object.entries(task.result).map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd className="plain">
                  <Shown text={typeof value === "string" ? value : JSON.stringify(value, null, 2)} />
                </dd>
              </div>
            ))}
          </dl>
        </section>
      )}
    </div>
  );
}
