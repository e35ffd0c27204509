import { join } from "node:path";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { Threads } from "../../kernel/threads/threads.ts";
import { mapInTurns } from "../../kernel/turns.ts";
import { advisoryLock } from "../../store/advisory-lock.ts";
import type { Database, Query } from "../../store/database.ts";
import { crashPoint } from "../../store/disk/crash.ts";
import { readIfThere } from "../../store/disk/disk.ts";
import { holdClaim } from "../../store/fence.ts";
import { blobOf, formatOf, isBlob } from "../../store/git/blob.ts";
import type { Git } from "../../store/git/git.ts";
import { readVersion } from "../../store/git/history.ts";
import type { Publications, Stage } from "../../store/publications.ts";
import { findEntry, type IndexedEntry } from "../../store/queries/entries.ts";
import { findVersion, versionsOf } from "../../store/queries/versions.ts";
import {
  type Author,
  approvalData,
  describeEntry,
  type Entry,
  type EntryMetadata,
  type EntryStore,
  type Guard,
} from "../entry.ts";
import { appendTo, logLine, logRemark } from "../log.ts";
import { staleCommit } from "../merge/stale.ts";
import { knownLinks, linksIn, linksWith } from "../pages/links.ts";
import { type Section, sectionWith } from "../schema.ts";
import { emptyDocument, parseDocument, readFront, withBody } from "./document.ts";
import { saveFileVersion } from "./file-version.ts";
import { reconciler } from "./reconcile.ts";

type Deps = {
  db: Database;
  git: Git;
  publications: Publications;
  /** The workspace's folder; `wiki` and `sources` are relative to it. */
  root: string;
  wiki: string;
  sources: string;
  sections(): Promise<Section[]>;
  threads: Threads;
  now(): Date;
};

/** Rolls the transaction back; never returned to a caller. */
const outdated = refuse("conflict", "the file does not match the index");

/** The file store: the files are the truth and the database is an index of them (K3, K13). */
export interface FileStore extends EntryStore {
  /** Compares the file with the index and makes a version of an edit made outside Scriptorium. */
  reconcile(id: string): Promise<void>;
  /** Reconciles every file whose stat has changed. */
  sweep(): Promise<void>;
  /** Reconciles what changed since the last look, unless a watcher is trusted to call `reconcile` in time. */
  refresh(): Promise<void>;
  trustIndex(trusted: boolean): void;
  /** Stops watching; every later look is at every file. */
  close(): void;
  fileOf(id: string): string;
}

