import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { call, type Output } from "../client/call.ts";
import { useWrite } from "../client/query.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Shown } from "../parts/shown.tsx";
import { Failed, Loading } from "../parts/state.tsx";
import { countOf } from "../parts/time.tsx";
import { isTyped, TypedWord } from "../parts/typed-word.tsx";

type Change = Output<"revert_run">;

/** Shows everything that a run wrote to the wiki and the graph, and reverts it once the person has typed the word. */
export function RevertDialog({ run, onClose }: { run: string; onClose(): void }) {
  const [word, setWord] = useState("");
  const [trouble, setTrouble] = useState<string>();
  const [done, setDone] = useState<Change>();
  const preview = useQuery({
    queryKey: ["revert preview", run],
    queryFn: ({ signal }) => call("revert_run", { run }, signal),
    gcTime: 0,
    staleTime: 0,
    retry: false,
  });
  const revert = useWrite("revert_run", {
    onDone: setDone,
    onRefused({ message }) {
      setTrouble(message);
      void preview.refetch();
      return true;
    },
  });
  const change = done ?? preview.data;
  const isEmpty = change !== undefined && countAll(change) === 0;
  return (
    <Dialog onClose={onClose} title={done ? "Run reverted" : "Revert run"} size="lg">
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          setTrouble(undefined);
          if (isTyped("revert", word) && !revert.isPending) revert.mutate({ run, confirm: true });
        }}
      >
        {preview.error && !done && <Failed error={preview.error} again={() => void preview.refetch()} />}
        {!change && !preview.error && <Loading lines={4} />}
        {change && !done && (
          <p>
            {isEmpty
              ? "This run wrote nothing to the wiki or the graph that can be reverted."
              : "Reverting writes new versions; no version is lost. Files that the run changed in the repository stay: revert their commits with git."}
          </p>
        )}
        {done && (
          <p className="note" role="status">
            {countAll(done) === 0 ? "Nothing was reverted." : "What the run wrote is reverted."}
          </p>
        )}
        {change && <Changes change={change} />}
        {trouble && (
          <p className="note bad plain" role="alert">
            <Shown text={trouble} />
          </p>
        )}
        {change && !done && !isEmpty && <TypedWord word="revert" value={word} onChange={setWord} />}
        <div className="row-of-buttons">
          {change && !done && !isEmpty && (
            <Button type="submit" color="red" disabled={!isTyped("revert", word)} loading={revert.isPending}>
              Revert run
            </Button>
          )}
          <Button variant="default" onClick={onClose}>
            Close
          </Button>
        </div>
      </form>
    </Dialog>
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
