import { SegmentedControl } from "@mantine/core";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useOperation } from "../client/query.ts";
import { RenderedDiff } from "../parts/rendered-diff.tsx";
import { Shown } from "../parts/shown.tsx";
import { SourceDiff } from "../parts/source-diff.tsx";
import { Failed, Loading } from "../parts/state.tsx";
import { countOf } from "../parts/time.tsx";
import type { Choices } from "./choices.ts";
import type { Proposal } from "./proposal.tsx";
import { ProposedChange } from "./proposed-change.tsx";
import { TakeChanges } from "./take-changes.tsx";

/** The change a proposal makes to its page: rendered, and as source. */
export function PageChange({ proposal, choices }: { proposal: Proposal; choices: Choices }) {
  const { impact } = proposal;
  const navigate = useNavigate();
  const { as = "rendered" } = useSearch({ strict: false }) as { as?: "source" };
  const isOpen = proposal.status === "open";
  const page = useOperation("read_page", { path: proposal.subject }, { enabled: isOpen });
  if (!impact) return null;
  const openComments = proposal.line_comments.filter(({ resolved_at: at }) => at === null).length;
  const after = (impact.base_moved && impact.merge?.clean ? impact.merge.text : undefined) ?? proposal.content ?? "";
  return (
    <section aria-label="The change">
      <div className="change-head">
        <h2>
          {countOf(impact.added, "line", "lines")} added, {impact.removed} removed
        </h2>
        {isOpen && (
          <SegmentedControl
            size="xs"
            aria-label="How to show the change"
            value={as}
            onChange={(value) => {
              const search = { as: value === "source" ? value : undefined };
              void navigate({ to: ".", search: search as never, replace: true });
            }}
            data={[
              { value: "rendered", label: "Rendered" },
              { value: "source", label: "Source" },
            ]}
          />
        )}
      </div>
      {typeof proposal.data.renamed_from === "string" && (
        <p className="note">
          The page was renamed from <Shown text={proposal.data.renamed_from} /> after this was proposed.
        </p>
      )}
      {isOpen && impact.base_moved && impact.merge?.clean && !impact.uncommitted && (
        <p className="note">The page changed since this was proposed. You see the merged text.</p>
      )}
      {impact.hidden.length > 0 && (
        <div className="note bad" role="alert">
          <p>The text contains hidden characters, listed below. Check them before you approve.</p>
          <ul>
            {impact.hidden.slice(0, 20).map(({ line, characters }) => (
              <li key={`${line} ${characters}`}>
                line {line}: <Shown text={characters} />
              </li>
            ))}
          </ul>
        </div>
      )}
      <Topics impact={impact} />
      {!isOpen && <ProposedChange proposal={proposal} choices={choices} />}
      {isOpen && page.error && <Failed error={page.error} again={() => void page.refetch()} />}
      {isOpen && page.isPending && <Loading />}
      {isOpen && page.data && as === "rendered" && (
        <RenderedDiff before={bodyOf(page.data.content)} after={bodyOf(after)} path={proposal.subject} />
      )}
      {isOpen && as === "source" && !impact.base_moved && <ProposedChange proposal={proposal} choices={choices} />}
      {isOpen && page.data && as === "source" && impact.base_moved && (
        <>
          <SourceDiff before={page.data.content} after={after} />
          <h3>As proposed</h3>
          <ProposedChange proposal={proposal} choices={choices} />
        </>
      )}
      {choices.canChoose && choices.isChoosing && <TakeChanges id={proposal.id} choices={choices} />}
      {isOpen && as === "rendered" && (
        <p className="hint">
          {openComments > 0 && `${countOf(openComments, "open comment", "open comments")} on lines. `}
          Source has comments on lines and the choice of single changes.
        </p>
      )}
    </section>
  );
}

type Impact = NonNullable<Proposal["impact"]>;

/** Which other open topics the rewrite would move, leave in doubt or lose. */
function Topics({ impact }: { impact: Impact }) {
  const lost = impact.topics.filter(({ to }) => to === "orphaned" || to === "needs-review");
  const counts = impact.topic_counts;
  const open = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const endangered = counts.orphaned + counts.needs_review;
  if (open === 0) return null;
  if (endangered === 0) {
    const all = countOf(open, "open topic keeps its passage", "open topics keep their passages");
    return (
      <p className="note good">
        {all}
        {counts.moved > 0 && `, ${counts.moved} moved`}.
      </p>
    );
  }
  return (
    <div className="note">
      <p>{countOf(endangered, "open topic would lose its passage", "open topics would lose their passages")}:</p>
      <ul>
        {lost.map(({ id, quote, to }) => (
          <li key={id}>
            <Link to={`/topics/${id}`}>
              <Shown text={quote} />
            </Link>{" "}
            ({to === "orphaned" ? "orphaned" : "needs review"})
          </li>
        ))}
      </ul>
      {endangered > lost.length && <p>and {endangered - lost.length} more</p>}
    </div>
  );
}

const bodyOf = (text: string) => text.replace(/^\ufeff?---\r?\n[\s\S]*?\n---[ \t]*(?:\r?\n|$)/, "");
