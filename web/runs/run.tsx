import { Button } from "@mantine/core";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import type { Output } from "../client/call.ts";
import { useOperation } from "../client/query.ts";
import { Questions } from "../inbox/questions.tsx";
import { Ban, Check, GitFork, Pause, Pencil, Play, RotateCcw } from "../parts/icons.tsx";
import { later } from "../parts/later.tsx";
import { Markdown } from "../parts/markdown.tsx";
import { withoutCommands } from "../parts/plain.ts";
import { Shown } from "../parts/shown.tsx";
import { Failed, Loading } from "../parts/state.tsx";
import { useTitle } from "../parts/title.ts";
import { ActionButton } from "../shell/action-button.tsx";
import { type Action, useActions } from "../shell/actions.ts";
import { Approvals, Facts, Progress, Setups } from "./facts.tsx";
import { Failures } from "./failures.tsx";
import { Resume } from "./resume.tsx";
import { canMerge, canReplan, hasNoPlan, isReopened, type RunDialogName, useRunActions } from "./run-actions.ts";
import { RunDialog } from "./run-dialog.tsx";
import { type Tab, tabs } from "./tabs.ts";
import { TaskList } from "./task-list.tsx";

const TaskGraph = later(() => import("./task-graph.tsx").then(({ TaskGraph }) => TaskGraph));
const ActivityStrip = later(() => import("../activity/strip.tsx").then(({ ActivityStrip }) => ActivityStrip));
const Plan = later(() => import("./plan.tsx").then(({ Plan }) => Plan));
const Figures = later(() => import("./figures.tsx").then(({ Figures }) => Figures));

const CancelDialog = later(() => import("./cancel.tsx").then(({ CancelDialog }) => CancelDialog));
const MergeDialog = later(() => import("./merge.tsx").then(({ MergeDialog }) => MergeDialog));
const PullRequestDialog = later(() => import("./pull-request.tsx").then(({ PullRequestDialog }) => PullRequestDialog));
const RevertDialog = later(() => import("./revert.tsx").then(({ RevertDialog }) => RevertDialog));
const Timeline = later(() => import("./timeline.tsx").then(({ Timeline }) => Timeline));
const Transcript = later(() => import("./transcript.tsx").then(({ Transcript }) => Transcript));

export type Run = Output<"show_run">;

/** One run: its tasks as they go, its plan, its report and its figures. */
export function RunPage() {
  const { id = "" } = useParams({ strict: false });
  const { tab = "graph" } = useSearch({ strict: false }) as { tab?: Tab };
  const navigate = useNavigate();
  const found = useOperation("show_run", { id });
  const run = found.data;
  useTitle(run?.title ?? "Run");
  const [dialog, setDialog] = useState<RunDialogName>();
  const close = () => setDialog(undefined);
  const { actions, busy } = useRunActions(id, run, setDialog);
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
  const planChange = run.plan_change?.state === "open" ? run.plan_change.id : undefined;
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
              <ActionButton action={actions.execute} icon={<Play size={14} />} size="xs" />
            )}
            {planChange !== undefined && (
              <Button component={Link} to={`/plan-changes/${planChange}`} size="xs">
                Review plan change
              </Button>
            )}
            {run.state === "failed" && run.failures.length > 0 && (
              <ActionButton
                action={actions.retry}
                icon={<Play size={14} />}
                size="xs"
                // A retry repeats the plan that failed.
                variant={planChange === undefined ? "filled" : "default"}
                busy={busy.retry}
              />
            )}
            {hasNoPlan(run) && (
              <ActionButton action={actions.planAgain} icon={<Play size={14} />} size="xs" busy={busy.planAgain} />
            )}
            {run.state === "running" && (
              <ActionButton
                action={actions.pause}
                icon={<Pause size={14} />}
                size="xs"
                variant="default"
                busy={busy.pause}
              />
            )}
            {canReplan(run) && (
              <ActionButton
                action={actions.replan}
                icon={<Pencil size={14} />}
                size="xs"
                variant="default"
                busy={busy.replan}
              />
            )}
            {canMerge(run) && (
              <ActionButton
                action={actions.merge}
                icon={<Check size={14} />}
                size="xs"
                variant={run.state === "completed" ? "filled" : "default"}
              />
            )}
            {canMerge(run) && (
              <ActionButton action={actions.pullRequest} icon={<GitFork size={14} />} size="xs" variant="default" />
            )}
            {actions.revert.when && (
              <ActionButton action={actions.revert} icon={<RotateCcw size={14} />} size="xs" variant="default" />
            )}
            {actions.cancel.when && (
              <ActionButton action={actions.cancel} icon={<Ban size={14} />} size="xs" variant="default" />
            )}
          </div>
        </div>
        <Facts run={run} />
        <Setups run={run} />
        {run.reason && run.state !== "stopped" && (
          <p className="note">
            <Shown text={withoutCommands(run.reason)} />
          </p>
        )}
        {run.plan_change && planChange === undefined && <p className="note">The planner is writing a plan change.</p>}
        {run.state === "stopped" && <Resume run={run} />}
        <Progress run={run} />
      </header>
      <Approvals run={run} />
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
      {tab === "transcript" && <Transcript run={id} />}
      {tab === "timeline" && <Timeline run={run} />}
      {tab === "activity" && <ActivityStrip run={id} limit={50} />}
      {tab === "report" && <Report key={id} id={id} />}
      {tab === "figures" && <Figures id={id} />}
      {dialog === "pullRequest" && <PullRequestDialog run={id} onClose={close} />}
      {dialog === "revert" && <RevertDialog run={id} onClose={close} />}
      {dialog === "merge" && <MergeDialog run={id} onClose={close} />}
      {dialog === "cancel" && <CancelDialog run={run} onClose={close} />}
      {dialog === "start" && <RunDialog run={id} isResumed={run.state !== "planned"} onClose={close} />}
    </div>
  );
}

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

function Report({ id }: { id: string }) {
  const report = useOperation("run_report", { id });
  if (report.error) return <Failed error={report.error} again={() => void report.refetch()} />;
  return (
    <div className="report">
      {report.data ? (
        <Markdown text={report.data.content} lines={12} path={`runs/${id}/report.md`} />
      ) : (
        <Loading lines={12} />
      )}
    </div>
  );
}
