import { Shown } from "../parts/shown.tsx";
import { countOf } from "../parts/time.tsx";

type Line = { line: number; before: string; after: string };
type Props = {
  relinked: { path: string; lines: Line[] }[];
  left: { path: string; reason: string }[];
  /** What else follows, in words. */
  following?: string[];
};

const mostLines = 20;

/** The lines with links that a move or a rename changes, and the links that stay. */
export function ChangedLinks({ relinked, left, following = [] }: Props) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and keys must be able to do that
    <section className="effects" aria-label="What changes" tabIndex={0}>
      {relinked.length === 0 ? (
        <p>No page links to it.</p>
      ) : (
        <>
          <h2>Links change in {countOf(relinked.length, "page", "pages")}</h2>
          {relinked.map((page) => (
            <div key={page.path}>
              <h3>
                <Shown text={page.path} />
              </h3>
              <ul className="line-changes">
                {page.lines.slice(0, mostLines).map(({ line, before, after }) => (
                  <li key={line}>
                    <span className="muted">Line {line}</span>
                    <del>
                      <Shown text={before} />
                    </del>
                    <ins>
                      <Shown text={after} />
                    </ins>
                  </li>
                ))}
              </ul>
              {page.lines.length > mostLines && <p className="hint">and {page.lines.length - mostLines} more lines</p>}
            </div>
          ))}
        </>
      )}
      {following.length > 0 && <p>These follow the page: {following.join(", ")}.</p>}
      {left.length > 0 && (
        <>
          <h2>These links stay and will lead nowhere</h2>
          <ul>
            {left.map(({ path, reason }) => (
              <li key={path}>
                <Shown text={path} />: <Shown text={reason} />
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}
