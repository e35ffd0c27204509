import { advisoryLock } from "../advisory-lock.ts";
import type { Database, Query } from "../database.ts";
import type { MessageRow, TopicRow } from "../tables.ts";

/** Topics, their messages, and the page texts that their anchors refer to. */

export const findTopic = (query: Query, id: string): Promise<TopicRow | undefined> =>
  query.selectFrom("topics").selectAll().where("id", "=", id).executeTakeFirst();

/** Who opened these topics. */
export async function openersOf(query: Query, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await query.selectFrom("topics").select(["id", "created_by"]).where("id", "in", ids).execute();
  return new Map(rows.map(({ id, created_by }) => [id, created_by]));
}

type Filter = {
  path?: string | undefined;
  status?: TopicRow["status"] | undefined;
  kind?: TopicRow["kind"] | undefined;
  /** Only topics that are older than this one. */
  after?: string | undefined;
  limit: number;
};

export async function topicIds(query: Query): Promise<string[]> {
  const rows = await query.selectFrom("topics").select("id").execute();
  return rows.map(({ id }) => id);
}

export async function insertTopic(tx: Query, row: TopicRow): Promise<void> {
  await tx.insertInto("topics").values(row).execute();
}

/** Resolves an open topic or reopens a resolved one; undefined when its status is another. */
export const setTopicStatus = (
  tx: Query,
  id: string,
  status: TopicRow["status"],
  { by, at }: { by: string; at: string },
): Promise<TopicRow | undefined> =>
  tx
    .updateTable("topics")
    .set(
      status === "resolved"
        ? { status, resolved_by: by, resolved_at: at }
        : { status, resolved_by: null, resolved_at: null },
    )
    .where("id", "=", id)
    .where("status", "=", status === "resolved" ? "open" : "resolved")
    .returningAll()
    .executeTakeFirst();

/** Newest first. */
export function listTopics(query: Query, { path, status, kind, after, limit }: Filter): Promise<TopicRow[]> {
  let found = query.selectFrom("topics").selectAll().orderBy("id", "desc").limit(limit);
  if (path !== undefined) found = found.where("path", "=", path);
  if (status !== undefined) found = found.where("status", "=", status);
  if (kind !== undefined) found = found.where("kind", "=", kind);
  if (after !== undefined) found = found.where("id", "<", after);
  return found.execute();
}

/** Thousands of rows read by one statement block the event loop. */
const rowsAtOnce = 500;

/** Open topics on a page, oldest first; with `unseen`, those whose anchors were last searched for in another text. */
export async function openTopicsOn(query: Query, path: string, unseen?: { blob: string }): Promise<TopicRow[]> {
  const rows: TopicRow[] = [];
  for (;;) {
    let next = query.selectFrom("topics").selectAll().where("path", "=", path).where("status", "=", "open");
    next = next
      .where("id", ">", rows.at(-1)?.id ?? "")
      .orderBy("id")
      .limit(rowsAtOnce);
    if (unseen) next = next.where("seen_blob", "<>", unseen.blob);
    const found = await next.execute();
    rows.push(...found);
    if (found.length < rowsAtOnce) return rows;
  }
}

/** Open topics on any of these pages, oldest first. */
export const openTopicsOnPages = (
  query: Query,
  paths: string[],
  limit: number,
): Promise<Pick<TopicRow, "id" | "path" | "first_quote">[]> =>
  query
    .selectFrom("topics")
    .select(["id", "path", "first_quote"])
    .where("status", "=", "open")
    .where("path", "in", paths)
    .orderBy("created_at")
    .limit(limit)
    .execute();

export async function pathsWithOpenTopics(query: Query): Promise<string[]> {
  const rows = await query.selectFrom("topics").select("path").distinct().where("status", "=", "open").execute();
  return rows.map(({ path }) => path);
}

export const messagesOf = (query: Query, id: string, after: number, limit: number): Promise<MessageRow[]> =>
  query
    .selectFrom("messages")
    .selectAll()
    .where("topic_id", "=", id)
    .where("seq", ">", after)
    .orderBy("seq")
    .limit(limit)
    .execute();

export const findMessage = (query: Query, id: string, seq: number): Promise<MessageRow | undefined> =>
  query.selectFrom("messages").selectAll().where("topic_id", "=", id).where("seq", "=", seq).executeTakeFirst();

export async function editMessage(
  tx: Query,
  id: string,
  seq: number,
  { text, at }: { text: string; at: string },
): Promise<void> {
  const message = tx.updateTable("messages").set({ text, edited_at: at }).where("topic_id", "=", id);
  await message.where("seq", "=", seq).execute();
}

export async function hasAgentReply(query: Query, id: string, after: number): Promise<boolean> {
  const reply = await query
    .selectFrom("messages")
    .select("seq")
    .where("topic_id", "=", id)
    .where("author_kind", "=", "agent")
    .where("seq", ">", after)
    .limit(1)
    .executeTakeFirst();
  return reply !== undefined;
}

export const firstMessages = (query: Query, ids: string[]): Promise<MessageRow[]> =>
  ids.length === 0
    ? Promise.resolve([])
    : query.selectFrom("messages").selectAll().where("topic_id", "in", ids).where("seq", "=", 1).execute();

/**
 * Writes a message under the next number. The topic's row hands out numbers: concurrent replies wait
 * for its row lock, so numbers have no gaps and no duplicates.
 */
export async function addMessage(
  tx: Query,
  message: Omit<MessageRow, "seq" | "edited_at">,
): Promise<number | undefined> {
  const row = await tx
    .updateTable("topics")
    .set((set) => ({ messages: set("messages", "+", 1) }))
    .where("id", "=", message.topic_id)
    .returning("messages")
    .executeTakeFirst();
  if (!row) return undefined;
  await tx
    .insertInto("messages")
    .values({ ...message, seq: row.messages, edited_at: null })
    .execute();
  return row.messages;
}

/** Saves over the row that the caller read; false when the anchor was moved in between. */
export async function saveAnchor(tx: Query, was: TopicRow, now: TopicRow): Promise<boolean> {
  const { path, about, anchor, anchor_blob, anchor_state, place, first_quote, seen_blob, places } = now;
  const saved = await tx
    .updateTable("topics")
    .set({ path, about, anchor, anchor_blob, anchor_state, place, first_quote, seen_blob, places })
    .where("id", "=", was.id)
    .where("path", "=", was.path)
    .where("seen_blob", "=", was.seen_blob)
    .where("anchor", was.anchor === null ? "is" : "=", was.anchor)
    .returning("id")
    .executeTakeFirst();
  return saved !== undefined;
}

export async function textOf(query: Query, blob: string): Promise<string | undefined> {
  const row = await query.selectFrom("page_texts").select("text").where("blob", "=", blob).executeTakeFirst();
  return row?.text;
}

/**
 * Must be held to save or drop texts: otherwise one transaction could drop the text that another has
 * just found and is about to reference.
 */
export const lockTexts = (tx: Query, engine: Database["engine"]) => advisoryLock(tx, engine, "page-texts");

export async function keepText(tx: Query, blob: string, text: string): Promise<void> {
  await tx
    .insertInto("page_texts")
    // PostgreSQL text cannot contain NUL; a character of the same length keeps all offsets valid.
    .values({ blob, text: text.replaceAll("\0", "\ufffd") })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

export async function dropUnused(tx: Query, blobs: string[]): Promise<void> {
  if (blobs.length === 0) return;
  await tx
    .deleteFrom("page_texts")
    .where("blob", "in", blobs)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom("topics").select("id").whereRef("topics.anchor_blob", "=", "page_texts.blob"))),
    )
    .execute();
}
