import { Button } from "@mantine/core";
import { Link, useSearch } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { mayCall, type Output } from "../client/call.ts";
import { useOperation } from "../client/query.ts";
import { Questions } from "../inbox/questions.tsx";
import { AgentName } from "../parts/agent-name.tsx";
import { Destinations } from "../parts/destinations.tsx";
import { later } from "../parts/later.tsx";
import { Shown } from "../parts/shown.tsx";
import { Failed, Loading } from "../parts/state.tsx";
import { bytes, countOf, duration, Time } from "../parts/time.tsx";
import { Transcript } from "../runs/transcript.tsx";
import { nameOf } from "./attempt-name.ts";
import { Failure } from "./failure.tsx";
import { Steering } from "./steer.tsx";

const Compare = later(() => import("./compare.tsx").then(({ Compare }) => Compare));
const FileDiffs = later(() => import("./file-diffs.tsx").then(({ FileDiffs }) => FileDiffs));
const Evidence = later(() => import("./evidence.tsx").then(({ Evidence }) => Evidence));

type TaskRecordData = Output<"task_record">;
type Attempt = TaskRecordData["attempts"][number];

type RecordProps = {
  id: string;
  state: string;
  /** Repeats the task from an attempt; left out while that is not possible. */
  onRerun: ((attempt: string) => void) | undefined;
};

/** All that is on record of a run's task: every attempt with its checks, verdicts and evidence. */
export function TaskRecord({ id, state, onRerun }: RecordProps) {
  const record = useOperation("task_record", { id });
  const { compare } = useSearch({ strict: false }) as { compare?: string };
  if (record.error) return <Failed error={record.error} again={() => void record.refetch()} />;
  if (!record.data) return <Loading />;
  const { attempts, contexts, calls, criteria, requirements, worker_role, qc_role, number, failure } = record.data;
  return (
    <>
      <section>
        <dl className="about roles-of-task">
          <div>
            <dt>Worker</dt>
            <dd>
              <Shown text={worker_role} />
            </dd>
          </div>
          <div>
            <dt>Verifier</dt>
            <dd>
              <Shown text={qc_role} />
            </dd>
          </div>
        </dl>
        {requirements.length > 0 && <List title="Requirements" items={requirements} />}
        {criteria.length > 0 && <List title="Verification" items={criteria} />}
      </section>
      <Questions run={{ questions: record.data.questions.map((one) => ({ ...one, task: number })) }} />
      <Steering id={id} state={state} messages={record.data.steering} />
      <Failure failure={failure} reports={record.data.reports} />
      {compare && <Compare task={id} attempts={attempts} pair={compare} />}
      <section>
        <h2>Attempts</h2>
        {attempts.length === 0 && <p className="muted">No attempts yet.</p>}
        {attempts.length > 1 && !compare && (
          <p>
            <Link to="." search={{ compare: lastTwo(attempts) } as never}>
              Compare attempts
            </Link>
          </p>
        )}
        <ol className="attempts">
          {attempts.map((attempt) => (
            <AttemptView key={attempt.epoch} run={record.data.run} task={id} attempt={attempt} onRerun={onRerun} />
          ))}
        </ol>
      </section>
      <section>
        <h2>Transcript of all attempts</h2>
        <Transcript run={record.data.run} task={id} />
      </section>
      {contexts.length > 0 && (
        <section>
          <h2>Contexts</h2>
          <ul className="contexts">
            {contexts.map((context, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: contexts are only ever added
              <li key={at}>
                <span className="mode">{context.part}</span> {context.tokens.toLocaleString("en-GB")} tokens,{" "}
                {context.runner}
                {context.model && ` ${context.model}`}
                <span className="muted">
                  {" "}
                  {context.parts.map(({ name, tokens }) => `${name} ${tokens}`).join(", ")}
                </span>
                {context.compactions.length > 0 && (
                  <span className="muted">
                    {" "}
                    compacted {countOf(context.compactions.length, "time", "times")},{" "}
                    {context.compactions.reduce((sum, { characters }) => sum + characters, 0).toLocaleString("en-GB")}{" "}
                    characters removed
                  </span>
                )}
                <Destinations of={context.destinations} />
              </li>
            ))}
          </ul>
        </section>
      )}
      {calls.length > 0 && (
        <details className="calls">
          <summary>{countOf(calls.length, "tool call", "tool calls")}</summary>
          <ol>
            {calls.map((call, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: calls are only ever added
              <li key={at}>
                <code>{call.tool}</code>{" "}
                <span className="muted">
                  by the {call.part}, {duration(call.ms)}, {bytes(call.bytes)}
                </span>
                {!call.ok && <span className="state tone-bad">refused</span>}
              </li>
            ))}
          </ol>
        </details>
      )}
    </>
  );
}

const lastTwo = (attempts: Attempt[]) => attempts.slice(-2).map(nameOf).join(",");

type AttemptProps = { run: string; task: string; attempt: Attempt; onRerun: RecordProps["onRerun"] };

