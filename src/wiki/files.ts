import { lstatSync, readFileSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ok, type Result } from "../result.ts";
import { crashPoint } from "../store/crash.ts";
import type { Database, Query } from "../store/database.ts";
import { discard, discardNow, publish, stage, stageNow } from "../store/disk.ts";
import { allEntries, findEntry, type IndexedEntry, lockEntry, saveVersion, versionsOf } from "../store/entries.ts";
import type { Git, Identity } from "../store/git.ts";
import { commitMessage, enqueue, readVersion } from "../store/history.ts";
import { blobOf, countWords, type EntryDocument, emptyDocument, parseDocument, withBody } from "./document.ts";
import { type Author, describeEntry, type Entry, type EntryStore } from "./entry.ts";
import { appendTo, keepsLog, logLine, logRemark, remarkOf } from "./log.ts";
import type { Section } from "./schema.ts";
import { staleCommit } from "./stale.ts";

type Deps = {
  db: Database;
  git: Git;
  /** The workspace, and the wiki's folder in it ("wiki"). */
  root: string;
  wiki: string;
  sections(): Promise<Section[]>;
  now(): Date;
};

/** The file store: what is on disk is the truth, the database is an index of it (K3, K13). */
export interface FileStore extends EntryStore {
  /** Compares the file with the index, and makes a version of what a person did to it. */
  reconcile(id: string): Promise<void>;
  /** While something else (a watcher) calls `reconcile` in time, `list` goes by the index alone. */
  trustIndex(trusted: boolean): void;
  fileOf(id: string): string;
}

/** What an entry is at this moment: the file's bytes, and the version they are. */
type Current = { version: number; blob: string | undefined; document: EntryDocument; row: IndexedEntry | undefined };

const quietMs = 80;
const together = 32;
const returnsMs = 250;

