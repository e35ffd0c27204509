import * as z from "zod";
import { ok, Refused, type Result, refuse } from "../../kernel/result.ts";
import type { Threads } from "../../kernel/threads/threads.ts";
import { advisoryLock } from "../../store/advisory-lock.ts";
import type { Database, Query } from "../../store/database.ts";
import { holdClaim } from "../../store/fence.ts";
import { blobOf } from "../../store/git/blob.ts";
import { allEntries, findEntry, type IndexedEntry, saveVersion } from "../../store/queries/entries.ts";
import { hasVersion, versionsOf } from "../../store/queries/versions.ts";
import { type Author, approvalData, describeEntry, type EntryStore, summaryOf, writerColumns } from "../entry.ts";
import { appendTo, logLine, logRemark } from "../log.ts";
import { staleCommit } from "../merge/stale.ts";
import { linksIn, linksInLog } from "../pages/links.ts";
import { type Section, sectionWith } from "../schema.ts";
import { countWords } from "./document.ts";
import type { StoredVersion, VersionStore } from "./version-store.ts";

type Deps = {
  db: Database;
  store: VersionStore;
  /** The module, for messages. */
  module: string;
  sections(): Promise<Section[]>;
  wiki: string;
  sources: string;
  threads: Threads;
  now(): Date;
};

/**
 * Entries in a store of the user's own. The store is the truth and the database is an index of it:
 *
 *   write to the store (compare-and-swap) ──▶ transaction: version row, index row, event
 *
 * A crash in between, or a write by another machine, leaves the store ahead of the index. Every read compares the two
 * and indexes what is missing, with the author and the time that the store has kept.
 */
export function indexedStore({ db, store, module, sections, wiki, sources, threads, now }: Deps): EntryStore {
  const folders = { wiki, sources };
  const inTurn = queueByKey();
  const sectionOf = async (id: string) => sectionWith(await sections(), id);

  /** The latest version, once it is indexed. */
  async function current(id: string): Promise<{ row: IndexedEntry | undefined; latest: StoredVersion | undefined }> {
    for (;;) {
      // The row first: a version is in the store before it is in the index, so a whole store is never behind.
      const row = await findEntry(db.read, id);
      const latest = await store.read(id);
      const [indexed, stored] = [row?.version ?? 0, latest?.version ?? 0];
      if (indexed === stored) return { row, latest };
      if (indexed > stored) throw lostVersions(id, module, indexed, stored);
      await index(id);
    }
  }

  /** Indexes the versions of an entry that the index lacks. */
  async function index(id: string): Promise<void> {
    for (;;) {
      const next = ((await findEntry(db.read, id))?.version ?? 0) + 1;
      const version = await store.read(id, next);
      if (version) await record(id, version);
      else if (((await store.read(id))?.version ?? 0) < next) return;
      else if (!(await store.read(id, next))) throw lostVersions(id, module, next, next - 1);
    }
  }

  /** False when the index lacks an earlier version. */
  async function record(id: string, version: StoredVersion): Promise<boolean> {
    const log = (await sectionOf(id))?.mode === "log";
    const links = (log ? linksInLog : linksIn)(version.content, id, folders);
    return db.write(async (tx) => {
      await advisoryLock(tx, db.engine, id);
      const indexed = (await findEntry(tx, id))?.version ?? 0;
      if (indexed === version.version - 1) await saveIndex(tx, id, version, links);
      return indexed >= version.version - 1;
    });
  }

  /**
   * Writes the next version; false when another writer was faster. The claim is checked before the write: unlike a
   * transaction, a foreign store cannot hold it until the write is done.
   */
  async function write(id: string, next: StoredVersion, by: Author): Promise<Result<boolean>> {
    const claim = await db.write((tx) => holdClaim(tx, db.engine, by));
    if (!claim.ok) return claim;
    if (!(await store.write(id, next))) return ok(false);
    if (!(await record(id, next))) await index(id);
    return ok(true);
  }

  async function append(id: string, line: string, by: Author): Promise<Result<{ version: number; line: string }>> {
    const remark = logRemark(line, by);
    if (!remark.ok) return remark;
    for (;;) {
      const latest = await store.read(id);
      const at = later(now(), latest);
      const added = logLine(at.toISOString(), remark.value);
      const next = nextVersion(id, latest, appendTo(latest?.content ?? "", added), by, "Append to", at);
      const written = await write(id, next, by);
      if (!written.ok) return written;
      if (written.value) return ok({ version: next.version, line: added.trimEnd() });
    }
  }

  const changed = (id: string) => refuse("conflict", `${id} changed during the approval; review the proposal again`);

  async function isPublished(id: string, proposal: string): Promise<boolean> {
    const { latest } = await current(id);
    const newest = latest?.version ?? 0;
    for (let version = newest; version > Math.max(0, newest - versionsSearched); version--)
      if ((await store.read(id, version))?.facts.proposal === proposal) return true;
    return false;
  }

  async function publish(id: string, text: string, base: string, by: Author): Promise<Result<true>> {
    if (by.approval && (await isPublished(id, by.approval.proposal))) return ok(true);
    const { latest } = await current(id);
    if (blobOf(latest?.content ?? "") !== base) return changed(id);
    const next = nextVersion(id, latest, text.replaceAll("\r\n", "\n"), by, "Commit", now());
    const written = await write(id, next, by);
    if (!written.ok) return written;
    return written.value ? ok(true) : changed(id);
  }

  const entries: EntryStore = {
    async list() {
      const rows = byId(await allEntries(db.read));
      const listed = await store.list();
      const behind = listed.filter(({ id, version }) => (rows.get(id)?.version ?? 0) < version);
      for (const { id } of behind) await index(id);
      const indexed = behind.length > 0 ? byId(await allEntries(db.read)) : rows;
      return (await sections()).map((section) => describeEntry(section, indexed.get(section.id)));
    },

    async fetch(id) {
      const { row, latest } = await current(id);
      const section = (await sectionOf(id)) as Section;
      return {
        id,
        content: latest?.content ?? "",
        version: latest?.version ?? 0,
        metadata: describeEntry(section, row),
      };
    },

    async commit(id, content, version, by) {
      const text = content.replaceAll("\r\n", "\n");
      const { latest } = await current(id);
      if ((latest?.version ?? 0) !== version) return staleCommit({ store: entries, threads }, id, text, version);
      if (latest?.content === text) return ok({ version });
      const written = await write(id, nextVersion(id, latest, text, by, "Commit", now()), by);
      if (!written.ok) return written;
      return written.value ? ok({ version: version + 1 }) : staleCommit({ store: entries, threads }, id, text, version);
    },

    // One after the other: writers of the same process would only make each other repeat their writes.
    append: (id, line, by) => inTurn(id, () => append(id, line, by)),

    publish,
    isPublished,
    async replace(tx, _stage, id, text) {
      const row = await findEntry(tx, id);
      const isThere = row && (await hasVersion(tx, id, blobOf(text.replaceAll("\r\n", "\n"))));
      return isThere ? ok({ version: row.version }) : changed(id);
    },

    history: (id, limit = 100) => current(id).then(() => versionsOf(db.read, id, limit)),
    contentAt: async (id, version) => (version === 0 ? "" : (await store.read(id, version))?.content),
  };
  return entries;
}

