import type { Database, Query } from "../../store/database.ts";
import {
  type DeletedPassage,
  deletePassages,
  deleteThings,
  findThings,
  type IndexedPassage,
  indexedPassages,
  insertPassages,
  movePassages,
  type NewPassage,
  type PassagePosition,
  type PassageText,
  passageTexts,
  thingKey,
  titlesOf,
  upsertThings,
} from "../../store/queries/search/index-rows.ts";
import { deleteUnusedVectors } from "../../store/queries/search/vectors.ts";
import { indexedWords, type PreparedPassage, type PreparedThing } from "./prepare.ts";

/** A thing's current content; undefined when it was deleted. */
export type ThingUpdate = { kind: string; id: string; found: PreparedThing | undefined };

type PassageChanges = { added: NewPassage[]; moved: PassagePosition[]; removed: IndexedPassage[] };

/**
 * Updates the index rows of many things with a constant number of statements for each batch. Unchanged passages
 * keep their rows: appending a line to a long log writes one passage.
 */
export async function replaceThings(tx: Query, engine: Database["engine"], updates: ThingUpdate[]): Promise<void> {
  const known = await findThings(tx, engine, updates);
  const indexed = groupBy(await indexedPassages(tx, engine, [...known.values()]), ({ thing }) => thing);
  const titles = await titlesOf(tx, engine, [...known.values()]);
  const present = updates.flatMap(({ kind, id, found }) =>
    found && found.passages.length > 0 ? [{ kind, id, found }] : [],
  );
  const nums = await upsertThings(
    tx,
    present.map(({ kind, id, found: { about } }) => {
      const { title, author, at, run = "", type = kind } = about;
      return { kind, id, title, author, at, run, type };
    }),
  );

  const remaining = new Set(nums.values());
  const gone = [...known.values()].filter((num) => !remaining.has(num));
  const changes: PassageChanges = { added: [], moved: [], removed: gone.flatMap((thing) => indexed.get(thing) ?? []) };
  for (const one of present) {
    const thing = nums.get(thingKey(one)) ?? 0;
    compare(thing, indexed.get(thing) ?? [], one.found.passages, changes);
  }

  const losing = new Set(changes.removed.map(({ thing }) => thing));
  const texts = await passageTexts(tx, engine, [...losing]);
  await deletePassages(tx, engine, withIndexedWords(changes.removed, texts, titles));
  await deleteThings(tx, gone);
  await movePassages(tx, engine, changes.moved);
  await insertPassages(tx, engine, changes.added);
  // After the inserts: a text that only moved to another thing keeps its vector.
  await deleteUnusedVectors(
    tx,
    engine,
    changes.removed.map(({ hash }) => hash),
  );
}

/** Removed passages with the words that they were indexed with. They depend on the passages around them. */
function withIndexedWords(
  removed: IndexedPassage[],
  texts: PassageText[],
  titles: Map<number, string>,
): DeletedPassage[] {
  const byThing = groupBy(texts, ({ thing }) => thing);
  const places = new Map(
    [...byThing.values()].flatMap((passages) => passages.map(({ num }, at) => [num, at] as const)),
  );
  return removed.map(({ num, thing }) => ({
    num,
    words: () => indexedWords(titles.get(thing) ?? "", byThing.get(thing) ?? [], places.get(num) ?? 0),
  }));
}

function compare(thing: number, indexed: IndexedPassage[], passages: PreparedPassage[], changes: PassageChanges): void {
  const byState = groupBy(indexed, ({ state }) => state);
  for (const [part, { heading, line, body, shape, hash, state, words, links }] of passages.entries()) {
    const old = byState.get(state)?.shift();
    if (!old) changes.added.push({ thing, part, heading, line, body, shape, hash, state, words, links });
    else if (old.part !== part || old.line !== line) changes.moved.push({ num: old.num, part, line });
  }
  for (const unmatched of byState.values()) changes.removed.push(...unmatched);
}

function groupBy<T, K>(items: T[], keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group) group.push(item);
    else groups.set(keyOf(item), [item]);
  }
  return groups;
}
