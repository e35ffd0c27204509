import { Link } from "@tanstack/react-router";
import type { Output } from "../client/call.ts";
import { PreviewDialog } from "../parts/preview-dialog.tsx";
import { Shown } from "../parts/shown.tsx";
import { countOf } from "../parts/time.tsx";

type Change = Output<"revert_run">;

/** Shows everything that a run wrote to the wiki and the graph, and reverts it once the person has typed the word. */
export function RevertDialog({ run, onClose }: { run: string; onClose(): void }) {
  return (
    <PreviewDialog
      operation="revert_run"
      input={{ run }}
      confirm={() => ({ run, confirm: true })}
      title="Revert run"
      doneTitle="Run reverted"
      button="Revert run"
      word="revert"
      isEmpty={(change) => countAll(change) === 0}
      onClose={onClose}
    >
      {(change, isDone) => (
        <>
          {isDone ? (
            <p className="note" role="status">
              {countAll(change) === 0 ? "Nothing was reverted." : "What the run wrote is reverted."}
            </p>
          ) : (
            <p>
              {countAll(change) === 0
                ? "This run wrote nothing to the wiki or the graph that can be reverted."
                : "Reverting writes new versions; no version is lost. Files that the run changed in the repository stay: revert their commits with git."}
            </p>
          )}
          <Changes change={change} />
        </>
      )}
    </PreviewDialog>
  );
}

const countAll = ({ entries, removed, restored, handoffs }: Change) =>
  entries.length + removed.length + restored.length + handoffs;

function Changes({ change }: { change: Change }) {
  const { entries, removed, restored, handoffs, needs_person: open } = change;
  if (countAll(change) + open.length === 0) return null;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and keys must be able to do that
    <section className="effects" aria-label="What changes" tabIndex={0}>
      {entries.length > 0 && (
        <>
          <h2>Entries</h2>
          <ul>
            {entries.map(({ id, versions, to, version }) => (
              <li key={id}>
                <Link to={`/entries/${id}`} search={{ view: "history" } as never}>
                  <Shown text={id} />
                </Link>
                : {versions.length === 1 ? "version" : "versions"} {versions.join(", ")}; <Shown text={to} />
                {version !== undefined && ` as version ${version}`}
              </li>
            ))}
          </ul>
        </>
      )}
      <Things title="Removed from the graph" ids={removed} />
      <Things title="Restored in the graph" ids={restored} isLinked />
      {handoffs > 0 && <p>{countOf(handoffs, "handoff is", "handoffs are")} withdrawn.</p>}
      {open.length > 0 && (
        <>
          <h2>Others built on these; they stay</h2>
          <ul>
            {open.map(({ what, why }) => (
              <li key={what}>
                <ThingLink id={what} />: <Shown text={why} />
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

function Things({ title, ids, isLinked = false }: { title: string; ids: string[]; isLinked?: boolean }) {
  if (ids.length === 0) return null;
  return (
    <>
      <h2>{title}</h2>
      <ul>
        {ids.map((id) => (
          <li key={id}>{isLinked ? <ThingLink id={id} /> : <Shown text={spelt(id)} />}</li>
        ))}
      </ul>
    </>
  );
}

/** A node leads to the graph, an entry to its history; an edge has no page. */
function ThingLink({ id }: { id: string }) {
  if (id.startsWith("entry:"))
    return (
      <Link to={`/entries/${id.slice("entry:".length)}`} search={{ view: "history" } as never}>
        <Shown text={id.slice("entry:".length)} />
      </Link>
    );
  if (!id.startsWith("node:")) return <Shown text={spelt(id)} />;
  return (
    <Link to="/graph" search={{ node: id.slice("node:".length) } as never}>
      <Shown text={spelt(id)} />
    </Link>
  );
}

/** "node:service:billing" is the node service:billing. */
const spelt = (id: string) => id.replace(/^(node|edge):/, "$1 ");
