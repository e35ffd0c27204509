import type { Database, Query } from "../database.ts";
import type { MessageRow, TopicRow } from "../tables.ts";
import { lockEntry } from "./entries.ts";

/** Rows of topics, their messages and the texts that their anchors were taken from. */

export const findTopic = (query: Query, id: string): Promise<TopicRow | undefined> =>
  query.selectFrom("topics").selectAll().where("id", "=", id).executeTakeFirst();

type Filter = {
  path?: string | undefined;
  status?: TopicRow["status"] | undefined;
  kind?: TopicRow["kind"] | undefined;
  /** Only topics that are older than this one. */
  after?: string | undefined;
  limit: number;
};

/** Newest first. */
export function listTopics(query: Query, { path, status, kind, after, limit }: Filter): Promise<TopicRow[]> {
  let found = query.selectFrom("topics").selectAll().orderBy("id", "desc").limit(limit);
  if (path !== undefined) found = found.where("path", "=", path);
  if (status !== undefined) found = found.where("status", "=", status);
  if (kind !== undefined) found = found.where("kind", "=", kind);
  if (after !== undefined) found = found.where("id", "<", after);
  return found.execute();
}

export const openTopicsOn = (query: Query, path: string): Promise<TopicRow[]> =>
  query.selectFrom("topics").selectAll().where("path", "=", path).where("status", "=", "open").orderBy("id").execute();

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

export const firstMessages = (query: Query, ids: string[]): Promise<MessageRow[]> =>
  ids.length === 0
    ? Promise.resolve([])
    : query.selectFrom("messages").selectAll().where("topic_id", "in", ids).where("seq", "=", 1).execute();

/**
 * Writes the next message under the next number. The topic's own row gives it out: whoever replies
 * at the same time waits for that row, so numbers have no gap and no twin.
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

/** Saves over what the caller read; false when someone else moved the anchor first. */
export async function saveAnchor(tx: Query, was: TopicRow, now: TopicRow): Promise<boolean> {
  const { path, about, anchor, anchor_blob, anchor_state, place, first_quote, seen_blob } = now;
  const saved = await tx
    .updateTable("topics")
    .set({ path, about, anchor, anchor_blob, anchor_state, place, first_quote, seen_blob })
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
 * Who keeps or drops texts holds this first: otherwise one would drop the text that another, who
 * has just found it there, is about to refer to.
 */
export const lockTexts = (tx: Query, engine: Database["engine"]) => lockEntry(tx, engine, "page-texts");

export async function keepText(tx: Query, blob: string, text: string): Promise<void> {
  await tx
    .insertInto("page_texts")
    // PostgreSQL has no NUL in text; another character of the same length keeps all offsets true.
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
