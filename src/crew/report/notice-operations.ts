import * as z from "zod";
import { kindOf, nameOf } from "../../kernel/caller.ts";
import { operation, people } from "../../kernel/operation.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { unreadFor } from "../../review/topics/unread.ts";
import { appendEvent } from "../../store/events.ts";
import { noSuch } from "../../store/no-such.ts";
import { assigneesOf, findAssignment } from "../../store/queries/assignments.ts";
import { noticeEvents } from "../../store/queries/notice-events.ts";
import { everything, marksOf, moveMark, notices as noticesMark } from "../../store/queries/read-marks.ts";
import { titlesOf } from "../../store/queries/titles.ts";
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
        title: z.string().nullable().describe("First words of the topic, page of the proposal, title of the run"),
        source_path: z.string().nullable().describe("The page that it is about"),
        by: z.string(),
        at: z.string(),
        read: z.boolean(),
        waiting: z.boolean().describe("False once it is decided, answered, resolved or assigned to somebody else"),
      }),
    ),
  }),
  async run(app: CrewApp, _input, caller) {
    const person = nameOf(caller);
    const decides = kindOf(caller) !== "reader";
    const [events, unread] = await Promise.all([noticeEvents(app.db.read, mostEvents), unreadFor(app, person)]);
    const found = noticesFor(person, decides, events, mostNotices);
    const subjects = [...new Set(found.map(({ subject }) => subject))];
    const [marks, titles, assignees] = await Promise.all([
      marksOf(app.db.read, person, [noticesMark, ...subjects]),
      titlesOf(app.db.read, subjects),
      assigneesOf(app.db.read, subjects),
    ]);
    const readUpTo = marks.get(noticesMark)?.seq ?? 0;
    const shown = found.map(({ seq, message, isWaiting, ...rest }) => {
      const { subject, kind, at } = rest;
      const mark = marks.get(subject);
      const isSeen =
        message === undefined ? kind === "assigned" && (mark?.read_at ?? "") >= at : (mark?.seq ?? 0) >= message;
      const about = titles.get(subject);
      const isTaken = kind === "assigned" && assignees.get(subject) !== person;
      return {
        ...{ id: seq, ...rest, title: about?.title ?? null, source_path: about?.path ?? null },
        ...{ read: seq <= readUpTo || isSeen, waiting: isWaiting && about?.isOpen !== false && !isTaken },
      };
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
      const marks: { subject: string; seq: number; isAgain?: boolean }[] = [];
      if (topic_id !== undefined) {
        const topic = await findTopic(tx, topic_id);
        if (!topic) return noSuch(tx, "topic", topic_id);
        const subject = `topic:${topic_id}`;
        const [own, assignment] = [await marksOf(tx, person, [subject]), await findAssignment(tx, subject)];
        // Assigned after it was read to the end: the assignment is read now.
        const isAgain = assignment?.person === person && assignment.assigned_at > (own.get(subject)?.read_at ?? "");
        marks.push({ subject, seq: topic.messages, isAgain });
      }
      // An id above the newest would hide notifications that do not exist yet.
      const [newest] = up_to !== undefined || all ? await noticeEvents(tx, 1) : [];
      if (newest) marks.push({ subject: noticesMark, seq: all ? newest.seq : Math.min(up_to ?? 0, newest.seq) });
      if (all) marks.push({ subject: everything, seq: 0 });
      let changed = false;
      for (const { isAgain, ...mark } of marks)
        changed = (await moveMark(tx, { person, read_at, ...mark }, isAgain)) || changed;
      const event = { at: read_at, actor: person, subject: `user:${person}`, data: {} };
      if (changed) await appendEvent(tx, { ...event, kind: "reading-marked" });
      return ok({ changed });
    });
  },
});
