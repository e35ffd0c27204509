import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { Database, DatabaseAddress, Query } from "../../store/database.ts";
import { privateFile } from "../../store/disk/private.ts";
import type { Git } from "../../store/git/git.ts";
import { historyRefOf } from "../../store/git/history-ref.ts";
import { parseJsonOr } from "../../store/json.ts";
import { postgresName } from "../../store/postgres/address.ts";
import { isInUse } from "../../store/queries/entries.ts";
import { addMeta, findMeta, setMeta } from "../../store/queries/meta.ts";
import { writingStore } from "../../store/queries/versions.ts";

/**
 * Which store holds the entries. The database records it, and `.scriptorium/book.json` names that database, so that a
 * configuration which names another store or an empty database is refused instead of showing an empty book (N1).
 */
export type Book = { id: string; store: string };

const bookFile = z.object({ id: z.string(), store: z.string(), database: z.string() });
type BookFile = z.infer<typeof bookFile>;

const metaKey = "book";

type Deps = {
  db: Database;
  git: Git;
  config: { store: string; wiki: string; database: DatabaseAddress; stateFolder: string };
  newId(prefix: string): string;
};

/** Refuses a configuration that does not name the store that holds the entries. */
export async function checkBook(deps: Deps): Promise<Result<true>> {
  const { db, git, config } = deps;
  const database = databaseName(config.database);
  const known = readBookFile(config.stateFolder);
  const recorded = await recordedBook(db);
  if (recorded && known && known.id !== recorded.id) return otherBook(known, database);
  // The rows of a store of the user have no texts either, so nothing can be inferred from them.
  const found = recorded ?? (config.store === "module" ? undefined : await inferredBook(db));
  if (found && found.store !== config.store) return otherStore(found.store, config.store);
  if (!found && known && (known.database !== database || known.store !== config.store))
    return elsewhere(known, database);
  if (!found && config.store === "database" && !(await isInUse(db.read))) {
    if (known) return emptied(database);
    const isInFiles = await git.lastCommit(await historyRefOf(git), "--", `:(glob)${config.wiki}/**/*.md`);
    // Another process may have written the first version meanwhile, and mirrored it into git.
    if (isInFiles && !(await isInUse(db.read))) return otherStore("files", config.store);
  }
  await rememberBook(deps);
  return ok(true);
}

/** At the end of a process: what it wrote may be the first. A record that is there is not touched, as it may be moved. */
export async function rememberNewBook(deps: Deps): Promise<void> {
  if (!readBookFile(deps.config.stateFolder)) await rememberBook(deps);
}

/** Records where the entries are, once somebody has written something: until then another database may be named. */
async function rememberBook({ db, config, newId }: Deps): Promise<void> {
  const known = readBookFile(config.stateFolder);
  const recorded = await recordedBook(db);
  if (!recorded && !known && !(await isInUse(db.read))) return;
  const { id } = recorded ?? (await firstRecord(db, { id: known?.id ?? newId("book"), store: config.store }));
  const file = { id, store: config.store, database: databaseName(config.database) };
  if (known?.id !== file.id || known.store !== file.store || known.database !== file.database)
    writeBookFile(config.stateFolder, file);
}

/** Of processes that write for the first time at the same moment, one records the id of the wiki, and all use that record. */
const firstRecord = (db: Database, book: Book): Promise<Book> =>
  db.write(async (tx) => {
    await addMeta(tx, metaKey, JSON.stringify(book));
    return parseJsonOr((await findMeta(tx, metaKey)) ?? "", book);
  });

export async function recordedBook(db: Database): Promise<Book | undefined> {
  const text = await findMeta(db.read, metaKey);
  return text === undefined ? undefined : parseJsonOr<Book | undefined>(text, undefined);
}

export const recordBookIn = (tx: Query, book: Book) => setMeta(tx, metaKey, JSON.stringify(book));

/** A database of 0.1.0 has no record. */
async function inferredBook(db: Database): Promise<{ store: string } | undefined> {
  const store = await writingStore(db.read);
  return store && { store };
}

export function readBookFile(stateFolder: string): BookFile | undefined {
  try {
    return bookFile.parse(JSON.parse(readFileSync(join(stateFolder, "book.json"), "utf8")));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Replaces the file as a whole: another process may be reading it. */
export function writeBookFile(stateFolder: string, book: BookFile): void {
  const file = join(stateFolder, "book.json");
  const temporary = `${file}.${process.pid}.tmp`;
  writeFileSync(temporary, `${JSON.stringify(book, null, 2)}\n`, privateFile);
  renameSync(temporary, file);
}

/** The address of a database without user, password and options. */
export function databaseName(address: DatabaseAddress): string {
  if (address.engine === "sqlite") return "sqlite";
  return postgresName(address.url);
}

const otherStore = (holds: string, configured: string) =>
  refuse(
    "refused",
    `the entries are in the ${holds} store, but scriptorium.yaml says store: ${configured}. Set store: ${holds} again, or move them: scriptorium store move ${configured}`,
    { holds, configured },
  );

const elsewhere = ({ store, database: holds }: BookFile, database: string) =>
  refuse(
    "refused",
    `the entries are in ${holds} (store: ${store}), but the configuration names ${database}, which is empty. Set database: ${holds} again, or move them: scriptorium store move ${store} --to ${database}`,
    { holds, configured: database },
  );

const otherBook = ({ database: holds }: BookFile, database: string) =>
  refuse(
    "refused",
    `${database} holds the entries of another workspace; those of this one are in ${holds}. Set database: ${holds} again. To use the other ones here, delete .scriptorium/book.json`,
    { holds, configured: database },
  );

const emptied = (database: string) =>
  refuse(
    "refused",
    `${database} held the entries of this workspace and is empty now. Restore a backup: scriptorium restore <file> <folder>. To begin again with empty entries, delete .scriptorium/book.json`,
  );
