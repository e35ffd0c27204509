import { join } from "node:path";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { advisoryLock } from "../../store/advisory-lock.ts";
import type { Database, Query } from "../../store/database.ts";
import { crashPoint } from "../../store/disk/crash.ts";
import { discard, replaceFile } from "../../store/disk/disk.ts";
import { holdClaim } from "../../store/fence.ts";
import { blobOf } from "../../store/git/blob.ts";
import type { Git } from "../../store/git/git.ts";
import { readVersion } from "../../store/git/history.ts";
import { allEntries, findEntry, type IndexedEntry } from "../../store/queries/entries.ts";
import { findVersion, versionsOf } from "../../store/queries/versions.ts";
import { type Author, approvalData, describeEntry, type Entry, type EntryStore, type Replaced } from "../entry.ts";
import { appendTo, logLine, logRemark } from "../log.ts";
import { staleCommit } from "../merge/stale.ts";
import { knownLinks, linksIn, linksWith } from "../pages/links.ts";
import type { Section } from "../schema.ts";
import { emptyDocument, parseDocument, readFront, withBody } from "./document.ts";
import { saveFileVersion } from "./file-version.ts";
import { readIfThere } from "./look.ts";
import { authorNote } from "./note.ts";
import { byId, reconciler } from "./reconcile.ts";
import { replaceBlob } from "./replace-blob.ts";

type Deps = {
  db: Database;
  git: Git;
  /** The workspace's folder; `wiki` and `sources` are relative to it. */
  root: string;
  wiki: string;
  sources: string;
  sections(): Promise<Section[]>;
  now(): Date;
};

/** The file store: the files are the truth and the database is an index of them (K3, K13). */
export interface FileStore extends EntryStore {
  /** Compares the file with the index and makes a version of an edit made outside Scriptorium. */
  reconcile(id: string): Promise<void>;
  /** Reconciles every file whose stat has changed. */
  sweep(): Promise<void>;
  /** Sweeps, unless a watcher is trusted to call `reconcile` in time. */
  refresh(): Promise<void>;
  trustIndex(trusted: boolean): void;
  fileOf(id: string): string;
}

