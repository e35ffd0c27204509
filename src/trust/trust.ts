import { setTimeout as sleep } from "node:timers/promises";
import type { Folders } from "../kernel/markdown/links.ts";
import { ok, type Result } from "../kernel/result.ts";
import { storageProblem } from "../kernel/storage-problem.ts";
import { turns } from "../kernel/turns.ts";
import { advisoryLock } from "../store/advisory-lock.ts";
import { batches } from "../store/batches.ts";
import type { Database, Query } from "../store/database.ts";
import { appendEvents, type NewEvent } from "../store/events.ts";
import { parseJsonOr } from "../store/json.ts";
import { lastEvent } from "../store/queries/event-log.ts";
import { findTopic } from "../store/queries/topics.ts";
import {
  allCited,
  citedBy,
  decisionsOn,
  deleteTrustTickets,
  findTrustSubject,
  listTrustRows,
  moveTrust,
  nextTrustTickets,
  passagesInState,
  passagesOfSubject,
  queueTrust,
  rebuiltKind,
  removeTrust,
  resetTrust,
  saveCited,
  saveComparison,
  savePassages,
  saveTrustSubject,
  statesByHash,
  subjectsContradictedBy,
  subjectsOverdue,
  subjectsWritten,
  type TrustTicket,
  ticketsOfOthers,
  ticketsOfSubject,
  topicsAboutPassages,
  trustSummary,
  uncomparedPassages,
} from "../store/queries/trust.ts";
import type { CitedSourceRow, ContradictionRow, PassageTrustRow } from "../store/trust-tables.ts";
import type { CitedSources } from "./cited.ts";
import { contradiction, hasValues } from "./contradiction.ts";
import { factsOf, type PageRecord, readRecord } from "./facts.ts";
import { fold, type Known } from "./fold.ts";
import { type Found, type Label, labelOf, passageReader } from "./label.ts";
import { passagesOf } from "./passages.ts";
import { type Ref, refsIn } from "./refs.ts";
import { type Cause, causeText, type Trust, trustOf } from "./rule.ts";
import { cut, parseCounts, type ShownPassage, shownPassage } from "./shown.ts";
import { type Counts, countStates, isDoubtful, isVerified, type TrustState } from "./state.ts";
import { lastWriting, writingsSince } from "./versions.ts";

type Deps = {
  db: Database;
  now(): Date;
  folders: Folders;
  cited: CitedSources;
  /** The subject of an entry's id or a page's path. */
  subjectOf(name: string): Promise<Result<string>>;
  /** The latest text of an entry. */
  entryText(id: string): Promise<{ content: string; version: number } | undefined>;
  entryTextAt(id: string, version: number): Promise<string | undefined>;
  /** The text of a page that is not an entry. */
  pageText(path: string): Promise<string | undefined>;
  blobText(blob: string): Promise<string | undefined>;
  /** Passages of entries and pages that share words with a text. */
  alike(text: string): Promise<{ subject: string; heading: string; body: string }[]>;
};

const ticketsAtOnce = 200;
const comparedAtOnce = 50;
/** Their writes share a transaction. */
const pagesAtOnce = 8;
const lock = "(trust)";