export function fileStore(deps: Deps): FileStore {
  const { db, git, root, now } = deps;
  const pathOf = (id: string) => join(deps.wiki, `${id}.md`);
  const fileOf = (id: string) => join(root, pathOf(id));
  let trusted = false;

  async function current(id: string): Promise<Current> {
    for (let attempt = 1; attempt <= 50; attempt++) {
      const row = await findEntry(db.read, id);
      const bytes = await readIfThere(fileOf(id));
      if (!row && !bytes) return { version: 0, blob: undefined, document: emptyDocument, row };
      const blob = blobOf(bytes ?? "");
      if (row?.blob === blob) {
        return { version: row.version, blob, document: parseDocument(bytes ?? Buffer.alloc(0), pathOf(id)), row };
      }
      // Another process may have written between our two looks: then the index agrees by now.
      const again = await findEntry(db.read, id);
      if (again?.version === row?.version) await adopt(id, row);
    }
    throw new Error(`${pathOf(id)} changes faster than it can be read`);
  }

  /** Makes a version of what stands in the file, unless someone else has done so by then. */
  async function adopt(id: string, row: IndexedEntry | undefined): Promise<void> {
    const bytes = await settled(fileOf(id), row?.blob);
    const blob = blobOf(bytes);
    if (blob === row?.blob) return;
    const person = await whoEdited(id, blob);
    const before = row && (await readVersion(db, git, row.blob));
    const log = await isLog(id);
    await db.write(async (tx) => {
      await lockEntry(tx, db.engine, id);
      const latest = await findEntry(tx, id);
      if (latest?.version !== row?.version || blobOf(readNow(fileOf(id))) !== blob) return;

      const document = parseDocument(bytes, pathOf(id));
      const intent = await takeIntent(tx, id, blob, before, bytes);
      const rewrites = before && log && !keepsLog(parseDocument(before, "").body, document.body);
      await saveFileVersion(tx, {
        id,
        row,
        bytes,
        document,
        author: intent ?? { name: person.name, email: person.email },
        verb: intent ? "Recover" : "Edit",
        kind: intent ? "entry-recovered" : "entry-edited",
        data: rewrites ? { rewroteLog: true } : {},
      });
    });
  }

  /** A crash between rename and commit leaves an agent's text in the file; its intent says whose. */
  async function takeIntent(tx: Query, id: string, blob: string, before: Buffer | undefined, after: Buffer) {
    const was = before && parseDocument(before, "").body.trimEnd();
    const is = parseDocument(after, "").body;
    const added = was !== undefined && is.startsWith(was) ? is.slice(was.length).replace(/^\n+/, "") : "";
    const marks = [blob, remarkOf(added)];
    const found = await tx
      .selectFrom("entry_intents")
      .selectAll()
      .where("entry_id", "=", id)
      .where(
        "mark",
        "in",
        marks.filter((mark): mark is string => mark !== undefined),
      )
      .executeTakeFirst();
    if (!found) return undefined;
    await tx.deleteFrom("entry_intents").where("entry_id", "=", id).where("mark", "=", found.mark).execute();
    return authorOf(found);
  }

  type FileVersion = {
    id: string;
    row: IndexedEntry | undefined;
    bytes: Buffer;
    document: EntryDocument;
    author: Author;
    verb: "Commit" | "Append to" | "Edit" | "Recover";
    kind: "entry-committed" | "entry-appended" | "entry-edited" | "entry-recovered";
    /** For an append: the bytes it adds. */
    added?: Buffer;
    data?: Record<string, unknown>;
  };

  async function saveFileVersion(tx: Query, made: FileVersion): Promise<number> {
    const { id, row, bytes, author, document } = made;
    const version = (row?.version ?? 0) + 1;
    const at = now().toISOString();
    const summary = `${made.verb} ${id} (version ${version})`;
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
      title: document.title ?? null,
      words: countWords(document.body),
      stat: statOf(fileOf(id)),
      kind: made.kind,
      ...(made.data ? { data: made.data } : {}),
    });
    const trailers = { Entry: id, Version: version, Role: by.role, Run: by.run, Task: by.task, Epoch: by.epoch };
    await enqueue(tx, {
      path: pathOf(id),
      blob,
      base: row?.blob,
      content: made.added ?? bytes,
      appended: made.added !== undefined,
      author: identityOf(author),
      byPerson: made.kind === "entry-edited",
      message: commitMessage(summary, trailers),
      at,
    });
    return version;
  }

  async function remember(id: string, mark: string, by: Author): Promise<void> {
    const row = {
      author: by.name,
      role: by.role ?? null,
      run: by.run ?? null,
      task: by.task ?? null,
      epoch: by.epoch ?? null,
      at: now().toISOString(),
    };
    await db.write(async (tx) => {
      await tx
        .insertInto("entry_intents")
        .values({ entry_id: id, mark, ...row })
        .onConflict((conflict) => conflict.columns(["entry_id", "mark"]).doUpdateSet(row))
        .execute();
    });
    crashPoint("intent-written");
  }

  const forget = (tx: Query, id: string, mark: string) =>
    tx.deleteFrom("entry_intents").where("entry_id", "=", id).where("mark", "=", mark).execute();

  async function commit(
    id: string,
    content: string,
    version: number,
    by: Author,
  ): Promise<Result<{ version: number }>> {
    const before = await current(id);
    if (before.version !== version) return staleCommit(store, id, content, version);
    const bytes = withBody(before.document, content, await titleOf(id));
    const blob = blobOf(bytes);
    if (blob === before.blob) return ok({ version });

    const [staged] = await Promise.all([stage(fileOf(id), bytes, root), remember(id, blob, by)]);
    const saved = await db.write(async (tx) => {
      await lockEntry(tx, db.engine, id);
      await forget(tx, id, blob);
      const row = await findEntry(tx, id);
      if ((row?.version ?? 0) !== version) return undefined;
      if (!publish(staged, fileOf(id), (now) => isStill(row, now))) return undefined;
      const document = parseDocument(bytes, pathOf(id));
      const saved = await saveFileVersion(tx, {
        id,
        row,
        bytes,
        document,
        author: by,
        verb: "Commit",
        kind: "entry-committed",
      });
      crashPoint("version-saved");
      return saved;
    });
    crashPoint("version-committed");
    if (saved !== undefined) return ok({ version: saved });
    await discard(staged);
    return commit(id, content, version, by);
  }

  async function append(id: string, line: string, by: Author): Promise<Result<{ version: number; line: string }>> {
    const remark = logRemark(line, by);
    if (!remark.ok) return remark;
    await current(id);
    const title = await titleOf(id);
    await remember(id, remark.value, by);
    // The whole write happens in the transaction: appends never conflict, they queue.
    const saved = await db.write(async (tx) => {
      await lockEntry(tx, db.engine, id);
      const row = await findEntry(tx, id);
      const held = row && readNow(fileOf(id));
      if (held && blobOf(held) !== row.blob) return undefined;
      const document = held ? parseDocument(held, pathOf(id)) : emptyDocument;
      const written = logLine(now().toISOString(), remark.value);
      const body = appendTo(document.body, written);
      const bytes = withBody(document, body, title);
      const staged = stageNow(fileOf(id), bytes, root);
      if (!publish(staged, fileOf(id), (now) => isStill(row, now))) {
        discardNow(staged);
        return undefined;
      }
      await forget(tx, id, remark.value);
      const grown = held && bytes.subarray(0, held.length).equals(held);
      const version = await saveFileVersion(tx, {
        id,
        row,
        bytes,
        document: { ...document, body },
        author: by,
        verb: "Append to",
        kind: "entry-appended",
        ...(grown ? { added: bytes.subarray(held.length) } : {}),
      });
      crashPoint("version-saved");
      return { version, line: written.trimEnd() };
    });
    crashPoint("version-committed");
    return saved ? ok(saved) : append(id, line, by);
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
    trustIndex(value) {
      trusted = value;
    },
    async reconcile(id) {
      await current(id);
    },
    async list() {
      const sections = await deps.sections();
      let rows = byId(await allEntries(db.read));
      if (!trusted) {
        const changed = sections.filter(({ id }) => looksChanged(fileOf(id), rows.get(id)));
        for (let at = 0; at < changed.length; at += together) {
          await Promise.all(changed.slice(at, at + together).map(({ id }) => current(id)));
        }
        if (changed.length > 0) {
          rows = byId(await allEntries(db.read));
          await rememberStats(changed.flatMap(({ id }) => rows.get(id) ?? []));
        }
      }
      return sections.map((section) => describeEntry(section, rows.get(section.id)));
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
      return bytes && parseDocument(bytes, pathOf(id)).body;
    },
  };
  return store;
}

