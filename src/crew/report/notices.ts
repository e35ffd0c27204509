import type { LoggedEvent } from "../../store/queries/event-log.ts";

/** Why somebody is notified. */
export const noticeKinds = [
  "mentioned",
  "assigned",
  "proposal",
  "question",
  "gate",
  "held_files",
  "run",
  "plan_change",
  "waiting_run",
  "stalled_run",
  "settings",
] as const;
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
  "run-replan-proposed": "plan_change",
  "run-wait": "waiting_run",
  "run-stall": "stalled_run",
  "settings-waiting": "settings",
};

const endOfRun = ["run", "waiting_run", "stalled_run"] as const;
const endOfWait = ["waiting_run", "stalled_run"] as const;

/** The events that end the waiting of earlier ones about the same thing, by the kinds of their notices. */
const settles: Record<string, readonly NoticeKind[]> = {
  "proposal-approved": ["proposal"],
  "proposal-rejected": ["proposal"],
  "question-answered": ["question"],
  "gate-approved": ["gate"],
  "gate-rejected": ["gate"],
  "gate-returned": ["gate"],
  "files-allowed": ["held_files"],
  "files-refused": ["held_files"],
  "run-start": endOfRun,
  "run-closed": ["run"],
  "run-reopen": ["run"],
  "run-cancel": endOfRun,
  "run-stop": endOfWait,
  "run-pause": endOfWait,
  "run-finish": endOfWait,
  "run-proceed": ["waiting_run"],
  "run-taken-over": ["stalled_run"],
  "run-replan-confirmed": ["plan_change"],
  "run-replan-rejected": ["plan_change"],
  "settings-allowed": ["settings"],
};

/** Questions and plan changes are things of their own below a task or run. */
function subjectOf({ kind, subject, data }: LoggedEvent): string {
  if (kind.startsWith("question-")) return `question:${String(data.id)}`;
  return kind.startsWith("run-replan-") ? `plan_change:${String(data.change_id)}` : subject;
}

/**
 * The notifications of one person, newest first. `events` are newest first. Everybody who decides is notified of what
 * waits; a mention or an assignment is for one person. Nobody is notified of what they did themselves.
 */
export function noticesFor(person: string, decides: boolean, events: readonly LoggedEvent[], limit: number): Notice[] {
  const settled = new Set<string>();
  const notices: Notice[] = [];
  for (const event of events) {
    const subject = subjectOf(event);
    const kind = kindOfEvent[event.kind];
    if (kind !== undefined && event.actor !== person && isFor(person, decides, event)) {
      const { seq, at, actor: by, data } = event;
      notices.push({
        ...{ seq, kind, at, by, event: event.kind, subject },
        message: typeof data.seq === "number" ? data.seq : undefined,
        isWaiting: !settled.has(`${kind} ${subject}`),
      });
      if (notices.length === limit) break;
    }
    for (const ended of settles[event.kind] ?? []) settled.add(`${ended} ${subject}`);
  }
  return notices;
}

function isFor(person: string, decides: boolean, { kind, data }: LoggedEvent): boolean {
  if (kind === "topic-mentioned") return data.person === person;
  if (kind === "topic-assigned") return data.assignee === person;
  if (kind === "run-finish") return decides && data.state === "failed";
  return decides;
}
