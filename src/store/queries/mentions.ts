import type { Query } from "../database.ts";
import type { MentionRow, MessageRow } from "../tables.ts";

export const mentionsIn = (query: Query, topic: string, seq: number): Promise<MentionRow[]> =>
  query.selectFrom("mentions").selectAll().where("topic_id", "=", topic).where("seq", "=", seq).execute();

export async function replaceMentions(tx: Query, topic: string, seq: number, rows: MentionRow[]): Promise<void> {
  await tx.deleteFrom("mentions").where("topic_id", "=", topic).where("seq", "=", seq).execute();
  if (rows.length > 0) await tx.insertInto("mentions").values(rows).execute();
}

/** Messages of open topics that mention the person, newest first. */
export const messagesMentioning = (query: Query, person: string, limit: number): Promise<MessageRow[]> =>
  query
    .selectFrom("mentions")
    .innerJoin("topics", "topics.id", "mentions.topic_id")
    .innerJoin("messages", (join) =>
      join.onRef("messages.topic_id", "=", "mentions.topic_id").onRef("messages.seq", "=", "mentions.seq"),
    )
    .selectAll("messages")
    .where("mentions.kind", "=", "person")
    .where("mentions.name", "=", person)
    .where("topics.status", "=", "open")
    .orderBy("messages.created_at", "desc")
    .limit(limit)
    .execute();
