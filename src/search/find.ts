import { sql } from "kysely";
import type { Database } from "../store/database.ts";
import { best, byBest, byPage, byRange, fuse, type Scores } from "./fuse.ts";
import type { Hit } from "./hit.ts";
import { linkedFrom } from "./hops.ts";
import type { indexKeeper } from "./keeper.ts";
import { type Counted, countsOf, lexical, type Scored } from "./lexical.ts";
import { snippet } from "./marks.ts";
import type { Meaning } from "./meaning.ts";
import { type Scope, within } from "./scope.ts";
import type { Speller } from "./spelling.ts";
import { searchTerms } from "./terms.ts";

export type Found = {
  hits: Hit[];
  /** The query as it was probably meant. */
  suggestion?: string;
  /** What the caller should know about how this was searched. */
  notes: string[];
};

type Deps = { db: Database; keeper: ReturnType<typeof indexKeeper>; meaning: Meaning; speller: Speller };

export type Wanted = {
  scope: Scope;
  limit: number;
  /** Kinds that are not wanted themselves, but lead to what is: facts to their sources. */
  through?: string[];
  /** Leave out what costs or explains: for measuring one part by itself. */
  without?: ("meaning" | "links")[];
};

/** How many passages of each list are weighed together. */
const considered = 300;
const catchUpMs = 3000;
const linkWeight = 0.5;

export function finder({ db, keeper, meaning, speller }: Deps) {
  async function passages(query: string, wanted: Wanted): Promise<Found> {
    const notes: string[] = [];
    const left = await catchUp();
    if (left > 0) notes.push(`${left} changes are not in the index yet`);
    const asked = await terms(query);
    const through = (wanted.through ?? []).filter((kind) => !wanted.scope.kinds.includes(kind));
    const bridge: Scope = { ...onlyRights(wanted.scope), kinds: through };

    const [words, bridges, near, bridgesNear] = await Promise.all([
      lexical(db, asked, wanted.scope, considered),
      through.length > 0 ? lexical(db, asked, bridge, 100) : [],
      meaningOf(query, wanted.scope, wanted, notes),
      through.length > 0 ? meaningOf(query, bridge, wanted, []) : undefined,
    ]);
    const top = Math.max(words[0]?.score ?? 0, bridges[0]?.score ?? 0);
    const own = weigh(words, near, top);
    const facts = weigh(bridges, bridgesNear, top);
    const linked = wanted.without?.includes("links")
      ? undefined
      : await linkedFrom(
          db,
          fuse([
            { scores: own, weight: 1 },
            { scores: facts, weight: 1 },
          ]),
          wanted.scope,
        );
    const scores = linked
      ? fuse([
          { scores: own, weight: 1 },
          { scores: linked.scores, weight: linkWeight },
        ])
      : own;

    const chosen = best(scores, wanted.limit);
    const rows = await load(chosen, wanted.scope);
    const meant = new Set(near?.hits.slice(0, wanted.limit).map((hit) => hit.num));
    const hits = chosen.flatMap(({ num, score }) => {
      const row = rows.get(num);
      if (!row) return [];
      const { text, found } = passageOf(row, asked.terms);
      const why = [
        ...(found.length > 0 ? [`words: ${found.join(", ")}`] : []),
        ...(meant.has(num) ? ["near in meaning"] : []),
        ...(linked?.from.has(num) ? [`linked from ${linked.from.get(num)}`] : []),
      ];
      return [{ ...row, score, snippet: text, why: why.length > 0 ? why : ["beside what matches"] }];
    });
    return { hits, notes, ...(asked.suggestion ? { suggestion: asked.suggestion } : {}) };
  }

  /** One hit for each thing: its best passage, and how many more of it were found. */
  async function pages(
    query: string,
    wanted: Wanted,
  ): Promise<Omit<Found, "hits"> & { hits: (Hit & { more: Hit[] })[] }> {
    const found = await passages(query, { ...wanted, limit: Math.max(100, wanted.limit * 5) });
    const hits = byPage(found.hits.map((hit) => ({ ...hit, page: `${hit.kind}:${hit.id}` })));
    return { ...found, hits: hits.slice(0, wanted.limit) };
  }

  /** Waits for the index, but not for ever: after a large import most of it is better than none. */
  async function catchUp(): Promise<number> {
    const until = Date.now() + catchUpMs;
    while ((await keeper.catchUp()) > 0) if (Date.now() > until) return keeper.pending();
    return 0;
  }

  /** The words to look for; one that is in no text is joined by what it was probably meant to be. */
  async function terms(query: string): Promise<Counted & { suggestion?: string }> {
    const terms = searchTerms(query);
    const counts = await countsOf(db, terms);
    const meant = new Map<string, string>();
    for (const word of terms.filter((_, at) => counts[at] === 0).slice(0, 5)) {
      const [like] = await liked(word);
      if (like) meant.set(word, like);
    }
    if (meant.size === 0) return { terms, counts };
    const suggestion = query.replace(/[\p{L}\p{N}\p{M}_]+/gu, (word) => meant.get(word.toLowerCase()) ?? word);
    // The last word stays last: it may be only the beginning of one.
    const likes = [...meant.values()].filter((word) => !terms.includes(word));
    const all = { terms: [...likes, ...terms], counts: [...(await countsOf(db, likes)), ...counts] };
    return suggestion === query ? all : { ...all, suggestion };
  }

  /** Words like this one that are still in some text. */
  async function liked(word: string): Promise<string[]> {
    const like = await speller.like(word);
    const counts = await countsOf(db, like);
    return like.filter((_, at) => (counts[at] ?? 0) > 0);
  }

  async function meaningOf(query: string, scope: Scope, wanted: Wanted, notes: string[]) {
    if (wanted.without?.includes("meaning")) return undefined;
    try {
      return await meaning.nearest(query, scope, considered);
    } catch (error) {
      notes.push(`only words were compared: ${error instanceof Error ? error.message : String(error)}`);
      return undefined;
    }
  }

  async function load(chosen: Scored[], scope: Scope) {
    const nums = chosen.map((hit) => hit.num);
    const list =
      db.engine === "sqlite"
        ? sql`IN (SELECT value FROM json_each(${JSON.stringify(nums)}))`
        : sql`= ANY(${nums}::bigint[])`;
    const { rows } = await sql<Omit<Hit, "score" | "snippet" | "why">>`
      SELECT p.num, p.part, p.heading, p.line, p.body, t.kind, t.id, t.title, t.author, t.at
      FROM passages p JOIN things t ON t.num = p.thing WHERE p.num ${list} AND ${within(db.engine, scope)}`.execute(
      db.read,
    );
    return new Map(rows.map((row) => [row.num, row]));
  }

  return { passages, pages, catchUp };
}

/** Of a passage that was found by its heading alone, the heading is shown too. */
function passageOf({ heading, body }: Pick<Hit, "heading" | "body">, terms: string[]) {
  const own = snippet(body, terms);
  const above = heading.split(" › ").at(-1);
  return own.found.length > 0 || !above ? own : snippet(`${above}: ${body}`, terms);
}

function weigh(words: Scored[], near: { hits: Scored[]; weight: number } | undefined, top: number): Scores {
  if (!near) return byBest(words, top);
  return fuse([
    { scores: byBest(words, top), weight: 1 - near.weight },
    { scores: byRange(near.hits), weight: near.weight },
  ]);
}

const onlyRights = ({ kinds, run }: Scope): Scope => (run === undefined ? { kinds } : { kinds, run });
