import { diffWordsWithSpace } from "diff";
import { useMemo, useState } from "react";
import { hunksBetween } from "../../src/kernel/hunks.ts";
import { Shown } from "./shown.tsx";

type Line = { kind: "same" | "added" | "removed"; text: string; old?: number; now?: number };

/** Two texts line by line, as git shows them, with hidden characters spelled out (T35). */
export function SourceDiff({ before, after }: { before: string; after: string }) {
  const hunks = useMemo(
    () =>
      hunksBetween(before, after).map(({ oldStart, newStart, lines }) => ({
        old_start: oldStart,
        new_start: newStart,
        lines,
      })),
    [before, after],
  );
  return <SourceHunks hunks={hunks} />;
}

/** As show_proposal gives it. */
type PatchHunk = { old_start: number; new_start: number; lines: string[] };

/** More lines than this are shown on request: a table of hundreds of thousands of rows would block the browser. */
const maxLines = 5_000;

/** The same, when what changed is known already. */
export function SourceHunks({ hunks: given, label = "Source of the change" }: { hunks: PatchHunk[]; label?: string }) {
  const hunks = useMemo(() => given.map(linesOf), [given]);
  const [isWhole, setWhole] = useState(false);
  if (hunks.length === 0) return <p className="note">No differences.</p>;
  const total = hunks.reduce((sum, lines) => sum + lines.length, 0);
  let room = isWhole ? total : maxLines;
  const shown = hunks.flatMap((lines) => {
    const part = lines.slice(0, room);
    room -= part.length;
    return part.length === 0 ? [] : [part];
  });
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls sideways, and keys must be able to do that */}
      <section className="lines source-diff" aria-label={label} tabIndex={0}>
        <table>
          <tbody>
            {shown.map((hunk, at) => (
              <Hunk key={hunk[0]?.old ?? at} lines={hunk} isFirst={at === 0} />
            ))}
          </tbody>
        </table>
      </section>
      {!isWhole && total > maxLines && (
        <p className="note bad" role="alert">
          Only the first {maxLines.toLocaleString("en")} of {total.toLocaleString("en")} lines are shown.{" "}
          <button type="button" className="link-button" onClick={() => setWhole(true)}>
            Show all lines
          </button>
        </p>
      )}
    </>
  );
}

function Hunk({ lines, isFirst }: { lines: Line[]; isFirst: boolean }) {
  const pairs = useMemo(() => pairsOf(lines), [lines]);
  return (
    <>
      {!isFirst && (
        <tr className="gap">
          <td colSpan={4}>⋯</td>
        </tr>
      )}
      {lines.map((line, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines of one hunk never move
        <tr key={at} className={line.kind}>
          <td className="number">{line.old}</td>
          <td className="number">{line.now}</td>
          <td className="sign">{line.kind === "added" ? "+" : line.kind === "removed" ? "−" : " "}</td>
          <td className="code" dir="auto">
            <Words line={line} pair={pairs.get(line)} />
          </td>
        </tr>
      ))}
    </>
  );
}

function Words({ line, pair }: { line: Line; pair: Line | undefined }) {
  if (!pair || line.text.length + pair.text.length > 4000) return <Shown text={line.text} />;
  const isAdded = line.kind === "added";
  const changes = isAdded ? diffWordsWithSpace(pair.text, line.text) : diffWordsWithSpace(line.text, pair.text);
  return changes
    .filter(({ added, removed }) => (isAdded ? !removed : !added))
    .map(({ added, removed, value }, at) =>
      added || removed ? (
        // biome-ignore lint/suspicious/noArrayIndexKey: the words of one line never move
        <mark key={at}>
          <Shown text={value} />
        </mark>
      ) : (
        // biome-ignore lint/suspicious/noArrayIndexKey: the words of one line never move
        <Shown key={at} text={value} />
      ),
    );
}

/** The line that each one replaces or is replaced by, where as many were removed as added. */
function pairsOf(lines: Line[]): Map<Line, Line> {
  const pairs = new Map<Line, Line>();
  let removed: Line[] = [];
  let added: Line[] = [];
  const pair = () => {
    if (removed.length === added.length)
      for (const [at, line] of removed.entries()) {
        const other = added[at];
        if (other) pairs.set(line, other).set(other, line);
      }
    [removed, added] = [[], []];
  };
  for (const line of lines) {
    if (line.kind === "removed") removed.push(line);
    else if (line.kind === "added") added.push(line);
    else pair();
  }
  pair();
  return pairs;
}

function linesOf({ old_start: oldStart, new_start: newStart, lines }: PatchHunk): Line[] {
  let old = oldStart;
  let now = newStart;
  return lines
    .filter((line) => !line.startsWith("\\"))
    .map((line): Line => {
      const text = line.slice(1);
      if (line.startsWith("+")) return { kind: "added", text, now: now++ };
      if (line.startsWith("-")) return { kind: "removed", text, old: old++ };
      return { kind: "same", text, old: old++, now: now++ };
    });
}
