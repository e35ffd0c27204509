import { Link } from "@tanstack/react-router";
import { Shown } from "../parts/shown.tsx";
import type { Run } from "./run.tsx";

/** What failed in a run: the cause, what its check printed, and what to do about it. */
export function Failures({ run }: { run: Pick<Run, "failures"> }) {
  if (run.failures.length === 0) return null;
  return (
    <section className="failures" aria-label="Failed tasks">
      {run.failures.map(({ id, number, title, cause, output, advice }) => (
        <div key={id} className="note bad">
          <p>
            <strong>
              <Link to={`/tasks/${id}`}>
                Task {number} failed: <Shown text={title} />
              </Link>
            </strong>
          </p>
          <p>
            <Shown text={cause} />
          </p>
          {output !== null && (
            <details>
              <summary>Output of the failed check</summary>
              <pre className="job-log">
                <Shown text={output} />
              </pre>
            </details>
          )}
          <ul>
            {advice.map((one) => (
              <li key={one}>
                <Shown text={one} />
              </li>
            ))}
          </ul>
        </div>
      ))}
    </section>
  );
}
