import { useMutation } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { stateWords } from "../../src/tasks/state-words.ts";
import { call, type Output } from "../client/call.ts";
import { useOperation, useWrite } from "../client/query.ts";
import { Ban, Play } from "../parts/icons.tsx";
import { later } from "../parts/later.tsx";
import { Markdown } from "../parts/markdown.tsx";
import { Shown } from "../parts/shown.tsx";
import { Failed, Loading } from "../parts/state.tsx";
import { bytes, duration, Time } from "../parts/time.tsx";
import { useTitle } from "../parts/title.ts";
import { say } from "../parts/toast.tsx";
import { ActionButton } from "../shell/action-button.tsx";
import { type Action, useActions } from "../shell/actions.ts";
import { toneOf } from "../tasks/states.ts";
import { Failures } from "./failures.tsx";
import { Questions } from "./questions.tsx";
import { isShort, Resume } from "./resume.tsx";
import { type Tab, tabs } from "./tabs.ts";
import { runTone } from "./tones.ts";

const TaskGraph = later(() => import("./task-graph.tsx").then(({ TaskGraph }) => TaskGraph));
const Plan = later(() => import("./plan.tsx").then(({ Plan }) => Plan));
const Figures = later(() => import("./figures.tsx").then(({ Figures }) => Figures));

export type Run = Output<"show_run">;

/** One run: its tasks as they go, its plan, its report and its figures. */
export function RunPage() {
  const { id = "" } = useParams({ strict: false });
  const { tab = "graph" } = useSearch({ strict: false }) as { tab?: Tab };
  const navigate = useNavigate();
  const found = useOperation("show_run", { id });
  const run = found.data;
  useTitle(run?.title ?? "Run");
  const execute = useWrite("execute_run", { onDone: () => say("Run started") });
  const cancel = useWrite("cancel_run", {
    onDone: ({ cancelled }) => say(`Run cancelled (${cancelled} tasks)`),
  });
  const retry = useMutation({
    async mutationFn() {
      for (const task of run?.failures ?? []) await call("update_todo", { id: task.id, status: "reopened" });
      await execute.mutateAsync({ id });
    },
    onSettled: () => void found.refetch(),
  });
  const actions: Record<"execute" | "retry" | "cancel", Action> = {
    retry: {
      id: "run-retry",
      label: "Retry failed tasks",
      group: "Run",
      operation: "execute_run",
      when: run?.state === "failed" && run.failures.length > 0 && !retry.isPending,
      run: () => retry.mutate(),
    },
    execute: {
      id: "run-execute",
      label: run?.state === "planned" ? "Run" : "Resume",
      group: "Run",
      keys: "r r",
      operation: "execute_run",
      when:
        (run?.state === "planned" || isReopened(run) || (run?.state === "stopped" && !isShort(run))) &&
        !execute.isPending,
      run: () => execute.mutate({ id }),
    },
    cancel: {
      id: "run-cancel",
      label: "Cancel run",
      group: "Run",
      operation: "cancel_run",
      when: run !== undefined && ["planning", "planned", "running", "stopped"].includes(run.state),
      run: () => cancel.mutate({ id }),
    },
  };
  useActions([
    ...Object.values(actions),
    ...(Object.keys(tabs) as Tab[]).map(
      (name, at): Action => ({
        id: `run-tab-${name}`,
        label: `Show ${tabs[name].toLowerCase()}`,
        group: "Run",
        keys: String(at + 1),
        run: () => void navigate({ to: ".", search: { tab: name } as never }),
      }),
    ),
  ]);
  if (!run) {
    return (
      <div className="column">
        <h1>Run</h1>
        {found.error ? <Failed error={found.error} again={() => void found.refetch()} /> : <Loading />}
      </div>
    );
  }
  return (
    <div className="page run-page" data-tab={tab}>
      <header className="page-top">
        <nav className="crumbs" aria-label="Breadcrumbs">
          <ol>
            <li>
              <Link to="/runs">Runs</Link>
            </li>
            <li aria-current="page">{run.id}</li>
          </ol>
        </nav>
        <div className="page-title">
          <h1 className="entry-title">
            <Shown text={run.title} />
          </h1>
          <div className="page-actions">
            {(run.state === "planned" || isReopened(run)) && (
              <ActionButton action={actions.execute} icon={<Play size={14} />} size="xs" busy={execute.isPending} />
            )}
            {run.state === "failed" && run.failures.length > 0 && (
              <ActionButton action={actions.retry} icon={<Play size={14} />} size="xs" busy={retry.isPending} />
            )}
            {actions.cancel.when && (
              <ActionButton
                action={actions.cancel}
                icon={<Ban size={14} />}
                size="xs"
                variant="default"
                busy={cancel.isPending}
              />
            )}
          </div>
        </div>
        <Facts run={run} />
        <Setups run={run} />
        {run.reason && run.state !== "stopped" && (
          <p className="note">
            <Shown text={run.reason} />
          </p>
        )}
        {run.state === "stopped" && <Resume run={run} />}
        <Progress run={run} />
      </header>
      <Questions run={run} />
      <Failures run={run} />
      <nav className="side-tabs" aria-label="Views">
        {(Object.keys(tabs) as Tab[]).map((name) => (
          <Link
            key={name}
            to="."
            search={{ tab: name } as never}
            aria-current={tab === name ? "page" : undefined}
            data-on={tab === name || undefined}
            activeProps={{}}
          >
            {tabs[name]}
          </Link>
        ))}
      </nav>
      {tab === "graph" && (run.tasks.length > 0 ? <TaskGraph tasks={run.tasks} /> : <Planning run={run} />)}
      {tab === "list" && <TaskList run={run} />}
      {tab === "plan" && <Plan run={run} />}
      {tab === "report" && <Report key={id} id={id} />}
      {tab === "figures" && <Figures id={id} />}
    </div>
  );
}

