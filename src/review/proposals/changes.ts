import { boundedDiff } from "../../kernel/bounded-diff.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";

/** A run of changed lines between a proposal's base text and its text, numbered from 1. */
export type Change = { number: number; line: number; removed: string[]; added: string[] };

/** A change that a person takes, with other lines in its place if `content` is given. */
export type TakenChange = { number: number; content?: string | undefined };

type Piece = { same: string[] } | { change: Change };

const linesOf = (text: string) => (text === "" ? [] : text.split(/(?<=\n)/));

function piecesOf(base: string, text: string): Piece[] {
  const pieces: Piece[] = [];
  let line = 1;
  let number = 0;
  for (const { kind, items } of boundedDiff(linesOf(base), linesOf(text))) {
    if (kind === "same") {
      pieces.push({ same: items });
      line += items.length;
      continue;
    }
    const last = pieces.at(-1);
    const open = last && "change" in last ? last.change : { number: ++number, line, removed: [], added: [] };
    if (!(last && "change" in last)) pieces.push({ change: open });
    open[kind].push(...items);
    if (kind === "removed") line += items.length;
  }
  return pieces;
}

export const changesBetween = (base: string, text: string): Change[] =>
  piecesOf(base, text).flatMap((piece) => ("change" in piece ? [piece.change] : []));

type Part = { text: string; leftOut: Change[]; edited: number[] };

/** The base text with some of the changes. Numbers belong to this pair of texts only. */
export function takeSome(base: string, text: string, taken: readonly TakenChange[]): Result<Part> {
  const pieces = piecesOf(base, text);
  const changes = pieces.flatMap((piece) => ("change" in piece ? [piece.change] : []));
  const chosen = new Map(taken.map((one) => [one.number, one]));
  if (chosen.size < taken.length) return refuse("invalid", "changes: a number occurs twice");
  const unknown = taken.find(({ number }) => !changes.some((change) => change.number === number));
  if (unknown)
    return refuse("invalid", `changes: there is no change ${unknown.number}; the proposal has ${changes.length}`);
  const edited = taken.flatMap(({ number, content }) => (content === undefined ? [] : [number]));
  const leftOut = changes.filter(({ number }) => !chosen.has(number));
  if (leftOut.length === 0 && edited.length === 0)
    return refuse("invalid", "changes: these are all changes of the proposal; approve it instead");
  const lines = pieces.map((piece, at) => {
    if ("same" in piece) return piece.same.join("");
    const one = chosen.get(piece.change.number);
    if (!one) return piece.change.removed.join("");
    if (one.content === undefined) return piece.change.added.join("");
    const isEnded = one.content === "" || one.content.endsWith("\n");
    return isEnded || (at === pieces.length - 1 && !text.endsWith("\n")) ? one.content : `${one.content}\n`;
  });
  return ok({ text: lines.join(""), leftOut, edited });
}
