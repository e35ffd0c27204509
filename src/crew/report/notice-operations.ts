import * as z from "zod";
import { kindOf, nameOf } from "../../kernel/caller.ts";
import { operation, people } from "../../kernel/operation.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { unreadFor } from "../../review/topics/unread.ts";
import { appendEvent } from "../../store/events.ts";
import { noSuch } from "../../store/no-such.ts";
import { noticeEvents } from "../../store/queries/notice-events.ts";
import { everything, marksOf, moveMark, notices as noticesMark } from "../../store/queries/read-marks.ts";
import { findTopic } from "../../store/queries/topics.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { noticeKinds, noticesFor } from "./notices.ts";

const mostNotices = 50;
/** So many events are searched for them. */
const mostEvents = 1000;

export const notifications = operation({
  name: "notifications",
  summary: "List your notifications, newest first, and the topics that you have not read.",
  effect: "reads",
  reads: ["notice", "topic", "proposal", "run", "task", "question", "user"],
  callers: people,
  group: "review",
  http: { method: "get", path: "/notifications" },
  input: z.object({}),
  output: z.object({
    unread: z.int().describe("Number of unread notifications about something that still waits"),
    unread_topics: z.array(z.string()).describe("Open topics in which somebody else wrote since you read them"),
    notifications: z.array(
      z.object({
        id: z.int(),
        kind: z.enum(noticeKinds),
        event: z.string(),
        subject: z.string().describe("The thing, such as topic:t-1"),
        by: z.string(),
        at: z.string(),
        read: z.boolean(),
        waiting: z.boolean().describe("False once somebody has decided or answered"),
      }),
    ),
  }),
  async run(app: CrewApp, _input, caller) {
    const person = nameOf(caller);
    const decides = kindOf(caller) !== "reader";
    const [events, unread] = await Promise.all([noticeEvents(app.db.read, mostEvents), unreadFor(app, person)]);
    const found = noticesFor(person, decides, events, mostNotices);
    const marks = await marksOf(app.db.read, person, [noticesMark, ...new Set(found.map(({ subject }) => subject))]);
    const readUpTo = marks.get(noticesMark)?.seq ?? 0;
    const shown = found.map(({ seq, message, isWaiting, ...rest }) => {
      const isSeen = message !== undefined && (marks.get(rest.subject)?.seq ?? 0) >= message;
      return { id: seq, ...rest, read: seq <= readUpTo || isSeen, waiting: isWaiting };
    });
    return ok({
      unread: shown.filter(({ read, waiting }) => !read && waiting).length,
      unread_topics: [...unread],
      notifications: shown,
    });
  },
});

export const markRead = operation({
  name: "mark_read",
  summary: "Mark a topic, your notifications or everything as read.",
  effect: "writes",
  touches: ["notice"],
  callers: people,
  group: "review",
  http: { method: "post", path: "/read" },
  input: z.object({
    topic_id: z.string().max(64).optional().describe("The topic, up to its newest message"),
    up_to: z.int().min(1).optional().describe("Id of the newest notification that you have seen"),
    all: z.boolean().optional().describe("Every topic and notification up to now"),
  }),
  output: z.object({ changed: z.boolean().describe("False if it was read before") }),
  async run(app: CrewApp, { topic_id, up_to, all = false }, caller) {
    if (topic_id === undefined && up_to === undefined && !all)
      return refuse("invalid", "nothing to mark; send topic_id, up_to or all");
    const person = nameOf(caller);
    const read_at = app.now().toISOString();
    return app.db.write(async (tx): Promise<Result<{ changed: boolean }>> => {
      const marks: { subject: string; seq: number }[] = [];
      if (topic_id !== undefined) {
        const topic = await findTopic(tx, topic_id);
        if (!topic) return noSuch(tx, "topic", topic_id);
        marks.push({ subject: `topic:${topic_id}`, seq: topic.messages });
      }
      // An id above the newest would hide notifications that do not exist yet.
      const [newest] = up_to !== undefined || all ? await noticeEvents(tx, 1) : [];
      if (newest) marks.push({ subject: noticesMark, seq: all ? newest.seq : Math.min(up_to ?? 0, newest.seq) });
      if (all) marks.push({ subject: everything, seq: 0 });
      let changed = false;
      for (const mark of marks) changed = (await moveMark(tx, { person, read_at, ...mark })) || changed;
      const event = { at: read_at, actor: person, subject: `user:${person}`, data: {} };
      if (changed) await appendEvent(tx, { ...event, kind: "reading-marked" });
      return ok({ changed });
    });
  },
});
