import { NativeSelect } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import type { Output } from "../client/call.ts";
import { SourceDiff } from "../parts/source-diff.tsx";
import { duration } from "../parts/time.tsx";
import { nameOf } from "./attempt-name.ts";
import { FileDiffs } from "./file-diffs.tsx";

type Attempt = Output<"task_record">["attempts"][number];

/** Two attempts of a task side by side: what they took, how they were judged, and how their results differ. */
export function Compare({ task, attempts, pair }: { task: string; attempts: Attempt[]; pair: string }) {
  const navigate = useNavigate();
  const [first = "", second = ""] = pair.split(",");
  const at = (name: string) => attempts.find((one) => nameOf(one) === name);
  const [left, right] = [at(first), at(second)];
  const choose = (a: string, b: string) => void navigate({ to: ".", search: { compare: `${a},${b}` } as never });
  const options = attempts.map((one) => ({ value: nameOf(one), label: labelOf(one, attempts) }));
  return (
    <section aria-label="Compare attempts" className="compare">
      <h2>Compare attempts</h2>
      <div className="compare-choice">
        <NativeSelect
          label="First"
          data={options}
          value={first}
          onChange={(event) => choose(event.currentTarget.value, second)}
        />
        <NativeSelect
          label="Second"
          data={options}
          value={second}
          onChange={(event) => choose(first, event.currentTarget.value)}
        />
        <button type="button" className="link-button" onClick={() => void navigate({ to: ".", search: {} as never })}>
          Close comparison
        </button>
      </div>
      {left && right ? (
        <>
          <Figures left={left} right={right} attempts={attempts} />
          <Results task={task} left={left} right={right} />
        </>
      ) : (
        <p className="note bad">The task does not have these attempts. Choose two of the list.</p>
      )}
    </section>
  );
}

/** Numbers repeat after a rerun; then the time tells attempts apart. */
function labelOf(one: Attempt, all: Attempt[]): string {
  const isTwice = all.some((other) => other !== one && other.attempt === one.attempt);
  return `Attempt ${one.attempt}${isTwice ? `, ${one.started_at.slice(0, 19).replace("T", " ")}` : ""}`;
}

const count = (value: number | null) => (value === null ? "–" : value.toLocaleString("en-GB"));

const rows: [name: string, of: (attempt: Attempt) => string][] = [
  ["Verdict", ({ verdicts }) => verdictWords(verdicts.at(-1))],
  [
    "Checks",
    ({ checks }) =>
      checks.length === 0 ? "–" : `${checks.filter((one) => one.passed).length} of ${checks.length} passed`,
  ],
  ["Duration", ({ used }) => (used.ms === null ? "–" : duration(used.ms))],
  ["Input tokens", ({ used }) => count(used.input_tokens)],
  ["Output tokens", ({ used }) => count(used.output_tokens)],
  ["Tool calls", ({ used }) => count(used.tool_calls)],
  ["Cost", ({ used }) => (used.usd === null ? "–" : `$${used.usd.toFixed(3)}`)],
  ["Files changed", ({ files_changed }) => String(files_changed.length)],
];

function verdictWords(verdict: Attempt["verdicts"][number] | undefined): string {
  if (!verdict) return "–";
  return verdict.void_reason === null ? `${verdict.outcome} ${verdict.score}` : "void";
}

function Figures({ left, right, attempts }: { left: Attempt; right: Attempt; attempts: Attempt[] }) {
  return (
    <div className="table-scroll">
      <table className="list">
        <thead>
          <tr>
            <td />
            <th scope="col">{labelOf(left, attempts)}</th>
            <th scope="col">{labelOf(right, attempts)}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, of]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{of(left)}</td>
              <td>{of(right)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Results({ task, left, right }: { task: string; left: Attempt; right: Attempt }) {
  const hasFiles = left.files_changed.length > 0 && right.files_changed.length > 0;
  return (
    <>
      <h3>{hasFiles ? "Differences of their files" : "Differences of their output"}</h3>
      {hasFiles ? (
        <FileDiffs task={task} attempt={nameOf(right)} against={nameOf(left)} />
      ) : (
        <SourceDiff before={left.output ?? ""} after={right.output ?? ""} />
      )}
    </>
  );
}