export function fileStore(deps: Deps): FileStore {
  const { db, git, publications, root, now } = deps;
  // Concatenated: normalising 10,000 paths takes a third of the time of a sweep.
  const [wikiPath, wikiFolder] = [join(deps.wiki, "/"), join(root, deps.wiki, "/")];
  const pathOf = (id: string) => `${wikiPath}${id}.md`;
  const fileOf = (id: string) => `${wikiFolder}${id}.md`;
  const files = { pathOf, fileOf, now };
  const { current, readable, refresh, sweep, listed, close } = reconciler({
    db,
    git,
    publications,
    root,
    files,
    folders: deps,
    sections: deps.sections,
  });
  let trusted = false;
  let described: { rows: object; sections: Section[]; list: EntryMetadata[] } | undefined;

  type NextBody = {
    body: string;
    links: string[] | null;
    verb: "Commit" | "Append to";
    kind: "entry-committed" | "entry-appended";
  };

  /**
   * Writes the next version, whose body `make` derives from the present one. One transaction covers all of
   * it, and its lock keeps every other process out. Undefined when `make` returns nothing or the file does
   * not match the index: the caller then reconciles and tries again, and nothing that `guard` wrote remains.
   */
  async function writeNext(
    id: string,
    title: string,
    by: Author,
    make: (row: IndexedEntry | undefined, body: string) => NextBody | undefined,
    guard: Guard | undefined,
  ): Promise<Result<number | undefined>> {
    const format = await git.objectFormat();
    const done = await publications.write(async (tx, stage): Promise<Result<number>> => {
      await advisoryLock(tx, db.engine, id);
      const claim = await holdClaim(tx, db.engine, by);
      if (!claim.ok) return claim;
      const row = await findEntry(tx, id);
      const found = await heldIn(tx, id, row);
      if (!found) return outdated;
      const held = found.bytes;
      const document = held ? parseDocument(held) : emptyDocument;
      const made = make(row, document.body);
      if (!made) return outdated;
      const allowed = await guard?.(tx);
      if (allowed?.ok === false) return allowed;

      const bytes = withBody(document, made.body, title);
      const added = held && made.kind === "entry-appended" && bytes.subarray(0, held.length).equals(held);
      const version = await saveFileVersion(tx, files, {
        id,
        row,
        bytes,
        blob: blobOf(bytes, format),
        author: by,
        ...made,
        title: document.front === undefined ? title : (row?.title ?? null),
        file: stage(pathOf(id), bytes, held),
        ...(added ? { added: bytes.subarray(held.length) } : {}),
      });
      crashPoint("version-saved");
      return ok(version);
    });
    return done === outdated ? ok(undefined) : done;
  }

  /** The bytes of the version in the index, which may wait to be published; undefined when the file has others. */
  async function heldIn(tx: Query, id: string, row: IndexedEntry | undefined) {
    const agrees = (bytes: Buffer | undefined) => (row ? isBlob(bytes ?? "", row.blob) : !bytes);
    const bytes = readIfThere(fileOf(id), root);
    if (agrees(bytes)) return { bytes };
    const latest = await publications.latest(pathOf(id), tx);
    return latest && agrees(latest.bytes) ? latest : undefined;
  }

  async function commit(
    id: string,
    content: string,
    version: number,
    by: Author,
    guard?: Guard,
  ): Promise<Result<{ version: number }>> {
    const title = await titleOf(id);
    const text = content.replaceAll("\r\n", "\n");
    const links = linksIn(text, id, deps);
    for (;;) {
      const before = await current(id);
      if (before.isBehind) return keepsChanging(id);
      if (before.version !== version) return staleCommit({ store, threads: deps.threads }, id, text, version);
      if (version > 0 && before.document.body === text) return ok({ version });
      const next = (row: IndexedEntry | undefined): NextBody | undefined =>
        (row?.version ?? 0) === version ? { body: text, links, verb: "Commit", kind: "entry-committed" } : undefined;
      const saved = await writeNext(id, title, by, next, guard);
      if (!saved.ok) return saved;
      if (saved.value !== undefined) return ok({ version: saved.value });
    }
  }

  async function append(
    id: string,
    line: string,
    by: Author,
    guard?: Guard,
  ): Promise<Result<{ version: number; line: string }>> {
    const remark = logRemark(line, by);
    if (!remark.ok) return remark;
    const title = await titleOf(id);
    for (;;) {
      let written = "";
      const next = (row: IndexedEntry | undefined, body: string): NextBody => {
        written = logLine(now().toISOString(), remark.value);
        const known = knownLinks(row);
        const links = known && linksWith(known, written, id, deps);
        return { body: appendTo(body, written), links, verb: "Append to", kind: "entry-appended" };
      };
      const saved = await writeNext(id, title, by, next, guard);
      if (!saved.ok) return saved;
      if (saved.value !== undefined) return ok({ version: saved.value, line: written.trimEnd() });
      if ((await current(id)).isBehind) return keepsChanging(id);
    }
  }

  const keepsChanging = (id: string) =>
    refuse("conflict", `another program keeps writing ${pathOf(id)}; stop it, then try again`);

  async function replace(
    tx: Query,
    stage: Stage,
    id: string,
    text: string,
    base: string,
    by: Author,
  ): Promise<Result<{ version: number }>> {
    await advisoryLock(tx, db.engine, id);
    const bytes = Buffer.from(text);
    const blob = blobOf(bytes, formatOf(base));
    const row = await findEntry(tx, id);
    const found = row?.blob === base ? await heldIn(tx, id, row) : undefined;
    if (!found) return refuse("conflict", `${pathOf(id)} changed during the approval; review the proposal again`);
    const document = parseDocument(bytes);
    const version = await saveFileVersion(tx, files, {
      id,
      row,
      bytes,
      blob,
      body: document.body,
      title: readFront(document, pathOf(id)).title ?? null,
      links: linksIn(document.body, id, deps),
      author: by,
      verb: "Rewrite",
      kind: "entry-committed",
      file: stage(pathOf(id), bytes, found.bytes),
      ...(by.approval ? { data: { approval: approvalData(by.approval) } } : {}),
    });
    crashPoint("version-saved");
    return ok({ version });
  }

  const sectionOf = async (id: string) => sectionWith(await deps.sections(), id);
  const titleOf = async (id: string) => (await sectionOf(id))?.title ?? id;

  const store: FileStore = {
    fileOf,
    close,
    commit,
    append,
    replace,
    trustIndex(value) {
      trusted = value;
    },
    async reconcile(id) {
      await current(id);
    },
    async refresh() {
      if (!trusted) await refresh();
    },
    sweep,
    async list() {
      const rows = trusted ? await listed() : await refresh();
      const sections = await deps.sections();
      // Both are the same objects while nothing has changed, and describing 10,000 entries takes most of a list.
      if (described?.rows !== rows || described.sections !== sections) {
        const list = await mapInTurns(sections, (section) => describeEntry(section, rows.get(section.id)));
        described = { rows, sections, list };
      }
      return [...described.list];
    },
    async fetch(id): Promise<Entry> {
      const { version, document, row, isBehind } = await readable(id);
      const section = (await sectionOf(id)) as Section;
      const entry = { id, content: document.body, version, metadata: describeEntry(section, row) };
      if (!isBehind) return entry;
      const shown =
        version === 0 ? "no version of it is recorded yet" : `this is version ${version}, the last recorded`;
      return { ...entry, note: `another program keeps writing ${pathOf(id)}; ${shown}` };
    },
    history: (id, limit = 100) => readable(id).then(() => versionsOf(db.read, id, limit)),
    async contentAt(id, version) {
      if (version === 0) return "";
      const row = await findVersion(db.read, id, version);
      const bytes = row && (await readVersion(db, git, row.blob));
      return bytes && parseDocument(bytes).body;
    },
  };
  return store;
}
