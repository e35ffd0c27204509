import { join } from "node:path";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { Database, Query } from "../../store/database.ts";
import { crashPoint } from "../../store/disk/crash.ts";
import { discard, noteOf, publish, stage } from "../../store/disk/disk.ts";
import { holdClaim } from "../../store/fence.ts";
import type { Git, Identity } from "../../store/git/git.ts";
import { commitMessage, enqueue, readVersion } from "../../store/git/history.ts";
import {
  allEntries,
  findEntry,
  type IndexedEntry,
  lockEntry,
  saveVersion,
  versionsOf,
} from "../../store/queries/entries.ts";
import {
  type Author,
  approvalTrailers,
  describeEntry,
  type Entry,
  type EntryStore,
  identityOf,
  type Replaced,
  summaryOf,
} from "../entry.ts";
import { appendTo, keepsLog, logLine, logRemark } from "../log.ts";
import { staleCommit } from "../merge/stale.ts";
import { knownLinks, linksIn, linksInLog, linksWith } from "../pages/links.ts";
import type { Section } from "../schema.ts";
import {
  blobOf,
  countWords,
  type EntryDocument,
  emptyDocument,
  parseDocument,
  readFront,
  withBody,
} from "./document.ts";
import { looksChanged, ownerOf, readIfThere, settled, statOf } from "./look.ts";
import { readNote, spellNote } from "./note.ts";

type Deps = {
  db: Database;
  git: Git;
  /** The workspace, and the wiki's folder in it ("wiki"). */
  root: string;
  wiki: string;
  sources: string;
  sections(): Promise<Section[]>;
  now(): Date;
};

/** The file store: what is on disk is the truth, the database is an index of it (K3, K13). */
export interface FileStore extends EntryStore {
  /** Compares the file with the index, and makes a version of what a person did to it. */
  reconcile(id: string): Promise<void>;
  /** Reconciles every file that looks changed. */
  sweep(): Promise<void>;
  /** The same, unless something else (a watcher) is trusted to call `reconcile` in time. */
  refresh(): Promise<void>;
  trustIndex(trusted: boolean): void;
  fileOf(id: string): string;
}

/** What an entry is at this moment: the file's bytes, and the version they are. */
type Current = { version: number; blob: string | undefined; document: EntryDocument; row: IndexedEntry | undefined };

const together = 32;