/** Keeps the trust of passages up to date by following the event log. Every step can be repeated. */
export function openTrust(deps: Deps) {
  const { db, now, folders, cited } = deps;
  const pathOf = (subject: string) =>
    subject.startsWith("entry:") ? `${folders.wiki}/${subject.slice(6)}.md` : subject.slice(subject.indexOf(":") + 1);

  const passagesIn = passageReader();
  let catchingUp: Promise<boolean> | undefined;
  let until = 0;

  /**
   * Looks at the events that wait, for a limited time. Returns false if some are left. Callers share the work: each on
   * its own would compute the same pages.
   */
  async function catchUp(ms = Number.POSITIVE_INFINITY): Promise<boolean> {
    until = Math.max(until, performance.now() + ms);
    catchingUp ??= work().finally(() => {
      catchingUp = undefined;
      until = 0;
    });
    if (ms === Number.POSITIVE_INFINITY) return catchingUp;
    const timer = new AbortController();
    const late = sleep(ms, false, { signal: timer.signal }).catch(() => false);
    return Promise.race([catchingUp, late]).finally(() => timer.abort());
  }

  async function work(): Promise<boolean> {
    for (;;) {
      const tickets = await nextTrustTickets(db.read, ticketsAtOnce);
      if (tickets.length === 0) return true;
      for (const pages of batches([...(await bySubject(tickets))], pagesAtOnce)) {
        await Promise.all(pages.map(([subject, ofIt]) => update(subject, ofIt)));
        if (performance.now() > until) return false;
        await turns.next();
      }
    }
  }

  /** Brings one page up to date, whatever else waits. */
  async function catchUpPage(subject: string): Promise<void> {
    await bySubject(await ticketsOfOthers(db.read, ticketsAtOnce));
    if (!(await findTrustSubject(db.read, subject)))
      await db.write((tx) => queueTrust(tx, "passage-wanted", [subject]));
    const tickets = await ticketsOfSubject(db.read, subject);
    if (tickets.length > 0) await update(subject, tickets);
  }

  /** The pages that the events concern, each with its tickets. Events that concern no page are done at once. */
  async function bySubject(tickets: TrustTicket[]): Promise<Map<string, TrustTicket[]>> {
    const found = new Map<string, TrustTicket[]>();
    const nobody: TrustTicket[] = [];
    for (const ticket of tickets) {
      const subjects = await subjectsOf(ticket);
      // A ticket of several pages is queued again for each of them, so that each is done on its own.
      if (subjects.length === 1 && subjects[0] === ticket.subject)
        found.set(ticket.subject, [...(found.get(ticket.subject) ?? []), ticket]);
      else nobody.push(ticket);
      if (nobody.at(-1) === ticket)
        await db.write(async (tx) => {
          await advisoryLock(tx, db.engine, lock);
          await queueTrust(tx, `about ${ticket.kind}`, subjects);
          await deleteTrustTickets(tx, [ticket.ticket]);
        });
    }
    return found;
  }

  const restart = () => db.write((tx) => resetTrust(tx));

  async function subjectsOf({ kind, subject }: TrustTicket): Promise<string[]> {
    const [noun = "", ...rest] = subject.split(":");
    const name = rest.join(":");
    if (noun === "entry" || noun === "page") return [subject];
    if (noun === "source") await checkCited(subject);
    if (noun === "task") return subjectsWritten(db.read, { task: name });
    if (noun === "run") return subjectsWritten(db.read, { run: name });
    if (noun === "role") return subjectsWritten(db.read, { role: name });
    if (noun === "topic") return topicsAboutPassages(db.read, name);
    // After a rebuild of the index nothing is known about what changed.
    if (kind === "index-rebuilt" || kind === "index-repaired") await restart();
    return [];
  }

  /** Computes the passages of one page again. */
  async function update(subject: string, tickets: TrustTicket[]): Promise<void> {
    const renamed = tickets.some(({ kind }) => kind === "section-renamed" || kind === "page-moved");
    if (renamed) await follow(subject);
    const before = await findTrustSubject(db.read, subject);
    const rows = new Map((await passagesOfSubject(db.read, subject)).map((row) => [row.hash, row]));
    const isAsked = tickets.some(({ kind }) => kind === "page-written" || kind.startsWith("passage-"));
    const text =
      before || isAsked || subject.startsWith("entry:") ? await read(subject, before?.version ?? 0, rows) : undefined;
    // A new version changes the passages that it changes; a long log has many others.
    const isVersion = tickets.every(({ kind }) => kind.startsWith("entry-"));
    const isRebuilt = tickets.some(({ kind }) => kind === rebuiltKind);
    const changes = text && (await compute(subject, rows, text, { isNew: before === undefined, isVersion, isRebuilt }));
    await db.write(async (tx) => {
      await advisoryLock(tx, db.engine, lock);
      // Another process was quicker; its tickets are gone, and those that are left are looked at again.
      if ((await findTrustSubject(tx, subject))?.version !== before?.version) return;
      if (changes) await save(tx, subject, changes);
      else if (before) await removeTrust(tx, subject);
      await deleteTrustTickets(
        tx,
        tickets.map(({ ticket }) => ticket),
      );
    });
  }

  async function follow(subject: string): Promise<void> {
    const data = (await lastEvent(db.read, subject, ["section-renamed", "page-moved"]))?.data ?? {};
    if (typeof data.from !== "string") return;
    const from = subject.startsWith("entry:") && !data.from.includes(":") ? `entry:${data.from}` : `page:${data.from}`;
    if (await findTrustSubject(db.read, from)) await db.write((tx) => moveTrust(tx, from, subject));
  }

  /** `unchanged` has the passages that no version since changed. */
  type Folded = { version: number; known: Map<string, Known>; unchanged: ReadonlySet<Known> };

  /** The passages of the latest text with their writers; undefined when the page is gone. */
  async function read(
    subject: string,
    version: number,
    rows: Map<string, PassageTrustRow>,
  ): Promise<Folded | undefined> {
    let known: Map<string, Known> = new Map([...rows].map(([hash, row]) => [hash, fromRow(row)]));
    const unchanged = new Set(known.values());
    if (!subject.startsWith("entry:")) {
      const text = await deps.pageText(pathOf(subject));
      if (text === undefined) return undefined;
      const { writing, base } = await lastWriting(db.read, subject, now());
      // Who approved a change has not approved the rest of the page.
      const first = rows.size === 0 && base !== undefined ? await deps.blobText(base) : undefined;
      if (first !== undefined) known = fold(known, passagesOf(first), { ...writing, how: "edit", approved_by: null });
      return { version: 0, known: fold(known, passagesOf(text), writing), unchanged };
    }
    const id = subject.slice("entry:".length);
    const latest = await deps.entryText(id);
    if (!latest) return undefined;
    const writings = await writingsSince(db.read, id, version);
    let last = version;
    const [oldest] = writings;
    if (version === 0 && oldest && oldest.version > 1) {
      const text = await deps.entryTextAt(id, oldest.version - 1);
      if (text !== undefined) known = fold(known, passagesOf(text), { ...oldest, how: "edit", approved_by: null });
    }
    for (const [at, writing] of writings.entries()) {
      const isLast = at === writings.length - 1;
      const text =
        isLast && writing.version === latest.version ? latest.content : await deps.entryTextAt(id, writing.version);
      last = writing.version;
      if (text === undefined) continue;
      known = fold(known, passagesOf(text), writing);
      await turns.next();
    }
    return { version: last, known, unchanged };
  }

  type Changes = {
    version: number;
    rows: PassageTrustRow[];
    counts: string;
    cited: CitedSourceRow[];
    events: NewEvent[];
    /** Pages with passages that contradict one whose verification changed. */
    others: string[];
    isRebuilt: boolean;
  };

  async function compute(
    subject: string,
    before: Map<string, PassageTrustRow>,
    { version, known, unchanged }: Folded,
    { isNew, isVersion, isRebuilt }: { isNew: boolean; isVersion: boolean; isRebuilt: boolean },
  ): Promise<Changes> {
    const at = now().toISOString();
    const isKept = (one: Known) => isVersion && unchanged.has(one) && before.has(one.hash);
    const affected = [...known.values()].filter((one) => !isKept(one));
    const replacedOnes = affected.flatMap(({ before }) => (before === null ? [] : (known.get(before) ?? [])));
    const record = await readRecord(db.read, subject, [...affected, ...replacedOnes]);
    const trusted = new Map<string, Trust>();
    const trustIn = (one: Known): Trust => {
      const done = trusted.get(one.hash);
      if (done) return done;
      const replaced = one.before === null ? undefined : known.get(one.before);
      // The state of a passage that is gone does not depend on the passages that contradict it.
      const before =
        replaced && replaced !== one ? { state: stateBefore(replaced, record, at), passage: replaced.hash } : undefined;
      const trust = trustOf(factsOf(one, record, before), at);
      trusted.set(one.hash, trust);
      return trust;
    };
    const rows: PassageTrustRow[] = [];
    const events: NewEvent[] = [];
    const seen: CitedSourceRow[] = [];
    const present = [...known.values()].filter(({ gone }) => !gone);
    const stateIn = (one: Known) => (isKept(one) ? (before.get(one.hash)?.state as TrustState) : trustIn(one).state);
    for (const one of affected) {
      const old = before.get(one.hash);
      const refs = old && !old.gone ? parseJsonOr<Ref[]>(old.refs, []) : refsIn(one.text, pathOf(subject), folders);
      const first = trustIn(one);
      const fresh = one.gone ? [] : await snapshots(subject, one.hash, refs, first, record);
      if (fresh.length > 0) {
        seen.push(...fresh);
        record.cited = [...record.cited.filter((row) => !fresh.some((other) => isSame(row, other))), ...fresh];
        trusted.delete(one.hash);
      }
      const trust = trustIn(one);
      const row = toRow(subject, one, trust, refs, record, old);
      if (!old || differs(old, row)) rows.push(row);
      const from = old && !old.gone ? (old.state as TrustState) : isNew ? undefined : trust.lost;
      if (!isRebuilt && !one.gone && from && from !== trust.state)
        events.push(changeEvent(subject, row, from, trust, at));
    }
    const counts = JSON.stringify(countStates(present.map((one) => stateIn(one))));
    const isSaidOtherwise = rows.some((row) => {
      const old = before.get(row.hash);
      return old?.verified_at !== row.verified_at || old.gone !== row.gone || old.state !== row.state;
    });
    const others = isSaidOtherwise ? await subjectsContradictedBy(db.read, subject) : [];
    return { version, rows, counts, cited: seen, events, others, isRebuilt };
  }

  /** What verified passages cite, as it is now, for those whose verification is new. */
  async function snapshots(
    subject: string,
    hash: string,
    refs: Ref[],
    { verification }: Trust,
    { cited: known }: PageRecord,
  ) {
    if (!verification) return [];
    const rows: CitedSourceRow[] = [];
    for (const { ref, lines } of refs) {
      const old = known.find((row) => row.hash === hash && row.ref === ref && row.lines === lines);
      if (old && old.seen_at >= verification.at) continue;
      const seen = (await cited.look({ ref, lines })) ?? "";
      rows.push({ subject, hash, ref, lines, seen, seen_at: verification.at, trouble: null, trouble_at: null });
    }
    return rows;
  }

  async function save(
    tx: Query,
    subject: string,
    { version, rows, counts, cited, events, others, isRebuilt }: Changes,
  ): Promise<void> {
    await savePassages(tx, rows);
    for (const row of cited) await saveCited(tx, row);
    await saveTrustSubject(tx, { subject, version, counts });
    await appendEvents(tx, db.engine, events);
    await queueTrust(tx, isRebuilt ? rebuiltKind : "contradicted", others);
  }

  /** Looks for cited sources that changed; those of one page, or of one source, or all. */
  async function checkCited(like = "%", subject?: string): Promise<void> {
    const rows = subject === undefined ? await allCited(db.read, like) : await citedBy(db.read, subject);
    const at = now().toISOString();
    for (const row of rows) {
      const trouble = (await cited.check(row, row.seen)) ?? null;
      if (trouble === row.trouble) continue;
      await db.write(async (tx) => {
        await saveCited(tx, { ...row, trouble, trouble_at: trouble && at });
        await queueTrust(tx, "about source", [row.subject]);
      });
      await turns.next();
    }
  }

  /** Compares new passages with those that say something alike, for a limited time. */
  async function compare(ms: number): Promise<void> {
    const until = performance.now() + ms;
    for (;;) {
      const passages = await uncomparedPassages(db.read, comparedAtOnce);
      if (passages.length === 0) return;
      const found: { one: (typeof passages)[number]; rows: ContradictionRow[] }[] = [];
      for (const one of passages) {
        found.push({ one, rows: hasValues(one.text) ? await contradicting(one) : [] });
        await turns.next();
        if (performance.now() > until) break;
      }
      await db.write(async (tx) => {
        await advisoryLock(tx, db.engine, lock);
        for (const { one, rows } of found) await saveComparison(tx, one, rows);
      });
      if (performance.now() > until) return;
    }
  }

  async function contradicting({ subject, hash, text }: { subject: string; hash: string; text: string }) {
    const found = (await deps.alike(text)).flatMap(({ subject, heading, body }) =>
      passagesOf(body, heading).map((passage) => ({ ...passage, subject })),
    );
    return found
      .filter((other) => other.subject !== subject || other.hash !== hash)
      .flatMap((other) => {
        const says = contradiction(text, [{ id: other.hash, body: other.text }])?.says;
        const back = says === undefined ? undefined : contradiction(other.text, [{ id: hash, body: text }])?.says;
        if (says === undefined || back === undefined) return [];
        const [mine, theirs] = [
          { subject, hash },
          { subject: other.subject, hash: other.hash },
        ];
        return [
          { ...mine, other_subject: theirs.subject, other_hash: theirs.hash, says },
          { ...theirs, other_subject: mine.subject, other_hash: mine.hash, says: back },
        ];
      });
  }

  return {
    catchUp,
    /** Everything: events, cited files, times that are over, contradictions. */
    async refresh(ms = 5000): Promise<void> {
      if (!(await catchUp(ms))) return;
      await checkCited();
      const overdue = await subjectsOverdue(db.read, now().toISOString());
      if (overdue.length > 0) await db.write((tx) => queueTrust(tx, "overdue", overdue));
      await compare(ms);
      await catchUp(ms);
    },
    /** Forgets the states and computes them from the record again; decisions of people and what they saw are kept. */
    async rebuild(): Promise<void> {
      await restart();
      await this.refresh(Number.POSITIVE_INFINITY);
    },
    pathOf,

    /** The trust of texts that search found. One statement reads it, and a second one only after new events. */
    async labels(found: readonly Found[]): Promise<Label[]> {
      const passages = found.map(passagesIn);
      const hashes = [...new Set(passages.flatMap((some) => some.map(({ hash }) => hash)))];
      if (hashes.length === 0) return found.map(() => ({ trust: "unverified", doubts: [], verified: undefined }));
      let { states, isBehind } = await statesByHash(db, hashes);
      if (isBehind) {
        await readable(() => catchUp(mostBehindMs));
        ({ states } = await statesByHash(db, hashes));
      }
      const known = new Map(states.map((row) => [`${row.subject}#${row.hash}`, row]));
      const at = now().toISOString();
      return found.map(({ subject }, n) => labelOf(subject, passages[n] ?? [], known, at));
    },

    /** How many passages of an entry are in each state, and those that lost their trust; undefined for an empty one. */
    async summary(subject: string): Promise<TrustSummary | undefined> {
      let { counts: known, isBehind } = await trustSummary(db.read, subject);
      if (isBehind) {
        await readable(() => catchUp(mostBehindMs));
        ({ counts: known } = await trustSummary(db.read, subject));
      }
      const counts = parseCounts(known ?? "{}");
      if (Object.keys(counts).length === 0) return undefined;
      const isDoubted = Object.keys(counts).some((state) => isDoubtful(state as TrustState));
      const rows = isDoubted
        ? await passagesInState(db.read, subject, ["withdrawn", "disputed", "stale"], mostDoubts)
        : [];
      const doubts = rows.map(({ state, text, causes }) => {
        const [cause] = parseJsonOr<Cause[]>(causes, []);
        const quote = cut(text.replaceAll(/\s+/g, " "), longestDoubt);
        return `${state} "${quote}"${cause ? `: ${causeText(cause)}` : ""}`;
      });
      return { counts, ...(doubts.length > 0 ? { doubts } : {}) };
    },

    /** The pages with passages that need to be checked again, the newest loss first. */
    async recheck() {
      await readable(() => catchUp(mostBehindMs));
      const rows = await listTrustRows(db.read, {
        states: ["stale", "disputed", "withdrawn"],
        lost: true,
        limit: mostDoubtful,
      });
      const pages = new Map<string, { newest: PassageTrustRow; count: number }>();
      for (const row of rows) {
        const page = pages.get(row.subject);
        if (page) page.count++;
        else pages.set(row.subject, { newest: row, count: 1 });
      }
      return [...pages.values()].map(({ newest, count }) => {
        const [cause] = parseJsonOr<Cause[]>(newest.causes, []);
        return {
          source_path: pathOf(newest.subject),
          count,
          state: newest.state as TrustState,
          passage: newest.hash,
          text: cut(newest.text, longestExcerpt),
          cause: cause ? causeText(cause) : "",
          since: newest.since,
        };
      });
    },

    /** The passages that lost their trust, the newest loss first. */
    async doubtful(): Promise<{ place: string; state: string; text: string; why: string }[]> {
      await readable(() => catchUp(mostBehindMs));
      const rows = await listTrustRows(db.read, { states: ["stale", "disputed", "withdrawn"], limit: mostDoubtful });
      return rows.map(({ subject, state, text, causes }) => {
        const [cause] = parseJsonOr<Cause[]>(causes, []);
        return { place: subject, state, text, why: cause ? causeText(cause) : "" };
      });
    },

    /** The passages of a page, in its order. */
    async page(name: string): Promise<Result<TrustedPage>> {
      const found = await deps.subjectOf(name);
      if (!found.ok) return found;
      const subject = found.value;
      // Reading notices an edit of the file.
      const text = await textOf(subject);
      await readable(async () => {
        await catchUpPage(subject);
        await checkCited("%", subject);
        await catchUpPage(subject);
      });
      const rows = new Map((await passagesOfSubject(db.read, subject)).map((row) => [row.hash, row]));
      const about = await this.about([subject]);
      const shown = passagesOf(text ?? "").flatMap(({ hash, line }) => {
        const row = rows.get(hash);
        return row ? [shownPassage(row, { ...about, line, longest: longestShown })] : [];
      });
      const counts = countStates(shown.map(({ state }) => state));
      return ok({ subject, path: pathOf(subject), counts, passages: shown });
    },

    /** What is needed to show passages of these pages. */
    async about(subjects: readonly string[]) {
      const pages = [...new Set(subjects)];
      const [cited, decisions] = await Promise.all([
        Promise.all(pages.map((subject) => citedBy(db.read, subject))),
        Promise.all(pages.map((subject) => decisionsOn(db.read, subject))),
      ]);
      const all = decisions.flat();
      const topics = [...new Set(all.flatMap(({ topic_id }) => topic_id ?? []))];
      const found = await Promise.all(topics.map((id) => findTopic(db.read, id)));
      const openTopics = new Set(found.flatMap((topic) => (topic?.status === "open" ? topic.id : [])));
      return { cited: cited.flat(), decisions: all, openTopics, pathOf };
    },
  };

  async function textOf(subject: string): Promise<string | undefined> {
    if (!subject.startsWith("entry:")) return deps.pageText(pathOf(subject));
    return (await deps.entryText(subject.slice("entry:".length)))?.content;
  }
}

