import { reader } from "../../src/http/markdown/read.ts";

/**
 * An oracle for three-way merges that knows nothing of the merge: documents are trees whose every heading and text
 * has an id, edits change the trees, and a merged text is judged by the facts that the renderer's parser reads from
 * it: where each id is, below which heading, in which version and in which order.
 */

type Text = { id: string; version: string; kind: "paragraph" | "list" | "fence" | "comment" };
type Section = { id: string; version: string; setext: boolean; body: Text[]; children: Section[] };
type Document = { root: Section; tight: boolean };
export type Edited = { text: string; moved: Set<string> };
export type Case = { base: string; theirs: Edited; yours: Edited; edits: string[] };

/** A base and two edited copies of it. */
export function drawCase(seed: number): Case {
  const random = randomNumbers(seed);
  const base = drawDocument(random);
  const sides = ["t", "y"].map((name) => ({ name, document: structuredClone(base), moved: new Set<string>() }));
  const edits: string[] = [];
  const apply = (side: (typeof sides)[number], kind: keyof typeof edit, from: number, name: string) => {
    const by = randomNumbers(from);
    const done = edit[kind]({ ...side, fresh: (what) => `${what}${name}${Math.floor(by() * 1e6)}`, name, random: by });
    if (done) edits.push(`${side.name}: ${kind}`);
  };
  const kinds = Object.keys(edit) as (keyof typeof edit)[];
  if (random() < 0.1) {
    const [kind, from] = [choose(random, kinds) ?? "editText", random() * 1e9];
    for (const side of sides) apply(side, kind, from, "s");
  }
  for (const side of sides)
    for (let left = 1 + Math.floor(random() * 3); left > 0; left--)
      apply(side, choose(random, kinds) ?? "editText", random() * 1e9, side.name);
  const written = (document: Document) => (random() < 0.1 ? render(document).replace(/\n+$/, "") : render(document));
  const [theirs, yours] = sides.map(({ document, moved }) => ({ text: written(document), moved })) as [Edited, Edited];
  return { base: written(base), theirs, yours, edits };
}

function drawDocument(random: () => number): Document {
  let count = 0;
  const text = (): Text => ({ id: `p${++count}`, version: "v0", kind: choose(random, kindsOfText) ?? "paragraph" });
  const several = <T>(most: number, make: () => T) => Array.from({ length: Math.floor(random() * (most + 1)) }, make);
  const section = (depth: number): Section => ({
    id: `h${++count}`,
    version: "v0",
    setext: random() < 0.2,
    body: several(2, text),
    children: depth < 3 ? several(depth === 0 ? 5 : 2, () => section(depth + 1)) : [],
  });
  const root = section(0);
  return { root: { ...root, id: "root" }, tight: random() < 0.3 };
}

const kindsOfText: Text["kind"][] = ["paragraph", "paragraph", "paragraph", "list", "fence", "comment"];

function render({ root, tight }: Document): string {
  const gap = tight ? "" : "\n";
  const words = ({ id, version, kind }: Text) => {
    const said = `${id}.${version} some words`;
    if (kind === "fence") return `\`\`\`sh\n# ${said}\n\`\`\`\n`;
    if (kind === "comment") return `<!--\n## ${said}\n-->\n`;
    return kind === "list" ? `- ${said}\n` : `${said}\n`;
  };
  const heading = ({ id, version, setext }: Section, depth: number) => {
    const title = `${id}.${version} title`;
    if (setext && !tight && depth <= 2) return `${title}\n${depth === 1 ? "=====" : "-----"}\n`;
    return `${"#".repeat(depth)} ${title}\n`;
  };
  const whole = (section: Section, depth: number): string =>
    (depth === 0 ? "" : heading(section, depth) + gap) +
    section.body.map((text) => words(text) + gap).join("") +
    section.children.map((child) => whole(child, depth + 1)).join("");
  return whole(root, 0);
}

type Edit = {
  document: Document;
  moved: Set<string>;
  name: string;
  fresh(what: string): string;
  random(): number;
};

/** A text that both sides added. Reworded by one of them, it is two texts, and no merge can know better. */
const isShared = ({ id }: { id: string }) => /^.s/.test(id);

