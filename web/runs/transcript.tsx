import { useState } from "react";
import type { Output } from "../client/call.ts";
import { Shown } from "../parts/shown.tsx";
import { duration, Time } from "../parts/time.tsx";
import { nameOf } from "../tasks/attempt-name.ts";
import { TranscriptPage } from "./transcript-page.tsx";

type Entry = Output<"run_transcript">["entries"][number];
type Part = NonNullable<Entry["part"]>;

const parts = { all: "All agents", worker: "Worker", qc: "Verifier", pm: "Planner" } as const;

type Props = { run: string; task?: string; attempt?: { attempt: number; epoch: number } };

/** What the agents of a run, of one task or of one attempt were sent, said and called. It follows agents that work. */
export function Transcript({ run, task, attempt }: Props) {
  const [part, setPart] = useState<keyof typeof parts>("all");
  const shown = (Object.keys(parts) as (keyof typeof parts)[]).filter((name) => !task || name !== "pm");
  const of = {
    id: run,
    ...(task ? { task } : {}),
    ...(attempt ? { epoch: attempt.epoch } : {}),
    ...(part === "all" ? {} : { part }),
  };
  return (
    <div className="transcript">
      <nav className="chips" aria-label={attempt ? `Agents of attempt ${nameOf(attempt)}` : "Agents"}>
        {shown.map((name) => (
          <button
            key={name}
            type="button"
            className="chip"
            data-on={part === name || undefined}
            aria-pressed={part === name}
            onClick={() => setPart(name)}
          >
            {parts[name]}
          </button>
        ))}
      </nav>
      <TranscriptPage key={part} operation="run_transcript" of={of} none={() => "No agent has started yet."}>
        {(entry) => <EntryView entry={entry} />}
      </TranscriptPage>
    </div>
  );
}

const partWords: Record<string, string> = {
  ...{ worker: "worker", qc: "verifier", pm: "planner" },
  ...{ brief: "brief writer", preamble: "preamble writer", reporter: "reporter" },
};
const wordsFor = (part: Part) => partWords[part] ?? part;

function EntryView({ entry }: { entry: Entry }) {
  const { part, number, attempt, at } = entry;
  return (
    <>
      <p className="transcript-head">
        <strong>{wordsFor(part)}</strong>
        {number !== null && <span>task {number}</span>}
        {attempt !== null && <span>attempt {attempt}</span>}
        <Time at={at} />
      </p>
      <EntryBody entry={entry} />
    </>
  );
}

type Place = "task" | "number" | "attempt" | "part" | "agent";

/** What one entry says, of a run or of a job. */
export function EntryBody({ entry }: { entry: Omit<Entry, Place> }) {
  const { kind, text, ok } = entry;
  switch (kind) {
    case "sent":
      return <Folded label="Started with this context">{entry.system ? `${entry.system}\n\n${text}` : text}</Folded>;
    case "call":
    case "own_call":
      return (
        <Folded
          label={`Called ${entry.tool ?? ""} ${gist(entry.input)}`}
          aside={ok === false ? "refused" : entry.ms === undefined ? undefined : duration(entry.ms)}
          bad={ok === false}
        >
          {[entry.input, entry.output].filter((one) => one !== undefined && one !== "").join("\n\n→ ")}
        </Folded>
      );
    case "own_result":
      return <Folded label={ok === false ? "Got an error" : "Got a result"}>{entry.output ?? ""}</Folded>;
    case "steering":
      return (
        <p className="note">
          <strong>
            Message from <Shown text={entry.sent_by ?? ""} />:
          </strong>{" "}
          <Shown text={text} />
        </p>
      );
    case "ended":
      return (
        <p className="facts">
          <span>
            Ended: <Shown text={text} />
          </span>
          {entry.output_tokens != null && <span>{entry.output_tokens.toLocaleString("en-GB")} output tokens</span>}
          {entry.cost_usd != null && <span>${entry.cost_usd.toFixed(3)}</span>}
        </p>
      );
    case "said":
      return (
        <p className="plain">
          <Shown text={text} />
        </p>
      );
    default:
      return (
        <p className="plain muted">
          {kind === "retry" && "Model call failed: "}
          <Shown text={text} />
        </p>
      );
  }
}

type FoldedProps = { label: string; aside?: string | undefined; bad?: boolean; children: string };

function Folded({ label, aside, bad = false, children }: FoldedProps) {
  return (
    <details>
      <summary>
        <Shown text={label} /> {aside && <span className={bad ? "state tone-bad" : "muted"}>{aside}</span>}
      </summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls */}
      <pre className="job-log" tabIndex={0}>
        <Shown text={children} />
      </pre>
    </details>
  );
}

/** The first text in the input of a call, such as a path. */
function gist(input: string | undefined): string {
  const found = /"(?:path|command|query|question|file_path|id)":"((?:[^"\\]|\\.){1,80})/.exec(input ?? "")?.[1];
  return found ?? "";
}
