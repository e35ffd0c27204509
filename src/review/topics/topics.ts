import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { Name } from "../../people/names.ts";
import type { Database, Query } from "../../store/database.ts";
import { appendEvent } from "../../store/events.ts";
import { noSuch } from "../../store/no-such.ts";
import { findAssignment, putAssignment, removeAssignment } from "../../store/queries/assignments.ts";
import { mentionsIn, replaceMentions } from "../../store/queries/mentions.ts";
import {
  addMessage,
  dropUnused,
  editMessage,
  findMessage,
  findTopic,
  firstMessages,
  insertTopic,
  keepText,
  listTopics,
  lockTexts,
  messagesOf,
  saveAnchor,
  setTopicStatus,
} from "../../store/queries/topics.ts";
import type { MessageRow, TopicRow } from "../../store/tables.ts";
import type { Page } from "../../wiki/pages/pages.ts";
import type { Anchor } from "./anchor.ts";
import { recentTexts } from "./recent-texts.ts";
import { anchorColumns, freshPlaces, rowAt, type Topic, topicOf } from "./topic.ts";

/** The author of a message. An agent is never a user, whatever name it gives. */
export type Speaker = { name: string; kind: MessageRow["author_kind"] };

export type Message = {
  seq: number;
  author: string;
  authorKind: MessageRow["author_kind"];
  content: string;
  at: string;
  editedAt: string | null;
};

type Opening = {
  page: Page;
  kind: Topic["kind"];
  text: string;
  anchor: Anchor | undefined;
  mentions?: readonly Name[];
};
type Deps = {
  db: Database;
  /** The graph node of a page. */
  nodeOf(path: string): string | undefined;
  now(): Date;
  newId(prefix: string): string;
};

