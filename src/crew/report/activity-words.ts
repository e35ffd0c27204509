import { partsOfAgentName } from "../../kernel/agent-name.ts";
import { type EventKind, eventKinds } from "../../kernel/event-kinds.ts";

/** What activity is about, as a filter. */
export const activityThings = ["pages", "topics", "proposals", "runs", "sources", "people", "settings"] as const;
export type ActivityThing = (typeof activityThings)[number];

type Data = Record<string, unknown>;
/** The words after the actor and before the thing; undefined where only some events of the kind are activity. */
type Said = {
  about: ActivityThing;
  says: string | ((data: Data) => string | undefined);
  /** The crew did it, although the event names the person who started the run. */
  byCrew?: true;
};

const pages = (says: Said["says"]): Said => ({ about: "pages", says });
const topics = (says: Said["says"]): Said => ({ about: "topics", says });
const proposals = (says: Said["says"]): Said => ({ about: "proposals", says });
const runs = (says: Said["says"]): Said => ({ about: "runs", says });
const crew = (says: Said["says"]): Said => ({ about: "runs", says, byCrew: true });
const sources = (says: Said["says"]): Said => ({ about: "sources", says });
const people = (says: Said["says"]): Said => ({ about: "people", says });
const settings = (says: Said["says"]): Said => ({ about: "settings", says });

const version = ({ version }: Data) => (typeof version === "number" ? ` version ${version} of` : "");

/**
 * The words for each kind of event; null for the steps inside an attempt, the graph and other bookkeeping, which the
 * timeline and the transcript of a run show.
 */
const words: Record<EventKind, Said | null> = {
  "agent-ended": null,
  "agent-reminded": null,
  "agent-started": null,
  "anchor-found": null,
  "anchor-moved": null,
  "anchor-needs-review": topics("could not place for certain the passage of"),
  "anchor-orphaned": topics("no longer found the passage of"),
  "attempt-accepted": null,
  "attempt-given-up": null,
  "attempt-qc-started": null,
  "attempt-retry-prepared": null,
  "attempt-started": null,
  "attempt-worker-completed": null,
  "attempt-worker-failed": null,
  "checks-run": null,
  "edge-added": null,
  "edge-deleted": null,
  "entry-appended": pages("added a line to"),
  "entry-committed": pages((data) => `wrote${version(data)}`),
  "entry-edited": pages((data) => `edited${version(data)}`),
  "entry-moved": null,
  "entry-recovered": pages((data) => `completed${version(data)}`),
  "files-allowed": runs("allowed the held files of"),
  "files-held": runs("held files of"),
  "files-refused": runs("refused the held files of"),
  "finding-acknowledged": settings("acknowledged a finding of doctor"),
  "gate-approved": runs("approved the result of"),
  "gate-reached": runs("asked for approval of"),
  "gate-rejected": runs("rejected a question of"),
  "gate-returned": runs("returned the result of"),
  "handoff-forced": null,
  "handoff-made": null,
  "index-moved": settings("moved the files of"),
  "index-rebuilt": null,
  "index-repaired": settings("repaired the record"),
  "job-cancelled": topics("cancelled an agent for"),
  "job-queued": null,
  "job-settled": topics(({ status }) => (status === "succeeded" ? undefined : "failed while working for")),
  "job-started": null,
  "message-edited": topics("edited a message in"),
  "node-added": null,
  "node-deleted": null,
  "node-updated": null,
  "output-submitted": null,
  "page-added": pages("added"),
  "page-created": pages("created"),
  "page-edited": pages("edited"),
  "page-imported": pages("imported pages into"),
  "page-moved": pages("moved"),
  "page-relinked": null,
  "page-removed": pages("removed"),
  "page-written": pages("wrote"),
  "passage-disputed": pages(({ asked }) => (asked ? "asked people to check a passage of" : "disputed a passage of")),
  "passage-rechecked": pages("checked a passage of"),
  "passage-verified": pages("verified a passage of"),
  "passages-recalled": null,
  "passkey-added": people("added a passkey"),
  "passkey-removed": people("removed a passkey"),
  "perspective-written": pages("wrote a perspective of"),
  "preamble-made": null,
  "proposal-approved": proposals("approved a proposal for"),
  "proposal-comment-reopened": proposals("reopened a comment on a proposal for"),
  "proposal-comment-resolved": proposals("resolved a comment on a proposal for"),
  "proposal-commented": proposals("commented on a proposal for"),
  "proposal-deciding": null,
  "proposal-decision-failed": proposals("could not apply a decision on a proposal for"),
  "proposal-decision-undone": proposals("undid a decision on a proposal for"),
  "proposal-followed": null,
  "proposal-opened": proposals("opened a proposal for"),
  "proposal-rejected": proposals("rejected a proposal for"),
  "question-answered": runs("answered a question in"),
  "question-asked": runs("asked a question in"),
  "question-passed-on": runs("passed on a question in"),
  "reading-marked": null,
  "report-written": null,
  "revision-requested": proposals("asked for another revision of a proposal for"),
  "run-briefed": null,
  "run-cancel": runs("cancelled"),
  "run-cleaned": runs("cleaned up"),
  "run-closed": runs("dismissed"),
  "run-created": runs("created"),
  "run-ended": runs("ended"),
  "run-fail": crew("failed to plan"),
  "run-finish": crew(({ state }) => (state === "failed" ? "ended with failed tasks:" : "completed")),
  "run-focus-moved": runs("moved the focus of"),
  "run-limited": runs("limited the workers of"),
  "run-merged": runs("merged"),
  "run-overturn": runs("overturned a task of"),
  "run-pause": runs("paused"),
  "run-plan": null,
  "run-plan-changed": runs("changed the plan of"),
  "run-plan-drafted": null,
  "run-planned": runs("planned"),
  "run-reopen": runs("resumed planning"),
  "run-pushed": runs((data) => (data.pull_request ? "opened a pull request for" : "pushed")),
  "run-replan-confirmed": runs("confirmed a plan change of"),
  "run-replan-proposed": runs("proposed a plan change of"),
  "run-replan-rejected": runs("rejected a plan change of"),
  "run-replan-started": runs("asked for a plan change of"),
  "run-rerun": runs("reran a part of"),
  "run-files-reverted": runs("took files out of a branch that had merged"),
  "run-reverted": runs("reverted"),
  "run-setup-started": null,
  "run-setup-finished": null,
  "run-start": runs("started"),
  "run-taken-over": null,
  "run-stall": null,
  "run-wait": null,
  "run-proceed": null,
  "run-stop": crew("stopped"),
  "schema-changed": settings("changed the sections of the wiki"),
  "section-renamed": pages("renamed"),
  "session-link-created": people("created a sign-in link for"),
  "session-opened": people("signed in"),
  "session-revoked": people((data) => ("sessions" in data ? "revoked the sessions of" : "revoked a session")),
  "settings-allowed": settings("allowed settings of the repository"),
  "settings-changed": settings("set up the agent"),
  "settings-waiting": null,
  "settings-revoked": settings("withdrew allowed settings"),
  "source-added": sources("added"),
  "source-gone": sources("lost the original of"),
  "source-replaced": sources("replaced"),
  "spend-refused": null,
  "spend-reserved": null,
  "spend-settled": null,
  "steering-delivered": null,
  "steering-sent": runs("sent a message to the worker of"),
  "task-accept": runs("completed"),
  "task-ask": null,
  "task-cancel": runs("cancelled"),
  "task-claim": null,
  "task-created": runs(({ run }) => (run ? undefined : "created")),
  "task-edited": runs("edited"),
  "task-fail": runs("failed"),
  "task-finish": runs("completed"),
  "task-give_up": runs("ended the last attempt of"),
  "task-overturn": runs("overturned"),
  "task-pass": null,
  "task-reject": runs("rejected an attempt of"),
  "task-release": runs(({ forced }) => (forced ? "broke the claim on" : undefined)),
  "task-removed": null,
  "task-reopen": runs("reopened"),
  "task-replanned": null,
  "task-retry": null,
  "task-submit": null,
  "task-take": runs("took over"),
  "task-verify": null,
  "task-write-refused": null,
  "token-created": people("created a token"),
  "token-revoked": people("revoked a token"),
  "topic-assigned": topics(({ assignee }) =>
    typeof assignee === "string" ? `assigned ${assignee} to` : "removed the assignee of",
  ),
  "topic-followed": null,
  "topic-mentioned": null,
  "topic-opened": topics("opened a topic:"),
  "topic-reanchored": topics("moved to other words"),
  "topic-reopened": topics("reopened"),
  "topic-replied": topics("replied to"),
  "topic-resolved": topics("resolved"),
  "trust-changed": pages(({ to }) =>
    to === "stale" || to === "disputed" || to === "withdrawn" || to === "unverified"
      ? "took back the trust of a passage of"
      : undefined,
  ),
  "user-added": people("added"),
  "user-changed": people("changed the rank of"),
  "user-removed": people("removed"),
  "verdict-given": null,
  "verdict-refused": null,
  "verdict-voided": null,
  "workers-ended": null,
};

