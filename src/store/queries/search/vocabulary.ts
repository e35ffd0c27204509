import { batches } from "../../batches.ts";
import type { Query } from "../../database.ts";

/** The words of all texts, from which corrections of a misspelt word are taken. */

export async function insertWords(tx: Query, words: string[]): Promise<void> {
  for (const batch of batches(words, 500))
    await tx
      .insertInto("vocabulary")
      .values(batch.map((word) => ({ word })))
      .onConflict((conflict) => conflict.doNothing())
      .execute();
}

export async function deleteVocabulary(tx: Query): Promise<void> {
  await tx.deleteFrom("vocabulary").execute();
}

export async function vocabularyWords(query: Query, limit: number): Promise<string[]> {
  const rows = await query.selectFrom("vocabulary").select("word").limit(limit).execute();
  return rows.map(({ word }) => word);
}