export function fileStore(deps: Deps): FileStore {
  const { db, git, root, now } = deps;
  const pathOf = (id: string) => join(deps.wiki, `${id}.md`);
  const fileOf = (id: string) => join(root, pathOf(id));
  const files = { pathOf, fileOf, now };
  const { current, sweep } = reconciler({ db, git, root, files, folders: deps, sections: deps.sections });
  let trusted = false;

  type NextBody = {
    body: string;
    links: string[] | null;
    verb: "Commit" | "Append to";
    kind: "entry-committed" | "entry-appended";
  };

  /**
   * Writes the next version, whose body `make` derives from the present one. One transaction covers all of
   * it, and its lock keeps every other process out. Undefined when `make` returns nothing or the file does
   * not match the index: the caller then reconciles and tries again.
   */
  async function writeNext(
    id: string,
    title: string,
    by: Author,
    make: (row: IndexedEntry | undefined, body: string) => NextBody | undefined,
  ): Promise<Result<number | undefined>> {
    let staged: string | undefined;
    const file = fileOf(id);
    try {
      return await db.write(async (tx): Promise<Result<number | undefined>> => {
        await advisoryLock(tx, db.engine, id);
        const claim = await holdClaim(tx, db.engine, by);
        if (!claim.ok) return claim;
        const row = await findEntry(tx, id);
        const held = readIfThere(file, root);
        if (row ? blobOf(held ?? "") !== row.blob : held) return ok(undefined);
        const document = held ? parseDocument(held) : emptyDocument;
        const made = make(row, document.body);
        if (!made) return ok(undefined);

        const bytes = withBody(document, made.body, title);
        staged = replaceFile(file, bytes, held, root, authorNote(blobOf(bytes), by));
        if (staged === undefined) return ok(undefined);
        const added = held && made.kind === "entry-appended" && bytes.subarray(0, held.length).equals(held);
        const version = await saveFileVersion(tx, files, {
          id,
          row,
          bytes,
          author: by,
          ...made,
          title: document.front === undefined ? title : (row?.title ?? null),
          ...(added ? { added: bytes.subarray(held.length) } : {}),
        });
        crashPoint("version-saved");
        return ok(version);
      });
    } finally {
      crashPoint("version-committed");
      // Nobody needs to wait for this; a crash before it leaves a temporary name that the next start removes.
      const done = staged;
      if (done) setImmediate(() => discard(done));
    }
  }

  async function commit(
    id: string,
    content: string,
    version: number,
    by: Author,
  ): Promise<Result<{ version: number }>> {
    const title = await titleOf(id);
    const text = content.replaceAll("\r\n", "\n");
    const links = linksIn(text, id, deps);
    for (;;) {
      const before = await current(id);
      if (before.version !== version) return staleCommit(store, id, content, version);
      if (version > 0 && before.document.body === text) return ok({ version });
      const saved = await writeNext(id, title, by, (row) => {
        if ((row?.version ?? 0) !== version) return undefined;
        return { body: text, links, verb: "Commit", kind: "entry-committed" };
      });
      if (!saved.ok) return saved;
      if (saved.value !== undefined) return ok({ version: saved.value });
    }
  }

  async function append(id: string, line: string, by: Author): Promise<Result<{ version: number; line: string }>> {
    const remark = logRemark(line, by);
    if (!remark.ok) return remark;
    const title = await titleOf(id);
    for (;;) {
      let written = "";
      const saved = await writeNext(id, title, by, (row, body) => {
        written = logLine(now().toISOString(), remark.value);
        const known = knownLinks(row);
        const links = known && linksWith(known, written, id, deps);
        return { body: appendTo(body, written), links, verb: "Append to", kind: "entry-appended" };
      });
      if (!saved.ok) return saved;
      if (saved.value !== undefined) return ok({ version: saved.value, line: written.trimEnd() });
      await current(id);
    }
  }

  async function replace(tx: Query, id: string, text: string, base: string, by: Author): Promise<Result<Replaced>> {
    await advisoryLock(tx, db.engine, id);
    const bytes = Buffer.from(text);
    const blob = blobOf(bytes);
    const row = await findEntry(tx, id);
    // After a crash another process may have found the approved text in the file and made a version of it.
    if (row?.blob === blob) return ok({ version: row.version });
    const changed = refuse("conflict", `${pathOf(id)} changed during the approval; review the proposal again`);
    if (row?.blob !== base) return changed;
    const written = replaceBlob(fileOf(id), bytes, base, root, authorNote(blob, by));
    if (!written) return changed;
    const document = parseDocument(bytes);
    const version = await saveFileVersion(tx, files, {
      id,
      row,
      bytes,
      body: document.body,
      title: readFront(document, pathOf(id)).title ?? null,
      links: linksIn(document.body, id, deps),
      author: by,
      verb: "Rewrite",
      kind: "entry-committed",
      ...(by.approval ? { data: { approval: approvalData(by.approval) } } : {}),
    });
    crashPoint("version-saved");
    return ok({ version, ...written });
  }

  const sectionOf = async (id: string) => (await deps.sections()).find((section) => section.id === id);
  const titleOf = async (id: string) => (await sectionOf(id))?.title ?? id;

  const store: FileStore = {
    fileOf,
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
      if (!trusted) await sweep();
    },
    sweep,
    async list() {
      if (!trusted) await sweep();
      const rows = byId(await allEntries(db.read));
      return (await deps.sections()).map((section) => describeEntry(section, rows.get(section.id)));
    },
    async fetch(id): Promise<Entry> {
      const { version, document, row } = await current(id);
      const section = (await sectionOf(id)) as Section;
      return { id, content: document.body, version, metadata: describeEntry(section, row) };
    },
    history: (id, limit = 100) => current(id).then(() => versionsOf(db.read, id, limit)),
    async contentAt(id, version) {
      if (version === 0) return "";
      const row = await findVersion(db.read, id, version);
      const bytes = row && (await readVersion(db, git, row.blob));
      return bytes && parseDocument(bytes).body;
    },
  };
  return store;
}