/** Discussions on pages (R1). */
export function topicStore({ db, nodeOf, now, newId }: Deps) {
  const subject = (id: string) => `topic:${id}`;
  const lastSeen = new Map<string, string>();
  const searched = searchedTexts();
  const recent = recentTexts();

  async function setStatus(id: string, status: Topic["status"], by: Speaker): Promise<Result<Topic>> {
    const at = now().toISOString();
    const resolved = status === "resolved";
    return db.write(async (tx): Promise<Result<Topic>> => {
      const row = await setTopicStatus(tx, id, status, { by: by.name, at });
      if (!row) {
        const found = await findTopic(tx, id);
        return found ? refuse("conflict", `topic ${id} is already ${found.status}`) : noSuch(tx, "topic", id);
      }
      const kind = resolved ? "topic-resolved" : "topic-reopened";
      await appendEvent(tx, { at, actor: by.name, kind, subject: subject(id), data: { source_path: row.path } });
      return ok(topicOf(row));
    });
  }

  /** Stores whom a message mentions, and notifies those whom it did not mention before, except its author. */
  async function mention(
    tx: Query,
    of: { topic: string; seq: number; path: string },
    names: readonly Name[],
    by: Speaker,
  ) {
    const before = new Set((await mentionsIn(tx, of.topic, of.seq)).map(({ kind, name }) => `${kind} ${name}`));
    const rows = names.map(({ kind, name }) => ({ topic_id: of.topic, seq: of.seq, kind, name }));
    if (rows.length + before.size > 0) await replaceMentions(tx, of.topic, of.seq, rows);
    for (const { kind, name } of rows) {
      const isOwn = by.kind === "person" && name === by.name;
      if (kind !== "person" || isOwn || before.has(`${kind} ${name}`)) continue;
      const data = { person: name, seq: of.seq, source_path: of.path };
      const event = { at: now().toISOString(), actor: by.name, subject: subject(of.topic) };
      await appendEvent(tx, { ...event, kind: "topic-mentioned", data });
    }
  }

  /** A topic that `save` opens as part of a transaction. */
  function begin({ page, kind, text, anchor, mentions = [] }: Opening, by: Speaker) {
    const at = now().toISOString();
    const row: TopicRow = {
      id: newId("t"),
      path: page.path,
      about: nodeOf(page.path) ?? null,
      kind,
      status: "open",
      messages: 0,
      created_by: by.name,
      created_at: at,
      resolved_by: null,
      resolved_at: null,
      ...(anchor ? anchorColumns(anchor) : { anchor: null, anchor_blob: null, anchor_state: null, place: null }),
      first_quote: anchor?.quote ?? null,
      ...freshPlaces(anchor, page.blob),
    };
    const save = async (tx: Query): Promise<void> => {
      if (anchor) {
        await lockTexts(tx, db.engine);
        await keepText(tx, page.blob, page.text);
      }
      await insertTopic(tx, row);
      await addMessage(tx, messageFrom(row.id, text, by, at));
      const data = { source_path: row.path, kind, by: by.kind, quote: anchor?.quote ?? null };
      await appendEvent(tx, { at, actor: by.name, kind: "topic-opened", subject: subject(row.id), data });
      await mention(tx, { topic: row.id, seq: 1, path: row.path }, mentions, by);
    };
    return { topic: topicOf({ ...row, messages: 1 }), save };
  }

  return {
    searched,
    recent,
    begin,

    async open(opening: Opening, by: Speaker): Promise<Topic> {
      const { topic, save } = begin(opening, by);
      await db.write(save);
      return topic;
    },

    async find(id: string): Promise<Topic | undefined> {
      const row = await findTopic(db.read, id);
      return row && topicOf(row);
    },

    /** The topic as it is in this text of its page. */
    async findIn(id: string, page: Page | undefined): Promise<Topic | undefined> {
      const row = await findTopic(db.read, id);
      return row && topicOf(rowAt(row, page) ?? row);
    },

    /** `pageOf` gives the present text of a topic's page. */
    async list(
      filter: Parameters<typeof listTopics>[1],
      pageOf: (path: string) => Page | undefined = () => undefined,
    ): Promise<Topic[]> {
      return (await listTopics(db.read, filter)).map((row) => topicOf(rowAt(row, pageOf(row.path)) ?? row));
    },

    /**
     * Whether this process has seen another text of the page before. Then the page changed here; otherwise a known
     * text may as well be that of another checkout, which is not a change.
     */
    changedHere(path: string, blob: string): boolean {
      const last = lastSeen.get(path);
      lastSeen.set(path, blob);
      return last !== undefined && last !== blob;
    },

    /** Messages numbered above `after`, in order. */
    async messages(id: string, after: number, limit: number): Promise<Message[]> {
      return (await messagesOf(db.read, id, after, limit)).map(messageOf);
    },

    /** The first message of each topic. */
    async openings(ids: string[]): Promise<Map<string, Message>> {
      const rows = await firstMessages(db.read, ids);
      return new Map(rows.map((row) => [row.topic_id, messageOf(row)]));
    },

    async reply(id: string, text: string, by: Speaker, mentions: readonly Name[]): Promise<Result<{ seq: number }>> {
      const at = now().toISOString();
      return db.write(async (tx): Promise<Result<{ seq: number }>> => {
        const seq = await addMessage(tx, messageFrom(id, text, by, at));
        if (seq === undefined) return noSuch(tx, "topic", id);
        const data = { seq, by: by.kind };
        await appendEvent(tx, { at, actor: by.name, kind: "topic-replied", subject: subject(id), data });
        if (mentions.length > 0) {
          const path = (await findTopic(tx, id))?.path ?? "";
          await mention(tx, { topic: id, seq, path }, mentions, by);
        }
        return ok({ seq });
      });
    },

    async edit(
      id: string,
      seq: number,
      text: string,
      by: Speaker,
      mentions: readonly Name[],
    ): Promise<Result<Message>> {
      const at = now().toISOString();
      return db.write(async (tx): Promise<Result<Message>> => {
        const row = await findMessage(tx, id, seq);
        if (!row) return refuse("not_found", `topic ${id} has no message ${seq}`);
        if (row.author !== by.name || row.author_kind !== by.kind) {
          return refuse("denied", `only ${row.author} may edit message ${seq}; reply instead`);
        }
        await editMessage(tx, id, seq, { text, at });
        const data = { seq, was: row.text };
        await appendEvent(tx, { at, actor: by.name, kind: "message-edited", subject: subject(id), data });
        await mention(tx, { topic: id, seq, path: (await findTopic(tx, id))?.path ?? "" }, mentions, by);
        return ok(messageOf({ ...row, text, edited_at: at }));
      });
    },

    /** Assigns a topic to a person, or to nobody. */
    async assign(
      id: string,
      person: string | null,
      by: Speaker,
    ): Promise<Result<{ id: string; assignee: string | null }>> {
      const at = now().toISOString();
      return db.write(async (tx): Promise<Result<{ id: string; assignee: string | null }>> => {
        const row = await findTopic(tx, id);
        if (!row) return noSuch(tx, "topic", id);
        const before = (await findAssignment(tx, subject(id)))?.person ?? null;
        if (before === person) return ok({ id, assignee: person });
        if (person === null) await removeAssignment(tx, subject(id));
        else await putAssignment(tx, { subject: subject(id), person, assigned_by: by.name, assigned_at: at });
        const data = { assignee: person, before, source_path: row.path };
        await appendEvent(tx, { at, actor: by.name, kind: "topic-assigned", subject: subject(id), data });
        return ok({ id, assignee: person });
      });
    },

    resolve: (id: string, by: Speaker) => setStatus(id, "resolved", by),
    reopen: (id: string, by: Speaker) => setStatus(id, "open", by),

    /** Points a topic at a passage that a person or agent has chosen. */
    async reanchor(id: string, page: Page, anchor: Anchor, by: Speaker): Promise<Result<Topic>> {
      return db.write(async (tx): Promise<Result<Topic>> => {
        await lockTexts(tx, db.engine);
        const was = await findTopic(tx, id);
        if (!was) return noSuch(tx, "topic", id);
        const quote = was.first_quote ?? anchor.quote;
        const row: TopicRow = {
          ...was,
          ...anchorColumns(anchor),
          first_quote: quote,
          ...freshPlaces(anchor, page.blob),
        };
        await keepText(tx, page.blob, page.text);
        if (!(await saveAnchor(tx, was, row)))
          return refuse("conflict", `topic ${id} changed since it was read; read it again`);
        await dropUnused(tx, was.anchor_blob ? [was.anchor_blob] : []);
        const data = { source_path: row.path, from: was.anchor_state, quote: anchor.quote, start: anchor.start };
        const event = { at: now().toISOString(), actor: by.name, subject: subject(id) };
        await appendEvent(tx, { ...event, kind: "topic-reanchored", data });
        return ok(topicOf(row));
      });
    },
  };
}

/** So many pages with orphans keep their last text in memory. */
const mostSearched = 32;

/** The last text of each page in which a passage was not found. */
function searchedTexts() {
  const texts = new Map<string, { blob: string; text: string }>();
  return {
    add({ path, blob, text }: Page): void {
      texts.delete(path);
      texts.set(path, { blob, text });
      const [oldest] = texts.keys();
      if (texts.size > mostSearched && oldest !== undefined) texts.delete(oldest);
    },
    get: (blob: string) => [...texts.values()].find((known) => known.blob === blob)?.text,
  };
}

export type TopicStore = ReturnType<typeof topicStore>;

const messageFrom = (id: string, text: string, by: Speaker, at: string) => ({
  topic_id: id,
  author: by.name,
  author_kind: by.kind,
  text,
  created_at: at,
});

const messageOf = (row: MessageRow): Message => ({
  seq: row.seq,
  author: row.author,
  authorKind: row.author_kind,
  content: row.text,
  at: row.created_at,
  editedAt: row.edited_at,
});
