import type { Query } from "../store/database.ts";
import { type LoggedEvent, withdrawalEvents } from "../store/queries/event-log.ts";
import { findTopic } from "../store/queries/topics.ts";
import { type Contradicting, citedBy, contradictionsOf, decisionsOn, passedWork } from "../store/queries/trust.ts";
import type { CitedSourceRow, PassageDecisionRow } from "../store/trust-tables.ts";
import type { Known } from "./fold.ts";
import { plainText, withoutLogPrefix } from "./passages.ts";
import type { Facts, Verification } from "./rule.ts";

/** The record about the passages of one page. */
export type PageRecord = {
  decisions: PassageDecisionRow[];
  /** Topics of disputes that people have resolved. */
  settled: Set<string>;
  cited: CitedSourceRow[];
  contradictions: Contradicting[];
  withdrawals: Withdrawal[];
  passed: { task: string; epoch: number; by: string; at: string; text: string }[];
};

type Withdrawal = { of: Map<string, string>; what: string; by: string; at: string };

export async function readRecord(query: Query, subject: string, known: Iterable<Known>): Promise<PageRecord> {
  const writers = [...known].map(({ writing }) => writing).filter(({ how }) => how !== "person");
  const named = (kind: "task" | "run" | "role") =>
    [...new Set(writers.flatMap((writing) => writing[kind] ?? []))].map((name) => `${kind}:${name}`);
  const tasks = [...new Set(writers.flatMap(({ task }) => task ?? []))];
  const [decisions, cited, contradictions, events, work] = await Promise.all([
    decisionsOn(query, subject),
    citedBy(query, subject),
    contradictionsOf(query, subject),
    withdrawalEvents(query, [...named("task"), ...named("run"), ...named("role")]),
    passedWork(query, tasks),
  ]);
  return {
    decisions,
    settled: await settledTopics(query, decisions),
    cited,
    contradictions,
    withdrawals: events.map(withdrawalOf),
    passed: work.map(({ task_id, epoch, verifier, at, output }) => ({
      task: task_id,
      epoch: Number(epoch),
      by: verifier,
      at,
      text: plainText(output ?? ""),
    })),
  };
}

async function settledTopics(query: Query, decisions: PassageDecisionRow[]): Promise<Set<string>> {
  const topics = [...new Set(decisions.flatMap(({ kind, topic_id }) => (kind === "dispute" && topic_id) || []))];
  const found = await Promise.all(topics.map((id) => findTopic(query, id)));
  return new Set(found.flatMap((topic) => (topic?.status === "resolved" ? topic.id : [])));
}

/** "run r-1, role engineer" is what one revert took back; an overturned task is named by its subject. */
function withdrawalOf({ kind, subject, actor, at, data }: LoggedEvent): Withdrawal {
  const name = subject.replace(":", " ");
  const said = kind === "run-reverted" ? (data as { what?: string }).what : undefined;
  const of = (said ?? name).split(", ").map((part): [string, string] => {
    const [key = "", ...value] = part.split(" ");
    return [key, value.join(" ")];
  });
  return {
    of: new Map(of),
    what: `${said ?? name} ${kind === "run-reverted" ? "reverted" : "overturned"}`,
    by: actor,
    at,
  };
}

/** The facts about one passage. `replaced` is the passage that it replaced, if that was verified. */
export function factsOf(
  { hash, text, writing }: Known,
  { decisions, settled, cited, contradictions, withdrawals, passed }: PageRecord,
  replaced: Facts["replaced"],
): Facts {
  const own = decisions.filter((decision) => decision.hash === hash);
  const verified = own.filter(({ kind }) => kind === "verify");
  const plain = plainText(withoutLogPrefix(text));
  const verifications: Verification[] = [
    ...(writing.how === "approval" ? [byPerson(writing.approved_by ?? writing.author, writing.written_at)] : []),
    ...(writing.how === "person" ? [byPerson(writing.author, writing.written_at)] : []),
    ...verified.map(({ by_name, at }) => byPerson(by_name, at)),
    ...passed
      .filter(
        ({ task, epoch, text }) =>
          task === writing.task && epoch === writing.epoch && plain !== "" && text.includes(plain),
      )
      .map(({ by, at }): Verification => ({ kind: "check", by, at })),
  ];
  return {
    written: { by: writing.author, at: writing.written_at, version: writing.version },
    verifications,
    withdrawals: withdrawals.filter(({ of, at }) => at >= writing.written_at && isBy(of, writing)),
    disputes: own
      .filter(({ kind, topic_id }) => kind === "dispute" && !(topic_id && settled.has(topic_id)))
      .map(({ by_name, note, at, topic_id }) => ({ by: by_name, why: note, at, topic: topic_id })),
    sources: cited.flatMap((one) =>
      one.hash === hash && one.trouble && one.trouble_at
        ? [{ ref: one.lines ? `${one.ref}#L${one.lines}` : one.ref, trouble: one.trouble, at: one.trouble_at }]
        : [],
    ),
    contradictions: contradictions.flatMap((one) =>
      one.hash === hash && one.verified_at
        ? [{ subject: one.other_subject, passage: one.other_hash, says: one.says, at: one.verified_at }]
        : [],
    ),
    replaced,
    staleAfter: verified.at(-1)?.stale_after,
  };
}

const byPerson = (by: string, at: string): Verification => ({ kind: "person", by, at });

const isBy = (of: Map<string, string>, { task, run, role, epoch }: Known["writing"]) =>
  [...of].every(([key, value]) => String({ task, run, role, epoch }[key] ?? "") === value);
