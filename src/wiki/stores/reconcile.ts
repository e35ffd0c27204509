import { existsSync } from "node:fs";
import { join } from "node:path";
import { Refused } from "../../kernel/result.ts";
import { storageProblem } from "../../kernel/storage-problem.ts";
import { mapInTurns } from "../../kernel/turns.ts";
import { advisoryLock } from "../../store/advisory-lock.ts";
import { batches } from "../../store/batches.ts";
import type { Database } from "../../store/database.ts";
import { readIfThere, statOf } from "../../store/disk/disk.ts";
import { blobOf, isBlob } from "../../store/git/blob.ts";
import type { Git, Identity } from "../../store/git/git.ts";
import { readVersion } from "../../store/git/history.ts";
import type { Publications } from "../../store/publications.ts";
import { findEntry, type IndexedEntry, type ListedEntry, listedEntries, setStat } from "../../store/queries/entries.ts";
import { keepsLines, keepsLog } from "../log.ts";
import { linksIn, linksInLog } from "../pages/links.ts";
import { type Section, sectionWith } from "../schema.ts";
import { causeOf } from "./cause.ts";
import { type EntryDocument, emptyDocument, parseDocument, readFront } from "./document.ts";
import { type EntryFiles, type FileVersion, saveFileVersion } from "./file-version.ts";
import { type FolderWatch, type WatchedFiles, watchFolders } from "./folder-watch.ts";
import { authorOf, compareFile, readSettled } from "./look.ts";

type Deps = {
  db: Database;
  git: Git;
  publications: Publications;
  root: string;
  files: EntryFiles;
  folders: { wiki: string; sources: string };
  sections(): Promise<Section[]>;
};

/** An entry's file and the version that it is. */
export type Current = {
  version: number;
  blob: string | undefined;
  document: EntryDocument;
  row: IndexedEntry | undefined;
  /** Set when the file kept changing: the text is that of `version`, not of the file. */
  isBehind?: true;
};

const parallelReads = 32;
/** More changes at once come from `init`, a checkout or a pull: asking git for the author of each would take minutes. */
const few = 20;