type TrustedPage = { subject: string; path: string; counts: Counts; passages: ShownPassage[] };

const longestShown = 2000;

type TrustSummary = { counts: Counts; doubts?: string[] };

const mostDoubts = 5;
const longestExcerpt = 300;
const mostDoubtful = 1000;
const longestDoubt = 80;
/** A reader does not wait longer for what was written just now; it counts as unverified until then. */
const mostBehindMs = 500;

export type TrustStore = ReturnType<typeof openTrust>;

/** While nothing can be written, e.g. on a full disk, readers get the states that are known. */
async function readable(update: () => Promise<unknown>): Promise<void> {
  try {
    await update();
  } catch (error) {
    if (!storageProblem(error)) throw error;
  }
}

const isSame = (a: CitedSourceRow, b: CitedSourceRow) => a.hash === b.hash && a.ref === b.ref && a.lines === b.lines;

const fromRow = ({ hash, heading, text, gone, before, ...row }: PassageTrustRow): Known => {
  const { how, author, role, run, task, version, written_at, approved_by } = row;
  const epoch = row.epoch === null ? null : Number(row.epoch);
  return {
    hash,
    heading,
    text,
    gone: gone === 1,
    before,
    writing: { how, author, role, run, task, epoch, version, written_at, approved_by },
  };
};