const edit = {
  editText({ document, name, random }: Edit) {
    const found = choose(
      random,
      textsOf(document.root).filter(({ text }) => !isShared(text)),
    );
    if (found) found.text.version += name;
    return found;
  },
  addText({ document, random, fresh }: Edit) {
    const { body } = choose(random, sectionsOf(document.root))?.section ?? document.root;
    const text: Text = { id: fresh("p"), version: "v0", kind: choose(random, kindsOfText) ?? "paragraph" };
    return body.splice(Math.floor(random() * (body.length + 1)), 0, text);
  },
  deleteText({ document, random }: Edit) {
    const found = choose(random, textsOf(document.root));
    return found?.section.body.splice(found.section.body.indexOf(found.text), 1);
  },
  moveText({ document, random, moved }: Edit) {
    const found = choose(random, textsOf(document.root));
    const target = choose(random, sectionsOf(document.root));
    if (!found || !target) return undefined;
    found.section.body.splice(found.section.body.indexOf(found.text), 1);
    target.section.body.splice(Math.floor(random() * (target.section.body.length + 1)), 0, found.text);
    return moved.add(found.text.id);
  },
  addSection({ document, random, fresh }: Edit) {
    const { children } = choose(random, shallow(document.root)) ?? document.root;
    const body: Text[] = [{ id: fresh("p"), version: "v0", kind: "paragraph" }];
    const added = { id: fresh("h"), version: "v0", setext: false, body, children: [] };
    return children.splice(Math.floor(random() * (children.length + 1)), 0, added);
  },
  deleteSection({ document, random }: Edit) {
    const found = choose(random, sectionsOf(document.root));
    return found?.parent.children.splice(found.parent.children.indexOf(found.section), 1);
  },
  rename({ document, random, name }: Edit) {
    const found = choose(
      random,
      sectionsOf(document.root).filter(({ section }) => !isShared(section)),
    );
    if (found) found.section.version += name;
    return found;
  },
  reorder({ document, random, moved }: Edit) {
    const found = choose(random, sectionsOf(document.root));
    if (!found || found.parent.children.length < 2) return undefined;
    return move(found, found.parent, random, moved);
  },
  moveSection({ document, random, moved }: Edit) {
    const found = choose(random, sectionsOf(document.root));
    const target = choose(random, shallow(document.root));
    if (!found || !target || isInside(target, found.section)) return undefined;
    return move(found, target, random, moved);
  },
  /** One # more for a heading and all below it: it becomes a part of the section before it. */
  nest({ document, random }: Edit) {
    const found = choose(random, sectionsOf(document.root));
    const at = found?.parent.children.indexOf(found.section) ?? 0;
    const before = found?.parent.children[at - 1];
    if (!found || !before || heightOf(found.section) > 3) return undefined;
    found.parent.children.splice(at, 1);
    return before.children.push(found.section);
  },
  /** One # less for a heading: what followed it in its section is now below it. */
  promote({ document, random }: Edit) {
    const found = choose(
      random,
      sectionsOf(document.root).filter(({ parent }) => parent !== document.root),
    );
    const above = found && sectionsOf(document.root).find(({ section }) => section === found.parent);
    if (!found || !above) return undefined;
    const after = found.parent.children.splice(found.parent.children.indexOf(found.section));
    found.section.children.push(...after.slice(1));
    return above.parent.children.splice(above.parent.children.indexOf(above.section) + 1, 0, found.section);
  },
  /** Removes a heading and keeps its text, which is then a part of the section above. */
  unwrap({ document, random }: Edit) {
    const found = choose(
      random,
      sectionsOf(document.root).filter(({ parent, section }) => parent.children[0] === section),
    );
    if (!found) return undefined;
    found.parent.body.push(...found.section.body);
    return found.parent.children.splice(0, 1, ...found.section.children);
  },
};

type Found = { section: Section; parent: Section };

function move({ section, parent }: Found, target: Section, random: () => number, moved: Set<string>) {
  parent.children.splice(parent.children.indexOf(section), 1);
  target.children.splice(Math.floor(random() * (target.children.length + 1)), 0, section);
  for (const id of idsOf(section)) moved.add(id);
  return moved;
}

const sectionsOf = (parent: Section): Found[] =>
  parent.children.flatMap((section) => [{ section, parent }, ...sectionsOf(section)]);

const textsOf = (section: Section): { text: Text; section: Section }[] => [
  ...section.body.map((text) => ({ text, section })),
  ...section.children.flatMap(textsOf),
];

/** Sections in which another one fits without a seventh level. */
const shallow = (root: Section): Section[] => [root, ...root.children.flatMap((child) => [child, ...child.children])];

