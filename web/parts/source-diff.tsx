import { diffWordsWithSpace } from "diff";
import { Fragment, type ReactNode, useMemo, useState } from "react";
import { hunksBetween } from "../../src/kernel/hunks.ts";
import { pairLines } from "./pair-lines.ts";
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

/** A line on one side of the change. */
type LinePlace = { side: "old" | "new"; line: number };

/** What a reviewer adds to the lines. */
type Additions = {
  /** At the end of a line. */
  tools?: (place: LinePlace) => ReactNode;
  /** Below a line; a line that did not change has a place on both sides. */
  under?: (places: LinePlace[]) => ReactNode;
  /** Above each run of changed lines, which are numbered from 1, with the lines that it adds. */
  changeHead?: (number: number, added: string) => ReactNode;
};

type HunksProps = { hunks: PatchHunk[]; label?: string } & Additions;

/** The same, when what changed is known already. */
export function SourceHunks({ hunks: given, label = "Source of the change", ...additions }: HunksProps) {
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
              <Hunk
                key={hunk[0]?.old ?? at}
                lines={hunk}
                isFirst={at === 0}
                changesBefore={shown.slice(0, at).reduce((sum, lines) => sum + startsOf(lines).size, 0)}
                {...additions}
              />
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

type HunkProps = { lines: Line[]; isFirst: boolean; changesBefore: number } & Additions;

function Hunk({ lines, isFirst, changesBefore, tools, under, changeHead }: HunkProps) {
  const pairs = useMemo(() => pairsOf(lines), [lines]);
  const starts = useMemo(() => startsOf(lines), [lines]);
  return (
    <>
      {!isFirst && (
        <tr className="gap">
          <td colSpan={4}>⋯</td>
        </tr>
      )}
      {lines.map((line, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines of one hunk never move
        <Fragment key={at}>
          {changeHead && <Added row={numberedHead(starts.get(line), changesBefore, changeHead)} />}
          <tr className={line.kind}>
            <td className="number">{line.old}</td>
            <td className="number">{line.now}</td>
            <td className="sign">{line.kind === "added" ? "+" : line.kind === "removed" ? "−" : " "}</td>
            <td className="code" dir="auto">
              <Words line={line} pair={pairs.get(line)} />
              {tools?.(placesOf(line)[0] ?? { side: "new", line: 1 })}
            </td>
          </tr>
          {under && <Added row={under(placesOf(line))} />}
        </Fragment>
      ))}
    </>
  );
}

const Added = ({ row }: { row: ReactNode }) =>
  row ? (
    <tr className="added-row">
      <td colSpan={4}>{row}</td>
    </tr>
  ) : null;

type Start = { number: number; added: string };

const numberedHead = (start: Start | undefined, before: number, head: NonNullable<Additions["changeHead"]>) =>
  start && head(before + start.number, start.added);

/** Where the line is; the side that a comment is made on first. */
const placesOf = ({ old, now }: Line): LinePlace[] => [
  ...(now === undefined ? [] : [{ side: "new" as const, line: now }]),
  ...(old === undefined ? [] : [{ side: "old" as const, line: old }]),
];

/** The first line of each run of changed lines, as the server numbers them within one text. */
function startsOf(lines: Line[]): Map<Line, Start> {
  const starts = new Map<Line, Start>();
  let open: { start: Start; texts: string[] } | undefined;
  for (const line of lines) {
    if (line.kind === "same") {
      open = undefined;
      continue;
    }
    if (!open) {
      open = { start: { number: starts.size + 1, added: "" }, texts: [] };
      starts.set(line, open.start);
    }
    if (line.kind === "added") open.texts.push(line.text);
    open.start.added = open.texts.join("\n");
  }
  return starts;
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

/** The line that each one replaces or is replaced by. */
function pairsOf(lines: Line[]): Map<Line, Line> {
  const pairs = new Map<Line, Line>();
  let removed: Line[] = [];
  let added: Line[] = [];
  const pair = () => {
    const texts = (some: Line[]) => some.map(({ text }) => text);
    for (const [at, its] of pairLines(texts(removed), texts(added))) {
      const [line, other] = [removed[at], added[its]];
      if (line && other) pairs.set(line, other).set(other, line);
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
