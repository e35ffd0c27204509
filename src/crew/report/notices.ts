import type { LoggedEvent } from "../../store/queries/event-log.ts";

/** Why somebody is notified. */
export const noticeKinds = ["mentioned", "assigned", "proposal", "question", "gate", "held_files", "run"] as const;
export type NoticeKind = (typeof noticeKinds)[number];

export type Notice = {
  /** Number of its event. */
  seq: number;
  kind: NoticeKind;
  at: string;
  by: string;
  /** The thing that it is about, such as `topic:t-1`. */
  subject: string;
  event: string;
  /** For a mention: the message. */
  message: number | undefined;
  /** False once somebody decided or answered. */
  isWaiting: boolean;
};

const kindOfEvent: Record<string, NoticeKind> = {
  "topic-mentioned": "mentioned",
  "topic-assigned": "assigned",
  "proposal-opened": "proposal",
  "question-passed-on": "question",
  "gate-reached": "gate",
  "files-held": "held_files",
  "run-fail": "run",
  "run-finish": "run",
  "run-stop": "run",
};

/** The events that end the waiting of an earlier one about the same thing. */
const settles = new Set([
  "proposal-approved",
  "proposal-rejected",
  "question-answered",
  "gate-approved",
  "gate-rejected",
  "gate-returned",
  "files-allowed",
  "files-refused",
  "run-start",
  "run-closed",
  "run-reopen",
]);

/** A question is an own thing below its task; a gate and held files are told apart by the words of their events. */
function thingOf({ kind, subject, data }: LoggedEvent): string {
  const word = kind.split("-", 1)[0] ?? "";
  return word === "question" ? `question:${String(data.id)}` : `${word} ${subject}`;
}

/**
 * The notifications of one person, newest first. `events` are newest first. Everybody who decides is notified of what
 * waits; a mention or an assignment is for one person. Nobody is notified of what they did themselves.
 */
export function noticesFor(person: string, decides: boolean, events: readonly LoggedEvent[], limit: number): Notice[] {
  const settled = new Set<string>();
  const notices: Notice[] = [];
  for (const event of events) {
    const thing = thingOf(event);
    if (settles.has(event.kind)) settled.add(thing);
    const kind = kindOfEvent[event.kind];
    if (kind === undefined || event.actor === person || !isFor(person, decides, event)) continue;
    const { seq, at, actor: by, subject, data } = event;
    notices.push({
      ...{ seq, kind, at, by, event: event.kind },
      subject: event.kind.startsWith("question-") ? `question:${String(data.id)}` : subject,
      message: typeof data.seq === "number" ? data.seq : undefined,
      isWaiting: !settled.has(thing),
    });
    if (notices.length === limit) break;
  }
  return notices;
}

function isFor(person: string, decides: boolean, { kind, data }: LoggedEvent): boolean {
  if (kind === "topic-mentioned") return data.person === person;
  if (kind === "topic-assigned") return data.assignee === person;
  if (kind === "run-finish") return decides && data.state === "failed";
  return decides;
}