const isKind = (kind: string): kind is EventKind => Object.hasOwn(words, kind);

/** The kinds that can be activity about these things. */
export const activityKinds = (about: readonly ActivityThing[] = activityThings): EventKind[] =>
  (Object.keys(eventKinds) as EventKind[]).filter((kind) => {
    const said = words[kind];
    return said !== null && about.includes(said.about);
  });

/** What an event says about its thing; undefined if it is not activity. */
export function wordsOf(
  kind: string,
  data: Data,
): { about: ActivityThing; says: string; isByCrew: boolean } | undefined {
  const said = isKind(kind) ? words[kind] : null;
  const says = typeof said?.says === "function" ? said.says(data) : said?.says;
  return said && says !== undefined ? { about: said.about, says, isByCrew: said.byCrew === true } : undefined;
}

export type Actor = { name: string; kind: "person" | "agent" | "system" };

const parts: Record<string, string> = {
  pm: "Planner",
  brief: "Writer of the brief",
  preamble: "Planner",
  reporter: "Reporter",
};

/** Agents without a task have names such as `part-id`. */
export function actorOf(actor: string, roles: ReadonlySet<string>): Actor {
  const agent = partsOfAgentName(actor);
  if (agent) {
    if (agent.part === undefined) return { name: "Crew", kind: "system" };
    return { name: agent.part === "qc" ? "Verifier" : "Worker", kind: "agent" };
  }
  const part = parts[/^([a-z]+)-[a-z0-9]{6}$/.exec(actor)?.[1] ?? ""];
  if (part !== undefined) return { name: part, kind: "agent" };
  if (actor === "scriptorium" || actor === "crew")
    return { name: actor === "crew" ? "Crew" : "Scriptorium", kind: "system" };
  return { name: actor, kind: roles.has(actor) ? "agent" : "person" };
}