const heightOf = (section: Section): number => 1 + Math.max(0, ...section.children.map(heightOf));
const isInside = (one: Section, other: Section): boolean =>
  one === other || other.children.some((child) => isInside(one, child));
const idsOf = (section: Section): string[] => [
  section.id,
  ...section.body.map(({ id }) => id),
  ...section.children.flatMap(idsOf),
];

type Fact = { version: string; below: string; isHeading: boolean; place: number; count: number };
type Facts = Map<string, Fact>;

/** What the parser of rendered pages reads: each id with its version, its heading and its place. */
export function factsOf(text: string): Facts {
  const facts: Facts = new Map();
  const open: { id: string; depth: number }[] = [{ id: "root", depth: 0 }];
  let place = 0;
  for (const node of reader.parse(text).children) {
    const [from = 0, to = 0] = [node.position?.start.offset, node.position?.end.offset];
    const isHeading = node.type === "heading";
    while (isHeading && (open.at(-1)?.depth ?? 0) >= node.depth) open.pop();
    const below = open.at(-1)?.id ?? "root";
    for (const [, id = "", version = ""] of text.slice(from, to).matchAll(/\b([ph][a-z]?\d+)\.(\w+)/g)) {
      const count = (facts.get(id)?.count ?? 0) + 1;
      facts.set(id, { version, below, isHeading, place: place++, count });
      if (isHeading) open.push({ id, depth: node.depth });
    }
  }
  return facts;
}

/** Everything that is wrong about a merged text; empty if it is right. */
export function judge({ base, theirs, yours }: Case, merged: string): string[] {
  const [b, t, y, m] = [base, theirs.text, yours.text, merged].map(factsOf) as [Facts, Facts, Facts, Facts];
  const wrong: string[] = [];
  for (const id of new Set([...b.keys(), ...t.keys(), ...y.keys(), ...m.keys()])) {
    const [before, their, your, now] = [b.get(id), t.get(id), y.get(id), m.get(id)];
    if (before && (!their || !your)) {
      const kept = their ?? your;
      if (now) wrong.push(`${id} was deleted and is back`);
      else if (kept && (kept.version !== before.version || kept.below !== before.below))
        wrong.push(`${id} was changed by one side, deleted by the other, and is lost`);
      continue;
    }
    if (!now) wrong.push(`${id} is lost`);
    else if (now.count !== 1) wrong.push(`${id} is there ${now.count} times`);
    for (const what of ["version", "below", "isHeading"] as const) {
      const [one, other] = [(their ?? your)?.[what], (your ?? their)?.[what]];
      const right = one === other ? one : one === before?.[what] ? other : other === before?.[what] ? one : undefined;
      if (now && now[what] !== right) wrong.push(`${what} of ${id} is ${now[what]}, expected ${right}`);
    }
  }
  return [...wrong, ...wrongOrder({ b, t, y, m }, theirs.moved, yours.moved)];
}

function wrongOrder(
  { b, t, y, m }: Record<"b" | "t" | "y" | "m", Facts>,
  theyMoved: Set<string>,
  youMoved: Set<string>,
): string[] {
  const wrong: string[] = [];
  const ids = [...m.keys()];
  /** A text moves with the section that it is in, also one that only the other side has. */
  const isIn = (moved: Set<string>, id: string | undefined, seen: string[] = []): boolean =>
    id !== undefined && !seen.includes(id) && (moved.has(id) || isIn(moved, m.get(id)?.below, [...seen, id]));
  for (const [nth, p] of ids.entries())
    for (const q of ids.slice(nth + 1)) {
      const isFirst = (facts: Facts) => {
        const [one, other] = [facts.get(p)?.place, facts.get(q)?.place];
        return one === undefined || other === undefined ? undefined : one < other;
      };
      const [before, their, your] = [isFirst(b), isFirst(t), isFirst(y)];
      const isMoved = (moved: Set<string>) => isIn(moved, p) || isIn(moved, q);
      let right: boolean | undefined;
      if (their !== undefined && your !== undefined)
        right = their === your ? their : before === their || (before === undefined && isMoved(youMoved)) ? your : their;
      else if (their !== undefined && !isMoved(youMoved)) right = their;
      else if (your !== undefined && !isMoved(theyMoved)) right = your;
      if (right !== undefined && right !== isFirst(m)) wrong.push(`the order of ${p} and ${q}`);
    }
  return wrong;
}

/** mulberry32 */
function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const choose = <T>(random: () => number, from: T[]): T | undefined => from[Math.floor(random() * from.length)];
