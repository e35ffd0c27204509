import { type Texts, type Tree, textsByPath } from "./tree.ts";

/** The text that both sides began with, theirs, yours, and what a merge made of them. */
export type Merge = { b: Tree; t: Tree; y: Tree; m: Tree };

/**
 * Whether a merge has every change of both sides at its place. A merge by headings or lines is right about the texts
 * that it compares; it does not see that a text was moved, or that its heading is gone.
 */
export function isFaithful(merge: Merge): boolean {
  const texts = each(merge, ({ root }) => textsByPath(root));
  if (mayBeMovedTwice(texts)) return false;
  const places = each(texts, placesOf);
  const addsHeading = (side: "t" | "y") => [...texts[side].keys()].some((path) => !texts.b.has(path));
  return keepsPlaces(places) && keepsOrder(places, addsHeading);
}

const each = <A, B>({ b, t, y, m }: Record<keyof Merge, A>, make: (one: A) => B): Record<keyof Merge, B> => ({
  b: make(b),
  t: make(t),
  y: make(y),
  m: make(m),
});

/**
 * True if both sides took the same text from one place, and one of them added something that the other did not: it may
 * be the same text, moved and reworded. The merge would then bring back what the other deleted, or have it twice.
 */
function mayBeMovedTwice({ b, t, y }: Record<keyof Merge, Texts>): boolean {
  const bothTook = [...b].some(([path, text]) => t.get(path) === y.get(path) && hasMore(t.get(path), text));
  const addsAlone = (side: Texts, other: Texts) =>
    [...side].some(([path, text]) => text !== other.get(path) && hasMore(b.get(path), text));
  return bothTook && (addsAlone(t, y) || addsAlone(y, t));
}

/** True if `after` has a line that `before` has not, or more often. */
function hasMore(before = "", after = ""): boolean {
  const left = new Map<string, number>();
  for (const line of before.split("\n").map(words)) left.set(line, (left.get(line) ?? 0) + 1);
  return after
    .split("\n")
    .map(words)
    .some((line) => {
      const count = left.get(line) ?? 0;
      left.set(line, count - 1);
      return count <= 0 && line !== "";
    });
}

/** A line without the marks of a heading, which change when a section is moved to another level. */
const words = (line: string) => line.replace(/^#{1,6}[ \t]+/, "").trimEnd();

/**
 * Each line is once in the merge, below the heading where the sides have it. A line that one side deleted is gone, and
 * the other side left it below the same heading. Lines that a side repeats cannot be told apart and are left out.
 */
function keepsPlaces({ b, t, y, m }: Record<keyof Merge, Places>): boolean {
  const isRight = (line: string) => {
    const [before, their, your, now] = [b, t, y, m].map((side) => side.get(line));
    if ([before, their, your].some((place) => (place?.count ?? 1) > 1)) return true;
    const kept = their ?? your;
    if (!their || !your) return before ? !now && kept?.path === before.path : isAt(now, kept?.path);
    if (their.path === your.path) return isAt(now, their.path);
    return before?.path === your.path ? isAt(now, their.path) : before?.path === their.path && isAt(now, your.path);
  };
  return [...t.keys(), ...y.keys()].every(isRight);
}

const isAt = (place: Place | undefined, path: string | undefined) => place?.count === 1 && place.path === path;

/**
 * Each side's lines keep the order that this side gave them. If one side moved lines, the place of a heading that the
 * other added is not certain, because its neighbours may be the ones that moved.
 */
function keepsOrder({ b, t, y, m }: Record<keyof Merge, Places>, addsHeading: (side: "t" | "y") => boolean): boolean {
  const [theyMoved, youMoved] = [!inOrder(b, t), !inOrder(b, y)];
  if (theyMoved && youMoved) return false;
  if (theyMoved) return inOrder(t, m) && !addsHeading("y");
  if (youMoved) return inOrder(y, m) && !addsHeading("t");
  return inOrder(t, m) && inOrder(y, m);
}

/** Where a line is first, below which heading, and how often it occurs. */
type Place = { at: number; path: string; count: number };
type Places = Map<string, Place>;

function placesOf(texts: Texts): Places {
  const places: Places = new Map();
  let at = 0;
  for (const [path, own] of texts) {
    const above = path.slice(0, Math.max(0, path.lastIndexOf("\n")));
    for (const [nth, line] of own.split("\n").map(words).entries()) {
      const known = places.get(line);
      if (known) known.count++;
      else if (line !== "") places.set(line, { at: at++, path: nth === 0 ? above : path, count: 1 });
    }
  }
  return places;
}

function inOrder(before: Places, after: Places): boolean {
  let last = -1;
  for (const [line, { count }] of before) {
    const place = after.get(line);
    if (count > 1 || place?.count !== 1) continue;
    if (place.at < last) return false;
    last = place.at;
  }
  return true;
}
