import type { Output } from "../client/call.ts";
import { Markdown } from "../parts/markdown.tsx";
import { withoutCommands } from "../parts/plain.ts";
import { Shown } from "../parts/shown.tsx";
import { Time } from "../parts/time.tsx";

type Data = Pick<Output<"task_record">, "failure" | "reports">;

/** A failed task: the facts on record, then what agents wrote about them. */
export function Failure({ failure, reports }: Data) {
  if (failure === null) return null;
  const { root_causes, recommendations, timeline, scores } = failure;
  return (
    <>
      <section aria-labelledby="failure-facts">
        <h2 id="failure-facts">Failure: facts recorded by the system</h2>
        <div className="record-list">
          <p className="record-title">Root causes</p>
          <ul>
            {root_causes.map(({ cause, attempts, output }) => (
              <li key={cause}>
                <Shown text={cause} />{" "}
                <span className="muted">
                  ({attempts.length === 1 ? "attempt" : "attempts"} {attempts.join(", ")})
                </span>
                {output !== undefined && (
                  <pre className="job-log">
                    <Shown text={output} />
                  </pre>
                )}
              </li>
            ))}
          </ul>
        </div>
        <div className="record-list">
          <p className="record-title">Recommendations</p>
          <ul>
            {recommendations.map((one) => (
              <li key={one}>
                <Shown text={withoutCommands(one)} />
              </li>
            ))}
          </ul>
        </div>
        <div className="record-list">
          <p className="record-title">Timeline</p>
          <ol>
            {timeline.map((one) => (
              <li key={one.at}>
                <Time at={one.at} />: {one.outcome}
                {one.score !== null && `, score ${one.score}`}
                {one.reason && (
                  <>
                    {": "}
                    <Shown text={one.reason} />
                  </>
                )}
              </li>
            ))}
          </ol>
        </div>
        {scores.progression.length > 0 && <p className="muted">Scores: {scores.progression.join(" → ")}</p>}
      </section>
      {reports.map(({ kind, title, part, model, content, missing }) => (
        <section key={kind} aria-label={`Analysis: ${title}`}>
          <h2>Analysis: {title}</h2>
          {content === null ? (
            <p className="muted">
              No agent’s analysis: {missing === null ? "it is being written" : <Shown text={missing} />}.
            </p>
          ) : (
            <>
              <p className="muted small">
                Written by the agent {part}
                {model && `, model ${model}`}, from the record. Nobody has checked it.
              </p>
              <blockquote className="analysis">
                <Markdown text={content} />
              </blockquote>
            </>
          )}
        </section>
      ))}
    </>
  );
}