function AttemptView({ run, task, attempt, onRerun }: AttemptProps) {
  const { used } = attempt;
  const name = nameOf(attempt);
  const facts = [
    used.ms !== null && duration(used.ms),
    used.output_tokens !== null && countOf(used.output_tokens, "output token", "output tokens"),
    used.tool_calls !== null && countOf(used.tool_calls, "tool call", "tool calls"),
    used.context_tokens !== null && countOf(used.context_tokens, "context token", "context tokens"),
    used.usd !== null && `$${used.usd.toFixed(3)}`,
  ].filter(Boolean);
  return (
    <li>
      <h3>
        Attempt {attempt.attempt}{" "}
        <span className="muted">
          by <AgentName of={attempt.worker} />, <Time at={attempt.started_at} />
        </span>
      </h3>
      {onRerun && mayCall("rerun_run") && (
        <Button size="xs" variant="default" className="attempt-action" onClick={() => onRerun(name)}>
          Rerun from attempt {attempt.attempt}
        </Button>
      )}
      <p className="facts">{facts.join(" · ")}</p>
      {attempt.retry_reason && (
        <p className="note">
          <Shown text={attempt.retry_reason} />
        </p>
      )}
      {attempt.stopped_because && (
        <p className="note bad">
          <Shown text={attempt.stopped_because} />
        </p>
      )}
      {attempt.steps.length > 0 && (
        <List title="Steps of the worker" items={attempt.steps.map(({ text, status }) => `${text} (${status})`)} />
      )}
      {attempt.output && (
        <details>
          <summary>Output</summary>
          <pre className="job-log">
            <Shown text={attempt.output} />
          </pre>
        </details>
      )}
      <Opened title="Transcript">
        <Transcript run={run} task={task} attempt={attempt} />
      </Opened>
      {attempt.statements.length > 0 && <List title="Statements with evidence" items={attempt.statements} />}
      {attempt.files_changed.length > 0 && (
        <Opened title={countOf(attempt.files_changed.length, "file changed", "files changed")}>
          <FileDiffs task={task} attempt={name} />
        </Opened>
      )}
      {attempt.checks.map((check) => (
        <details key={check.criterion}>
          <summary>
            <span className={`state tone-${check.passed ? "good" : "bad"}`}>
              check {check.criterion} {check.passed ? "passed" : "failed"}
            </span>{" "}
            <span className="muted">
              <Shown text={check.detail.split("\n", 1)[0]?.slice(0, 100) ?? ""} />
            </span>
          </summary>
          <pre className="job-log">
            <Shown text={check.detail} />
          </pre>
        </details>
      ))}
      {attempt.verdicts.map((verdict, at) => (
        <div key={verdict.at} className="verdict" data-outcome={verdict.outcome}>
          <p>
            <span className={`state tone-${verdict.outcome === "PASS" ? "good" : "bad"}`}>
              {verdict.outcome} {verdict.score}
            </span>{" "}
            <span className="muted">
              by <AgentName of={verdict.verifier} />, <Time at={verdict.at} />
            </span>
          </p>
          <p>
            <Shown text={verdict.feedback} />
          </p>
          {verdict.void_reason && (
            <p className="note bad">
              Void: <Shown text={verdict.void_reason} />
            </p>
          )}
          {verdict.issues.length > 0 && <List title="Issues" items={verdict.issues} />}
          {verdict.required_fixes.length > 0 && <List title="Required fixes" items={verdict.required_fixes} />}
          {verdict.evidence.length > 0 && (
            <Evidence task={task} attempt={name} verdict={at + 1} items={verdict.evidence} />
          )}
          {verdict.objections.length > 0 && <List title="Objections of the rules" items={verdict.objections} />}
          {verdict.scratch && (
            <details>
              <summary>Files that the verifier wrote to test it</summary>
              <pre className="job-log">
                <Shown text={verdict.scratch} />
              </pre>
            </details>
          )}
        </div>
      ))}
    </li>
  );
}

/** Its content is read when it is opened. */
function Opened({ title, children }: { title: string; children: ReactNode }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{title}</summary>
      {isOpen && children}
    </details>
  );
}

function List({ title, items }: { title: string; items: unknown[] }) {
  return (
    <div className="record-list">
      <p className="record-title">{title}</p>
      <ul>
        {items.map((item, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: what is on record does not move
          <li key={at}>
            <Shown text={spell(item)} />
          </li>
        ))}
      </ul>
    </div>
  );
}

/** A record's item in words: its text, or its fields in a row, the one that says most first and unnamed. */
function spell(item: unknown): string {
  if (typeof item === "string") return item;
  if (item === null || typeof item !== "object") return String(item);
  return Object.entries(item)
    .filter(([, value]) => value !== null && value !== "" && value !== undefined)
    .map(([name, value]) => (leading.has(name) ? String(value) : `${name} ${spellValue(value)}`))
    .join(" · ");
}

const leading = new Set(["criterion", "statement", "evidence", "quote", "text", "detail", "message"]);

function spellValue(value: unknown): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.map(String).join(" ");
  if (value === null || typeof value !== "object") return String(value);
  return Object.entries(value)
    .map(([name, inner]) => `${name} ${spellValue(inner)}`)
    .join(", ");
}