/** A failed run whose tasks were reopened one by one. */
const isReopened = (run: Run | undefined) =>
  run?.state === "failed" && run.tasks.length > 0 && !run.tasks.some(({ state }) => state === "failed");

function Planning({ run }: { run: Run }) {
  return (
    <div className="empty">
      <h2>{run.state === "planning" ? "The planner is working" : "No plan"}</h2>
      <p className="plain">
        <Shown text={run.request.slice(0, 2000)} />
      </p>
    </div>
  );
}

function Facts({ run }: { run: Run }) {
  const { used } = run;
  const tokens = (used.input_tokens ?? 0) + (used.output_tokens ?? 0);
  return (
    <p className="facts">
      <span className={`state tone-${runTone(run.state)}`}>{run.state}</span>
      <span>
        <Shown text={run.created_by} />, <Time at={run.created_at} />
      </span>
      <span>{used.agents} agents</span>
      {tokens > 0 && <span>{tokens.toLocaleString("en-GB")} tokens</span>}
      {used.cost_usd !== null && <span>${used.cost_usd.toFixed(2)}</span>}
      {used.tool_calls !== null && <span>{used.tool_calls} tool calls</span>}
    </p>
  );
}

/** How the dependencies were installed: the last setup of the run, and those of single tasks. */
function Setups({ run }: { run: Run }) {
  const last = run.setups.findLast(({ task }) => task === null);
  const shown = run.setups.filter((one) => one === last || one.task !== null);
  return shown.map(({ commands, origin, task, state, duration_ms, bytes: size }) => {
    const command = commands.map((words) => words.join(" ")).join("; ");
    return (
      <p className="facts" key={`${task}-${command}-${origin}-${state}`}>
        <span>
          Setup{task === null ? "" : ` of task ${task}`}:{" "}
          <code>
            <Shown text={command} />
          </code>{" "}
          from <Shown text={origin} />
        </span>
        <span>{state}</span>
        {duration_ms !== null && state !== "reused" && <span>{duration(duration_ms)}</span>}
        {size !== null && <span>{bytes(size)}</span>}
      </p>
    );
  });
}

function Progress({ run }: { run: Run }) {
  const counts = new Map<string, number>();
  for (const { state } of run.tasks) counts.set(toneOf(state), (counts.get(toneOf(state)) ?? 0) + 1);
  if (run.tasks.length === 0) return null;
  const done = counts.get("good") ?? 0;
  return (
    <div className="run-progress">
      <div className="bar-of-states" role="img" aria-label={`${done} of ${run.tasks.length} tasks accepted`}>
        {(["good", "busy", "bad", "off", "idle"] as const).map((tone) => {
          const count = counts.get(tone) ?? 0;
          return count > 0 ? <span key={tone} className={`fill-${tone}`} style={{ flexGrow: count }} /> : null;
        })}
      </div>
      <span className="muted small" role="status">
        {done} of {run.tasks.length} accepted
      </span>
    </div>
  );
}

function TaskList({ run }: { run: Run }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls sideways on a narrow screen
    <div className="table-scroll" tabIndex={0}>
      <table className="list">
        <thead>
          <tr>
            <th scope="col">No.</th>
            <th scope="col">Task</th>
            <th scope="col">State</th>
            <th scope="col" className="minor">
              Attempts
            </th>
            <th scope="col">Score</th>
            <th scope="col" className="minor">
              Holder
            </th>
          </tr>
        </thead>
        <tbody>
          {run.tasks.map((task) => (
            <tr key={task.id}>
              <td className="number">{task.number}</td>
              <th scope="row">
                <Link to={`/tasks/${task.id}`}>
                  <Shown text={task.title} />
                </Link>
              </th>
              <td>
                <span className={`state tone-${toneOf(task.state)}`}>{stateWords[task.state] ?? task.state}</span>
              </td>
              <td className="number minor">
                {task.attempts} of {task.max_retries + 1}
              </td>
              <td className="number">{task.score ?? ""}</td>
              <td className="minor">{task.holder && <Shown text={task.holder} />}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Report({ id }: { id: string }) {
  const report = useOperation("run_report", { id });
  if (report.error) return <Failed error={report.error} again={() => void report.refetch()} />;
  return (
    <div className="report">
      {report.data ? <Markdown text={report.data.content} lines={12} /> : <Loading lines={12} />}
    </div>
  );
}