export function fileStore(deps: Deps): FileStore {
  const { db, git, root, now } = deps;
  const pathOf = (id: string) => join(deps.wiki, `${id}.md`);
  const fileOf = (id: string) => join(root, pathOf(id));
  let trusted = false;

  async function current(id: string): Promise<Current> {
    for (let attempt = 1; attempt <= 50; attempt++) {
      const row = await findEntry(db.read, id);
      const bytes = readIfThere(fileOf(id), root);
      if (!row && !bytes) return { version: 0, blob: undefined, document: emptyDocument, row };
      const blob = blobOf(bytes ?? "");
      if (row?.blob === blob) {
        return { version: row.version, blob, document: parseDocument(bytes ?? Buffer.alloc(0)), row };
      }
      // Another process may have written between our two looks: then the index agrees by now.
      const again = await findEntry(db.read, id);
      if (again?.version === row?.version) await adopt(id, row);
    }
    throw new Error(`${pathOf(id)} changes faster than it can be read`);
  }

  /** Makes a version of what stands in the file, unless someone else has done so by then. */
  async function adopt(id: string, row: IndexedEntry | undefined): Promise<void> {
    const bytes = await settled(fileOf(id), root, row?.blob);
    const blob = blobOf(bytes);
    if (blob === row?.blob) return;
    const person = await whoEdited(id, blob);
    const before = row && (await readVersion(db, git, row.blob));
    const log = await isLog(id);
    const links = (log ? linksInLog : linksIn)(parseDocument(bytes).body, id, deps);
    await db.write(async (tx) => {
      await lockEntry(tx, db.engine, id);
      const latest = await findEntry(tx, id);
      if (latest?.version !== row?.version || blobOf(readIfThere(fileOf(id), root) ?? "") !== blob) return;

      const document = parseDocument(bytes);
      const noted = readNote(noteOf(fileOf(id)), blob);
      const rewrites = before && log && !keepsLog(parseDocument(before).body, document.body);
      await saveFileVersion(tx, {
        id,
        row,
        bytes,
        body: document.body,
        title: readFront(document, pathOf(id)).title ?? null,
        author: noted ?? { name: person.name, email: person.email },
        links,
        verb: noted ? "Recover" : "Edit",
        kind: noted ? "entry-recovered" : "entry-edited",
        data: rewrites ? { rewroteLog: true } : {},
      });
    });
  }

  type FileVersion = {
    id: string;
    row: IndexedEntry | undefined;
    bytes: Buffer;
    body: string;
    title: string | null;
    links: string[] | null;
    author: Author;
    verb: "Commit" | "Append to" | "Edit" | "Recover" | "Rewrite";
    kind: "entry-committed" | "entry-appended" | "entry-edited" | "entry-recovered";
    /** For an append: the bytes it adds. */
    added?: Buffer;
    data?: Record<string, unknown>;
  };

  async function saveFileVersion(tx: Query, made: FileVersion): Promise<number> {
    const { id, row, bytes, author, body, title } = made;
    const version = (row?.version ?? 0) + 1;
    const at = now().toISOString();
    const { approval, reverts } = author;
    const summary = summaryOf(id, version, author, made.verb);
    const blob = blobOf(bytes);
    const by = {
      author: author.name,
      role: author.role ?? null,
      run: author.run ?? null,
      task: author.task ?? null,
      epoch: author.epoch ?? null,
    };
    await saveVersion(tx, {
      entry_id: id,
      version,
      blob,
      content: null,
      appended: 0,
      ...by,
      at,
      summary,
      title,
      words: countWords(body),
      stat: statOf(fileOf(id)),
      links: made.links,
      kind: made.kind,
      ...(made.data || reverts ? { data: { ...made.data, ...(reverts ? { reverts: reverts.what } : {}) } } : {}),
    });
    const named = { Entry: id, Version: version, Role: by.role, Run: by.run, Task: by.task, Epoch: by.epoch };
    const trailers = { ...named, Reverts: reverts?.what, ...(approval ? approvalTrailers(approval) : {}) };
    await enqueue(tx, {
      path: pathOf(id),
      blob,
      base: row?.blob,
      content: made.added ?? bytes,
      appended: made.added !== undefined,
      author: identityOf(author),
      byPerson: made.kind === "entry-edited",
      message: commitMessage(summary, trailers, approval?.note),
      at,
      onlyOnBase: approval !== undefined,
    });
    return version;
  }

  type Made = {
    body: string;
    links: string[] | null;
    verb: "Commit" | "Append to";
    kind: "entry-committed" | "entry-appended";
  };

  /**
   * Writes the next version: `make` says what the body shall be, given what it is. All of it happens
   * in one transaction, whose lock keeps every other process out. Undefined when `make` has nothing
   * to write, or the file is not what the index says: then the caller looks again.
   */
  async function writeNext(
    id: string,
    title: string,
    by: Author,
    make: (row: IndexedEntry | undefined, body: string) => Made | undefined,
  ): Promise<Result<number | undefined>> {
    let staged: string | undefined;
    const file = fileOf(id);
    try {
      return await db.write(async (tx): Promise<Result<number | undefined>> => {
        await lockEntry(tx, db.engine, id);
        const claim = await holdClaim(tx, db.engine, by);
        if (!claim.ok) return claim;
        const row = await findEntry(tx, id);
        const held = readIfThere(file, root);
        if (row ? blobOf(held ?? "") !== row.blob : held) return ok(undefined);
        const document = held ? parseDocument(held) : emptyDocument;
        const made = make(row, document.body);
        if (!made) return ok(undefined);

        const bytes = withBody(document, made.body, title);
        staged = stage(file, bytes, root, spellNote(blobOf(bytes), by));
        if (!publish(staged, file, held, root)) return ok(undefined);
        const added = held && made.kind === "entry-appended" && bytes.subarray(0, held.length).equals(held);
        const version = await saveFileVersion(tx, {
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
      // Nobody waits for that; a crash before it leaves a name that the next start sweeps away.
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
    await lockEntry(tx, db.engine, id);
    const bytes = Buffer.from(text);
    const blob = blobOf(bytes);
    const file = fileOf(id);
    const row = await findEntry(tx, id);
    // Another process may have found the text of an approval that a crash cut off, and made its version.
    if (row?.blob === blob) return ok({ version: row.version });
    const held = readIfThere(file, root);
    const isThere = held?.equals(bytes) ?? false;
    const changed = refuse("conflict", `${pathOf(id)} changed while you approved; look at it again`);
    if (row?.blob !== base || (!isThere && blobOf(held ?? "") !== base)) return changed;

    const staged = isThere ? undefined : stage(file, bytes, root, spellNote(blob, by));
    if (staged && !publish(staged, file, held, root)) {
      discard(staged);
      return changed;
    }
    const document = parseDocument(bytes);
    const version = await saveFileVersion(tx, {
      id,
      row,
      bytes,
      body: document.body,
      title: readFront(document, pathOf(id)).title ?? null,
      links: linksIn(document.body, id, deps),
      author: by,
      verb: "Rewrite",
      kind: "entry-committed",
      ...(by.approval ? { data: { approval: by.approval } } : {}),
    });
    crashPoint("version-saved");
    return ok(staged ? { version, staged } : { version });
  }

  /** Looks at every file whose stat is not what it was. */
  async function sweep(): Promise<void> {
    const rows = byId(await allEntries(db.read));
    const changed = (await deps.sections()).filter(({ id }) => looksChanged(fileOf(id), rows.get(id)));
    for (let at = 0; at < changed.length; at += together) {
      await Promise.all(changed.slice(at, at + together).map(({ id }) => current(id)));
    }
    if (changed.length === 0) return;
    const after = byId(await allEntries(db.read));
    await rememberStats(changed.flatMap(({ id }) => after.get(id) ?? []));
  }

  /** A file that was touched and not changed is not read again until it is touched again. */
  async function rememberStats(rows: IndexedEntry[]): Promise<void> {
    const moved = rows.map((row) => ({ ...row, now: statOf(fileOf(row.id)) })).filter((row) => row.now !== row.stat);
    if (moved.length === 0) return;
    await db.write(async (tx) => {
      for (const { id, version, now } of moved) {
        await tx
          .updateTable("entries")
          .set({ stat: now })
          .where("id", "=", id)
          .where("version", "=", version)
          .execute();
      }
    });
  }

  const sectionOf = async (id: string) => (await deps.sections()).find((section) => section.id === id);
  const titleOf = async (id: string) => (await sectionOf(id))?.title ?? id;
  const isLog = async (id: string) => (await sectionOf(id))?.mode === "log";

  async function whoEdited(id: string, blob: string): Promise<Identity> {
    const committed = await git.committedBy(pathOf(id), blob);
    if (committed) return { name: committed, email: "" };
    return (await git.person()) ?? { name: await ownerOf(fileOf(id)), email: "" };
  }

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
      const row = await db.read
        .selectFrom("entry_versions")
        .select("blob")
        .where("entry_id", "=", id)
        .where("version", "=", version)
        .executeTakeFirst();
      const bytes = row && (await readVersion(db, git, row.blob));
      return bytes && parseDocument(bytes).body;
    },
  };
  return store;
}

const byId = (rows: IndexedEntry[]) => new Map(rows.map((row) => [row.id, row]));