const byId = (rows: IndexedEntry[]) => new Map(rows.map((row) => [row.id, row]));

/** An approval that a crash interrupted is looked for among this many of the newest versions. */
const versionsSearched = 50;

/** Runs work of the same key one after the other. */
function queueByKey() {
  const last = new Map<string, Promise<unknown>>();
  return <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const mine = (last.get(key) ?? Promise.resolve()).then(work, work);
    last.set(key, mine);
    const forget = () => {
      if (last.get(key) === mine) last.delete(key);
    };
    mine.then(forget, forget);
    return mine;
  };
}

const lostVersions = (id: string, module: string, indexed: number, stored: number) =>
  new Refused({
    code: "conflict",
    message: `${id} is at version ${indexed} in the database and at version ${stored} in the store ${module}: the store has lost versions, or scriptorium.yaml names another store than before; restore the store, or name the earlier one`,
  });

/** Lines of a log are in the order of their times, whichever machine wrote them. */
const later = (now: Date, latest: StoredVersion | undefined) =>
  new Date(Math.max(now.getTime(), Date.parse(latest?.facts.at ?? "") || 0));

type Verb = "Commit" | "Append to";

function nextVersion(
  id: string,
  latest: StoredVersion | undefined,
  content: string,
  by: Author,
  verb: Verb,
  at: Date,
): StoredVersion {
  const version = (latest?.version ?? 0) + 1;
  const { approval, reverts } = by;
  const facts = {
    ...writerColumns(by),
    at: at.toISOString(),
    summary: summaryOf(id, version, by, verb),
    appended: verb === "Append to",
    ...(approval ? { proposal: approval.proposal, approval: approvalData(approval) } : {}),
    ...(reverts ? { reverts: reverts.what } : {}),
    ...(by.proven ? { proven: true } : {}),
  };
  // Without undefined values, which JSON cannot hold.
  return { version, content, facts: JSON.parse(JSON.stringify(facts)) };
}

const text = z.string().nullable().catch(null);
/** Facts come back from foreign code: a wrong field is replaced, so that the version can still be indexed. */
const knownFacts = z.object({
  author: z.string().catch("unknown"),
  role: text,
  run: text,
  task: text,
  epoch: z.int().nullable().catch(null),
  at: z.iso.datetime().catch(() => new Date(0).toISOString()),
  summary: z.string().catch(""),
  appended: z.boolean().catch(false),
  approval: z.record(z.string(), z.json()).optional().catch(undefined),
  reverts: z.string().optional().catch(undefined),
  proven: z.literal(true).optional().catch(undefined),
});

async function saveIndex(
  tx: Query,
  id: string,
  { version, content, facts }: StoredVersion,
  links: string[],
): Promise<void> {
  const { author, role, run, task, epoch, at, summary, appended, approval, reverts, proven } = knownFacts.parse(facts);
  await saveVersion(tx, {
    entry_id: id,
    version,
    blob: blobOf(content),
    content: null,
    appended: 0,
    author,
    role,
    run,
    task,
    epoch,
    at,
    summary: summary || `Commit ${id} (version ${version})`,
    title: null,
    words: countWords(content),
    stat: "",
    links,
    kind: appended ? "entry-appended" : "entry-committed",
    data: { ...(approval ? { approval } : {}), ...(reverts ? { reverts } : {}), ...(proven ? { proven } : {}) },
  });
}
