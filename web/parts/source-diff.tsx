import { diffWordsWithSpace, structuredPatch } from "diff";
import { useMemo } from "react";
import { Shown } from "./shown.tsx";

type Line = { kind: "same" | "added" | "removed"; text: string; old?: number; now?: number };

/** Two texts line by line, as git shows them, with hidden characters spelled out (T35). */
export function SourceDiff({ before, after }: { before: string; after: string }) {
  const hunks = useMemo(
    () =>
      structuredPatch("", "", before, after, undefined, undefined, { context: 3 }).hunks.map(
        ({ oldStart, newStart, lines }) => ({ old_start: oldStart, new_start: newStart, lines }),
      ),
    [before, after],
  );
  return <SourceHunks hunks={hunks} />;
}

/** As show_proposal gives it. */
type PatchHunk = { old_start: number; new_start: number; lines: string[] };

/** The same, when what changed is known already. */
export function SourceHunks({ hunks: given, label = "Source of the change" }: { hunks: PatchHunk[]; label?: string }) {
  const hunks = useMemo(() => given.map(linesOf), [given]);
  if (hunks.length === 0) return <p className="note">No differences.</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls sideways, and keys must be able to do that
    <section className="lines source-diff" aria-label={label} tabIndex={0}>
      <table>
        <tbody>
          {hunks.map((hunk, at) => (
            <Hunk key={hunk[0]?.old ?? at} lines={hunk} isFirst={at === 0} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Hunk({ lines, isFirst }: { lines: Line[]; isFirst: boolean }) {
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
          <td className="code">
            <Words line={line} pair={pairOf(lines, at)} />
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

/** The line on the other side that this one took the place of, when as many went as came. */
function pairOf(lines: Line[], at: number): Line | undefined {
  const line = lines[at];
  if (!line || line.kind === "same") return undefined;
  let from = at;
  while (lines[from - 1] && lines[from - 1]?.kind !== "same") from--;
  let to = at;
  while (lines[to + 1] && lines[to + 1]?.kind !== "same") to++;
  const run = lines.slice(from, to + 1);
  const removed = run.filter(({ kind }) => kind === "removed");
  const added = run.filter(({ kind }) => kind === "added");
  if (removed.length !== added.length) return undefined;
  return line.kind === "removed" ? added[removed.indexOf(line)] : removed[added.indexOf(line)];
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