const byId = (rows: IndexedEntry[]) => new Map(rows.map((row) => [row.id, row]));

const isStill = (row: IndexedEntry | undefined, bytes: Buffer | undefined) =>
  row ? blobOf(bytes ?? "") === row.blob : bytes === undefined;

function authorOf(row: {
  author: string;
  role: string | null;
  run: string | null;
  task: string | null;
  epoch: number | null;
}): Author {
  return {
    name: row.author,
    ...(row.role === null ? {} : { role: row.role }),
    ...(row.run === null ? {} : { run: row.run }),
    ...(row.task === null ? {} : { task: row.task }),
    ...(row.epoch === null ? {} : { epoch: row.epoch }),
  };
}

const identityOf = (author: Author): Identity => ({
  name: author.name,
  email: author.email ?? (author.role ? `${author.role}@agents.invalid` : ""),
});

async function readIfThere(file: string): Promise<Buffer | undefined> {
  try {
    return await readFile(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function readNow(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return Buffer.alloc(0);
    throw error;
  }
}

/**
 * Editors save in steps: they truncate and then write, or take the file away and put another in
 * its place. What we see is believed once it has been quiet, and emptiness only after a while.
 */
async function settled(file: string, known: string | undefined): Promise<Buffer> {
  const began = Date.now();
  for (;;) {
    const bytes = (await readIfThere(file)) ?? Buffer.alloc(0);
    if (known !== undefined && blobOf(bytes) === known) return bytes;
    const age = await stat(file).then(
      (found) => Date.now() - found.mtimeMs,
      () => Date.now() - began,
    );
    if (age < 0 || age > (bytes.length === 0 ? returnsMs : quietMs)) return bytes;
    await sleep(20);
  }
}

/** Size, time and inode tell an untouched file from a touched one without reading it, as git does. */
function statOf(file: string): string {
  const found = lstatSync(file, { bigint: true, throwIfNoEntry: false });
  return found ? `${found.ino} ${found.size} ${found.mtimeNs}` : "gone";
}

function looksChanged(file: string, row: IndexedEntry | undefined): boolean {
  const now = statOf(file);
  if (!row) return now !== "gone";
  if (now !== row.stat) return true;
  // A file written in the same clock tick as our look may have changed without changing its stat.
  const written = Number(now.split(" ")[2] ?? 0) / 1e6;
  return Math.abs(Date.parse(row.updated_at) - written) < 20 && Date.now() - written < 2_000;
}

async function ownerOf(file: string): Promise<string> {
  const owner = await stat(file).catch(() => undefined);
  const self = userInfo();
  if (!owner || owner.uid === self.uid) return self.username;
  const line = (await readFile("/etc/passwd", "utf8").catch(() => ""))
    .split("\n")
    .find((l) => l.split(":")[2] === String(owner.uid));
  return line?.split(":")[0] ?? `user ${owner.uid}`;
}
