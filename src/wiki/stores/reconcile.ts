import { advisoryLock } from "../../store/advisory-lock.ts";
import { batches } from "../../store/batches.ts";
import type { Database } from "../../store/database.ts";
import { noteOf } from "../../store/disk/disk.ts";
import { blobOf } from "../../store/git/blob.ts";
import type { Git, Identity } from "../../store/git/git.ts";
import { readVersion } from "../../store/git/history.ts";
import { allEntries, findEntry, type IndexedEntry, setStat } from "../../store/queries/entries.ts";
import { keepsLog } from "../log.ts";
import { linksIn, linksInLog } from "../pages/links.ts";
import type { Section } from "../schema.ts";
import { type EntryDocument, emptyDocument, parseDocument, readFront } from "./document.ts";
import { type EntryFiles, saveFileVersion } from "./file-version.ts";
import { looksChanged, ownerOf, readIfThere, readSettled, statOf } from "./look.ts";
import { readAuthorNote } from "./note.ts";

type Deps = {
  db: Database;
  git: Git;
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
};

const parallelReads = 32;

/** Brings the index in line with the files: an edit made outside Scriptorium becomes a version. */
export function reconciler({ db, git, root, files, folders, sections }: Deps) {
  const { pathOf, fileOf } = files;

  async function current(id: string): Promise<Current> {
    for (let attempt = 1; attempt <= 50; attempt++) {
      const row = await findEntry(db.read, id);
      const bytes = readIfThere(fileOf(id), root);
      if (!row && !bytes) return { version: 0, blob: undefined, document: emptyDocument, row };
      const blob = blobOf(bytes ?? "");
      if (row?.blob === blob) {
        return { version: row.version, blob, document: parseDocument(bytes ?? Buffer.alloc(0)), row };
      }
      // Another process may have written between the two reads; the index then agrees by now.
      const again = await findEntry(db.read, id);
      if (again?.version === row?.version) await adopt(id, row);
    }
    throw new Error(`${pathOf(id)} keeps changing while it is read; try again when the other program is done`);
  }

  /** Makes a version of the file's content, unless another process has done so in the meantime. */
  async function adopt(id: string, row: IndexedEntry | undefined): Promise<void> {
    const bytes = await readSettled(fileOf(id), root, row?.blob);
    const blob = blobOf(bytes);
    if (blob === row?.blob) return;
    const person = await whoEdited(id, bytes);
    const before = row && (await readVersion(db, git, row.blob));
    const log = await isLog(id);
    const links = (log ? linksInLog : linksIn)(parseDocument(bytes).body, id, folders);
    await db.write(async (tx) => {
      await advisoryLock(tx, db.engine, id);
      const latest = await findEntry(tx, id);
      if (latest?.version !== row?.version || blobOf(readIfThere(fileOf(id), root) ?? "") !== blob) return;

      const document = parseDocument(bytes);
      const noted = readAuthorNote(noteOf(fileOf(id)), blob);
      const rewrites = before && log && !keepsLog(parseDocument(before).body, document.body);
      await saveFileVersion(tx, files, {
        id,
        row,
        bytes,
        body: document.body,
        title: readFront(document, pathOf(id)).title ?? null,
        author: noted ?? { name: person.name, email: person.email },
        links,
        verb: noted ? "Recover" : "Edit",
        kind: noted ? "entry-recovered" : "entry-edited",
        data: rewrites ? { rewrote_log: true } : {},
      });
    });
  }

  /** Reconciles every file whose stat has changed. */
  async function sweep(): Promise<void> {
    const rows = byId(await allEntries(db.read));
    const changed = (await sections()).filter(({ id }) => looksChanged(fileOf(id), rows.get(id)));
    for (const batch of batches(changed, parallelReads)) await Promise.all(batch.map(({ id }) => current(id)));
    if (changed.length === 0) return;
    const after = byId(await allEntries(db.read));
    await rememberStats(changed.flatMap(({ id }) => after.get(id) ?? []));
  }

  /** Records the stat of files that were touched but not changed, so that the next sweep skips them. */
  async function rememberStats(rows: IndexedEntry[]): Promise<void> {
    const moved = rows.map((row) => ({ ...row, now: statOf(fileOf(row.id)) })).filter((row) => row.now !== row.stat);
    if (moved.length === 0) return;
    await db.write(async (tx) => {
      for (const { id, version, now } of moved) await setStat(tx, id, version, now);
    });
  }

  const isLog = async (id: string) => (await sections()).find((section) => section.id === id)?.mode === "log";

  async function whoEdited(id: string, bytes: Buffer): Promise<Identity> {
    const committed = await git.committedBy(pathOf(id), bytes);
    if (committed) return { name: committed, email: "" };
    return (await git.person()) ?? { name: await ownerOf(fileOf(id)), email: "" };
  }

  return { current, sweep };
}

export const byId = (rows: IndexedEntry[]) => new Map(rows.map((row) => [row.id, row]));
