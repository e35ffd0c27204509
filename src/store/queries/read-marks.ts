import type { Query } from "../database.ts";
import type { ReadMarkRow } from "../tables.ts";

/** The mark that covers every topic up to its time. */
export const everything = "everything";
/** The mark of notifications. */
export const notices = "notices";

export async function marksOf(query: Query, person: string, subjects: string[]): Promise<Map<string, ReadMarkRow>> {
  if (subjects.length === 0) return new Map();
  const rows = await query
    .selectFrom("read_marks")
    .selectAll()
    .where("person", "=", person)
    .where("subject", "in", subjects)
    .execute();
  return new Map(rows.map((row) => [row.subject, { ...row, seq: Number(row.seq) }]));
}

/**
 * Moves a mark forward; false when it was there already. A mark never goes back: another browser may have read more.
 * `isAgain`: a mark that is there already gets the new time.
 */
export async function moveMark(tx: Query, row: ReadMarkRow, isAgain = false): Promise<boolean> {
  const moved = await tx
    .insertInto("read_marks")
    .values(row)
    .onConflict((conflict) =>
      conflict
        .columns(["person", "subject"])
        .doUpdateSet({ seq: row.seq, read_at: row.read_at })
        .where((where) =>
          where.or([
            where("read_marks.seq", isAgain ? "<=" : "<", row.seq),
            where("read_marks.subject", "=", everything),
          ]),
        ),
    )
    .returning("seq")
    .executeTakeFirst();
  return moved !== undefined;
}

/** Open topics whose newest message is by somebody else, after the person's mark and after `since`. */
export async function unreadTopics(query: Query, person: string, since: string): Promise<string[]> {
  const rows = await query
    .selectFrom("topics")
    .innerJoin("messages", (join) =>
      join.onRef("messages.topic_id", "=", "topics.id").onRef("messages.seq", "=", "topics.messages"),
    )
    .select(["topics.id", "topics.messages"])
    .where("topics.status", "=", "open")
    .where("messages.created_at", ">", since)
    .where((where) => where.or([where("messages.author", "<>", person), where("messages.author_kind", "=", "agent")]))
    .orderBy("topics.id", "desc")
    .limit(1000)
    .execute();
  const marks = await query.selectFrom("read_marks").select(["subject", "seq"]).where("person", "=", person).execute();
  const read = new Map(marks.map(({ subject, seq }) => [subject, Number(seq)]));
  return rows.filter(({ id, messages }) => messages > (read.get(`topic:${id}`) ?? 0)).map(({ id }) => id);
}
