import { useState } from "react";
import type { Output } from "../client/call.ts";
import { useOperation } from "../client/query.ts";
import { Shown } from "../parts/shown.tsx";
import { Failed, Loading } from "../parts/state.tsx";

/** As verdicts have it; those of records before 0.2 have fewer fields. */
type Item = { criterion?: number; met?: boolean; quote?: string; from?: string; ref?: string; lines?: string };
type Props = { task: string; attempt: string; verdict: number; items: unknown[] };

/** The evidence of a verdict; each item opens the place that it cites. */
export function Evidence({ task, attempt, verdict, items }: Props) {
  return (
    <div className="record-list">
      <p className="record-title">Evidence</p>
      <ul className="evidence">
        {items.map((item, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: what is on record does not move
          <li key={at}>
            <Cited of={{ id: task, attempt, verdict, item: at + 1 }} item={item as Item} />
          </li>
        ))}
      </ul>
    </div>
  );
}

type Of = { id: string; attempt: string; verdict: number; item: number };

function Cited({ of, item }: { of: Of; item: Item }) {
  const [isOpen, setOpen] = useState(false);
  const { criterion, met, quote, from = "", ref, lines } = item;
  const place = from === "file" ? `${ref}${lines ? `:${lines}` : ""}` : (sources[from] ?? from);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {criterion !== undefined && (
          <span className={`state tone-${met ? "good" : "bad"}`}>
            criterion {criterion} {met ? "met" : "not met"}
          </span>
        )}{" "}
        {quote && (
          <q>
            <Shown text={quote.slice(0, 160)} />
          </q>
        )}{" "}
        <span className="muted">
          <Shown text={place} />
        </span>
      </summary>
      {isOpen && <Place of={of} />}
    </details>
  );
}

const sources: Record<string, string> = { call: "tool answer", check: "check output", output: "output" };

function Place({ of }: { of: Of }) {
  const { data, error, refetch } = useOperation("show_citation", of);
  if (error) return <Failed error={error} again={() => void refetch()} />;
  if (!data) return <Loading />;
  return (
    <>
      {(data.note || !data.cited) && (
        <p className="muted small">
          <Shown text={data.place} />
          {data.note && `: ${data.note}`}
        </p>
      )}
      {data.lines.length > 0 && <Lines of={of} citation={data} />}
    </>
  );
}

function Lines({ of, citation }: { of: Of; citation: Output<"show_citation"> }) {
  const { place, lines, first_line, cited } = citation;
  const by = `evidence ${of.item} of verdict ${of.verdict}, attempt ${of.attempt}`;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls sideways, and keys must be able to do that
    <section className="lines cited-lines" aria-label={`${place}, cited by ${by}`} tabIndex={0}>
      <table>
        <tbody>
          {lines.map((line, at) => {
            const number = first_line + at;
            const isCited = cited !== null && number >= cited.from && number <= cited.to;
            return (
              <tr key={number} data-cited={isCited || undefined}>
                <td className="number">{number}</td>
                <td className="code" dir="auto">
                  {isCited ? (
                    <mark>
                      <Shown text={line} />
                    </mark>
                  ) : (
                    <Shown text={line} />
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}
