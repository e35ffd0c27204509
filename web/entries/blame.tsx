import { Link } from "@tanstack/react-router";
import { useOperation } from "../client/query.ts";
import { Shown } from "../parts/shown.tsx";
import { Failed, Loading } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";

/** Each line with who wrote it, as whom, and for which run and task. */
export function Blame({ id }: { id: string }) {
  const blame = useOperation("entry_blame", { id });
  if (blame.error) return <Failed error={blame.error} again={() => void blame.refetch()} />;
  if (!blame.data) return <Loading lines={12} />;
  const { lines, versions, truncated } = blame.data;
  const known = new Map(versions.map((version) => [version.version, version]));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls sideways, and keys must be able to do that
    <section className="lines blame" aria-label="Blame" tabIndex={0}>
      {truncated && <p className="note">Only the latest {versions.length} versions were compared.</p>}
      <table>
        <thead>
          <tr>
            <th scope="col">Written by</th>
            <th scope="col">Line</th>
            <th scope="col">Text</th>
          </tr>
        </thead>
        <tbody>
          {lines.map((line, at) => {
            const about = known.get(line.version);
            const isFirst = lines[at - 1]?.version !== line.version;
            return (
              // biome-ignore lint/suspicious/noArrayIndexKey: a line is its number
              <tr key={at} data-first={isFirst || undefined}>
                <td className="by">
                  {isFirst && about && (
                    <>
                      <Link to="." search={{ version: line.version } as never}>
                        {line.version}
                      </Link>{" "}
                      <span className={about.role ? "agent" : "human"}>
                        <Shown text={about.author} />
                        {about.role && about.role !== about.author && ` as ${about.role}`}
                      </span>
                      , <Time at={about.at} />
                      {about.task && <Link to={`/tasks/${about.task}`}> task</Link>}
                      {about.run && <span className="muted"> {about.run}</span>}
                    </>
                  )}
                </td>
                <td className="number">{at + 1}</td>
                <td className="code">
                  <Shown text={line.text} />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}