/** The state of a passage that was replaced, without what others say about it. */
function stateBefore(one: Known, record: PageRecord, at: string): TrustState {
  const { state, verification } = trustOf({ ...factsOf(one, record, undefined), sources: [], contradictions: [] }, at);
  return state === "stale" && verification
    ? verification.kind === "person"
      ? "verified_by_person"
      : "verified_by_check"
    : state;
}

function toRow(
  subject: string,
  { hash, heading, text, gone, before, writing }: Known,
  { state, causes, since, lost, verification }: Trust,
  refs: Ref[],
  { decisions }: PageRecord,
  old: PassageTrustRow | undefined,
): PassageTrustRow {
  const until = decisions.findLast((one) => one.hash === hash && one.kind === "verify")?.stale_after ?? null;
  return {
    subject,
    hash,
    heading,
    text,
    gone: gone ? 1 : 0,
    before,
    state,
    causes: JSON.stringify(causes satisfies Cause[]),
    lost: lost ?? null,
    since,
    ...writing,
    verified_by: verification?.by ?? null,
    verified_at: verification?.at ?? null,
    refs: JSON.stringify(refs),
    stale_after: until,
    compared: old && old.gone === (gone ? 1 : 0) ? old.compared : 0,
  };
}

const differs = (a: PassageTrustRow, b: PassageTrustRow) =>
  (Object.keys(b) as (keyof PassageTrustRow)[]).some((key) => String(a[key]) !== String(b[key]));

const longestText = 200;

function changeEvent(
  subject: string,
  row: PassageTrustRow,
  from: TrustState,
  { state, causes }: Trust,
  at: string,
): NewEvent {
  const [cause] = causes;
  const by = cause && "by" in cause ? cause.by : isVerified(state) ? (row.verified_by ?? "scriptorium") : "scriptorium";
  return {
    at,
    actor: by,
    kind: "trust-changed",
    subject,
    data: { passage: row.hash, text: row.text.slice(0, longestText), from, to: state, causes },
  };
}