/** Brings the index in line with the files: an edit made outside Scriptorium becomes a version. */
export function reconciler({ db, git, publications, root, files, folders, sections }: Deps) {
  const { pathOf, fileOf } = files;
  const watch: FolderWatch = watchFolders(join(root, folders.wiki));
  let watched: { of: Section[]; files: WatchedFiles } | undefined;
  let rowsAt: { stamp: number; rows: Map<string, ListedEntry> } | undefined;

  const filesOf = (present: Section[]): WatchedFiles => {
    if (watched?.of !== present) watched = { of: present, files: watchedFiles(present) };
    return watched.files;
  };

  /** The index rows. Reading 10,000 takes as long as two thirds of a list; the database tells whether they are the same. */
  async function listed(): Promise<Map<string, ListedEntry>> {
    const stamp = db.stamp();
    if (rowsAt && rowsAt.stamp === stamp) return rowsAt.rows;
    const rows = byId(await listedEntries(db.read));
    rowsAt = stamp === undefined ? undefined : { stamp, rows };
    return rows;
  }

  async function current(id: string): Promise<Current> {
    for (let attempt = 1; attempt <= 10; attempt++) {
      const row = await findEntry(db.read, id);
      const bytes = readIfThere(fileOf(id), root);
      if (!row && !bytes) return { version: 0, blob: undefined, document: emptyDocument, row };
      if (row && isBlob(bytes ?? "", row.blob)) {
        return { version: row.version, blob: row.blob, document: parseDocument(bytes ?? Buffer.alloc(0)), row };
      }
      if (!bytes && (await git.isLeftOut(pathOf(id)))) throw leftOut(pathOf(id), folders.wiki);
      // Another process may have written between the two reads; the index then agrees by now.
      const again = await findEntry(db.read, id);
      if (again?.version !== row?.version) continue;
      const waiting = await publications.finish(pathOf(id));
      if (waiting === "none" && !(await adopt(id, row))) return lastRecorded(row);
      const recorded = waiting === "failed" && row ? await recordedVersion(row) : undefined;
      if (recorded) return recorded;
    }
    return lastRecorded(await findEntry(db.read, id));
  }

  /** The answer while a program writes the file all the time. */
  async function lastRecorded(row: IndexedEntry | undefined): Promise<Current> {
    const recorded = row && (await recordedVersion(row));
    const empty = { version: row?.version ?? 0, blob: row?.blob, document: emptyDocument, row };
    return { ...(recorded ?? empty), isBehind: true };
  }

  /** The same for readers: while the disk is full, a person's edit is not recorded, and the last version is shown. */
  const readable = (id: string): Promise<Current> =>
    current(id).catch(async (error: unknown) => {
      const row = storageProblem(error) && (await findEntry(db.read, id));
      const recorded = row && (await recordedVersion(row));
      if (!recorded) throw error;
      return recorded;
    });

  async function recordedVersion(row: IndexedEntry): Promise<Current | undefined> {
    const bytes = await readVersion(db, git, row.blob);
    return bytes && { version: row.version, blob: row.blob, document: parseDocument(bytes), row };
  }

  /**
   * Makes a version of the file's content, unless another process has done so in the meantime. False when the file
   * does not stop changing.
   */
  async function adopt(id: string, row: IndexedEntry | undefined): Promise<boolean> {
    const { bytes, isSettled } = await readSettled(fileOf(id), root, row?.blob);
    const blob = blobOf(bytes, await git.objectFormat());
    if (blob === row?.blob) return true;
    if (!isSettled) return false;
    const atHead = await git.isCommitted(pathOf(id), bytes);
    const author = await authorOf(git, root, pathOf(id), atHead);
    await save([await prepare({ id, row, bytes, blob, author, atHead })]);
    return true;
  }

  type Edit = {
    id: string;
    row: ListedEntry | undefined;
    bytes: Buffer;
    blob: string;
    author: Identity;
    /** Whether HEAD has these bytes. */
    atHead: boolean;
  };

  /** Everything about an edit that can be found out before the transaction. */
  async function prepare({ id, row, bytes, blob, author, atHead }: Edit): Promise<FileVersion> {
    const cause = await causeOf(db.read, git, { row, blob, atHead });
    const before = row && (await readVersion(db, git, row.blob));
    const log = sectionWith(await sections(), id)?.mode === "log";
    const document = parseDocument(bytes);
    const isMerge = cause?.command === "merge";
    const keeps = isMerge ? keepsLines : keepsLog;
    const rewroteLog = before !== undefined && log && !keeps(parseDocument(before).body, document.body);
    return {
      id,
      row,
      bytes,
      blob,
      body: document.body,
      title: readFront(document, pathOf(id)).title ?? null,
      author: { name: author.name, email: author.email },
      links: (log ? linksInLog : linksIn)(document.body, id, folders),
      verb: "Edit",
      kind: "entry-edited",
      rewroteLog,
      // A merge explains lines between others, not lines that are gone.
      cause: rewroteLog && isMerge ? undefined : cause,
    };
  }

  /** Saves versions in one transaction, except of files or entries that have changed again. */
  async function save(versions: FileVersion[]): Promise<void> {
    await db.write(async (tx) => {
      // In one order, so that two processes do not wait for each other.
      for (const made of versions.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
        await advisoryLock(tx, db.engine, made.id);
        const latest = await findEntry(tx, made.id);
        const held = readIfThere(fileOf(made.id), root) ?? Buffer.alloc(0);
        if (latest?.version === made.row?.version && held.equals(made.bytes)) await saveFileVersion(tx, files, made);
      }
    });
  }

  /** Reconciles every file that has changed since the last look, and returns the rows after it. */
  async function refresh(): Promise<Map<string, ListedEntry>> {
    const present = await sections();
    const look = await watch.look(filesOf(present));
    const { rows, inDoubt } = await compareAll(look.suspects === "all" ? idsOf(present) : look.suspects.map(idOf));
    look.end(inDoubt.map((id) => `${id}.md`));
    return rows;
  }

  /** Reconciles every file whose stat has changed. */
  async function sweep(): Promise<void> {
    await compareAll(idsOf(await sections()));
  }

  /** Compares these files with the rows. In doubt is what another look may find changed without an event. */
  async function compareAll(ids: string[]): Promise<{ rows: Map<string, ListedEntry>; inDoubt: string[] }> {
    const rows = await listed();
    const compared = await mapInTurns(ids, (id) => compareFile(fileOf(id), rows.get(id)));
    const changed = ids.filter((_, n) => compared[n] === "changed");
    const inDoubt = ids.filter((_, n) => compared[n] !== "same");
    return { rows: changed.length > 0 ? await reconcileAll(changed, rows) : rows, inDoubt };
  }

  async function reconcileAll(changed: string[], rows: Map<string, ListedEntry>): Promise<Map<string, ListedEntry>> {
    // Missing files and those that wait to be published need a closer look.
    const isMany = changed.length > few && (await publications.finish()) !== "failed";
    const many = new Set(isMany ? changed.filter((id) => existsSync(fileOf(id))) : []);
    await adoptMany([...many], rows);
    const single = changed.filter((id) => !many.has(id));
    for (const batch of batches(single, parallelReads)) await Promise.all(batch.map((id) => current(id)));
    const after = await listed();
    await rememberStats(changed.flatMap((id) => after.get(id) ?? []));
    return after;
  }

  /**
   * Adopts many files, after `init` or a checkout, with a few git processes and one transaction for each batch. A
   * file that is being written is left for the next look.
   */
  async function adoptMany(ids: string[], rows: Map<string, ListedEntry>): Promise<void> {
    const [committed, person, format] = await Promise.all([
      git.committedAuthors(folders.wiki),
      git.person(),
      git.objectFormat(),
    ]);
    for (const batch of batches(ids)) {
      const read = await Promise.all(
        batch.map(async (id): Promise<Edit[]> => {
          const row = rows.get(id);
          const { bytes, isSettled } = await readSettled(fileOf(id), root, row?.blob);
          const blob = blobOf(bytes, format);
          if (!isSettled || blob === row?.blob) return [];
          const name = committed.get(pathOf(id));
          const atHead = name !== undefined;
          const author = atHead ? { name, email: "" } : (person ?? (await authorOf(git, root, pathOf(id), false)));
          return [{ id, row, bytes, blob, author, atHead }];
        }),
      );
      const made: FileVersion[] = [];
      for (const edits of batches(read.flat(), parallelReads)) made.push(...(await Promise.all(edits.map(prepare))));
      if (made.length > 0) await save(made);
    }
  }

  /** Records the stat of files that were touched but not changed, so that the next sweep skips them. */
  async function rememberStats(rows: ListedEntry[]): Promise<void> {
    const moved = rows.map((row) => ({ ...row, now: statOf(fileOf(row.id)) })).filter((row) => row.now !== row.stat);
    if (moved.length === 0) return;
    await db.write(async (tx) => {
      for (const { id, version, now } of moved) await setStat(tx, id, version, now);
    });
  }

  return { current, readable, refresh, sweep, listed, close: () => watch.close() };
}

const idsOf = (sections: Section[]) => sections.map(({ id }) => id);
const idOf = (path: string) => path.slice(0, -".md".length);

/** The files of these sections, and every folder on the way to one. */
function watchedFiles(sections: Section[]): WatchedFiles {
  const folders = new Set([""]);
  for (const { id } of sections) {
    for (let at = id.lastIndexOf("/"); at > 0; at = id.lastIndexOf("/", at - 1)) {
      const folder = id.slice(0, at);
      if (folders.has(folder)) break;
      folders.add(folder);
    }
  }
  return { folders, has: (path) => path.endsWith(".md") && sectionWith(sections, idOf(path)) !== undefined };
}

/** Without this, an entry that a sparse checkout leaves out would count as emptied by a person. */
const leftOut = (path: string, wiki: string) => {
  const message = `${path} is not in this sparse checkout, and entries are files; run: git sparse-checkout add ${wiki}`;
  return new Refused({ code: "refused", message });
};

const byId = (rows: ListedEntry[]) => new Map(rows.map((row) => [row.id, row]));
