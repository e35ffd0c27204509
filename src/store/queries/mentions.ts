import type { Query } from "../database.ts";
import type { MentionRow } from "../tables.ts";

export const mentionsIn = (query: Query, topic: string, seq: number): Promise<MentionRow[]> =>
  query.selectFrom("mentions").selectAll().where("topic_id", "=", topic).where("seq", "=", seq).execute();

export async function replaceMentions(tx: Query, topic: string, seq: number, rows: MentionRow[]): Promise<void> {
  await tx.deleteFrom("mentions").where("topic_id", "=", topic).where("seq", "=", seq).execute();
  if (rows.length > 0) await tx.insertInto("mentions").values(rows).execute();
}
