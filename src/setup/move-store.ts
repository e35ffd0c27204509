import { existsSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { type Config, loadConfig } from "../config/config.ts";
import { configName } from "../config/environment.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import type { Database, DatabaseAddress } from "../store/database.ts";
import { crashPoint } from "../store/disk/crash.ts";
import { replaceFile } from "../store/disk/disk.ts";
import { openDatabase } from "../store/open.ts";
import { hasPassword } from "../store/postgres/address.ts";
import { publications } from "../store/publications.ts";
import { countUnrecorded } from "../store/queries/git-queue.ts";
import { deleteMeta, findMeta, setMeta } from "../store/queries/meta.ts";
import { lockTables } from "../store/queries/transfer.ts";
import { type CopyProgress, copyTables, holdsRows, sharedTables } from "../store/transfer/copy.ts";
import type { Digest } from "../store/transfer/rows.ts";
import {
  type Book,
  databaseName,
  readBookFile,
  recordBookIn,
  recordedBook,
  writeBookFile,
} from "../wiki/stores/book.ts";
import { toDatabase, toFiles } from "../wiki/stores/convert.ts";
import type { WikiApp } from "../wiki/wiki-app.ts";

/** Where the entries are: the store, and the database beside it. */
export type StorePlace = { store: Config["store"]; database: DatabaseAddress };

export type MovePlan = {
  from: StorePlace;
  to: StorePlace;
  /** Name of the person who runs the move. */
  actor: string;
  /** The text of scriptorium.yaml that makes the switch. */
  configText: string;
};

export type Moved = {
  from: string;
  to: string;
  /** Versions whose texts changed their place. */
  versions: number;
  tables: Record<string, Digest>;
  /** The database that still has the old state. */
  kept: string | undefined;
};

/** The configuration with the store that holds the entries now, whatever scriptorium.yaml says. */
export function configOfBook(config: Config): Config {
  const known = readBookFile(config.stateFolder);
  if (!known) return config;
  const store = known.store as Config["store"];
  if (known.database === databaseName(config.database)) return { ...config, store };
  return { ...config, store, database: addressOf(known.database, config.stateFolder) };
}

const addressOf = (name: string, stateFolder: string): DatabaseAddress =>
  name === "sqlite"
    ? { engine: "sqlite", file: join(stateFolder, "scriptorium.db") }
    : { engine: "postgres", url: name };

export function planMove(config: Config, store: Config["store"], to: string | undefined): Result<MovePlan> {
  const from = { store: config.store, database: config.database };
  if (to !== undefined && !/^(sqlite$|postgres(ql)?:\/\/)/.test(to))
    return refuse("invalid", `--to ${to}: expected sqlite, or a PostgreSQL URL such as postgres://host/name`);
  if (to?.includes("://") && hasPassword(to))
    return refuse(
      "invalid",
      "--to contains a password, and scriptorium.yaml is committed; put it into ~/.pgpass or PGPASSWORD and leave it out of the URL",
    );
  if (to !== undefined && config.environment.SCRIPTORIUM_DATABASE_URL !== undefined)
    return refuse("invalid", "SCRIPTORIUM_DATABASE_URL overrides database: in scriptorium.yaml; unset it for the move");
  const database = to === undefined ? config.database : addressOf(to, config.stateFolder);
  const text = readFileSync(join(config.root, configName), "utf8");
  const withStore = withSetting(text, "store", store);
  const configText = to === undefined ? withStore : withSetting(withStore, "database", to);
  return ok({ from, to: { store, database }, actor: "scriptorium", configText });
}

/** Sets a key at the top level and leaves every other line as it is. */
export function withSetting(text: string, key: string, value: string): string {
  const line = new RegExp(`^${key}:.*$`, "m");
  if (line.test(text)) return text.replace(line, `${key}: ${value}`);
  return `${text}${text === "" || text.endsWith("\n") ? "" : "\n"}${key}: ${value}\n`;
}

/** `app` is open on the store that holds the entries. */
export async function moveStore(
  app: WikiApp,
  plan: MovePlan,
  report: (progress: CopyProgress) => void,
): Promise<Result<Moved>> {
  await app.files?.sweep();
  const waits = await app.recorder.drain(30_000);
  if ((await countUnrecorded(app.db.read)) > 0)
    return refuse("conflict", `git does not have every version yet: ${waits ?? "the recorder is busy"}; try again`);
  const book = (await recordedBook(app.db)) ?? { id: app.newId("book"), store: plan.from.store };
  const isSame = databaseName(plan.from.database) === databaseName(plan.to.database);
  return isSame ? convertHere(app, plan, book) : moveToOther(app, plan, book, report);
}

async function convertHere(app: WikiApp, plan: MovePlan, book: Book): Promise<Result<Moved>> {
  const converted = await convert(app, app.db, plan, book);
  if (!converted.ok) return converted;
  const switched = switchTo(app.config, plan, book);
  return switched.ok ? ok(outcome(plan, converted.value, {}, undefined)) : switched;
}

async function moveToOther(
  app: WikiApp,
  plan: MovePlan,
  book: Book,
  report: (progress: CopyProgress) => void,
): Promise<Result<Moved>> {
  const opened = await openTarget(plan.to.database, book, app.now());
  if (!opened.ok) return opened;
  const { target, kept } = opened.value;
  try {
    await target.write((tx) => setMeta(tx, movingKey, book.id));
    const { db } = app;
    // Most is copied while others may write; the rest, and the proof, while they may not.
    await db.snapshot((query) => copyTables({ query, engine: db.engine }, target, () => undefined));
    return await db.write(async (tx): Promise<Result<Moved>> => {
      const from = { query: tx, engine: db.engine };
      await lockTables(
        tx,
        db.engine,
        (await sharedTables(from, target)).map(({ name }) => name),
      );
      const tables = await copyTables(from, target, report);
      crashPoint("moved-rows");
      const converted = await convert(app, target, plan, book);
      if (!converted.ok) return converted;
      crashPoint("moved-book");
      const switched = switchTo(app.config, plan, book);
      if (!switched.ok) return switched;
      await target.write((to) => deleteMeta(to, movingKey));
      return ok(outcome(plan, converted.value, tables, kept ?? nameOf(plan.from)));
    });
  } finally {
    await target.close();
  }
}

const movingKey = "moving";

/** Changes where the texts are, if the store changes, and records it with the entries. */
async function convert(app: WikiApp, db: Database, { from, to, actor }: MovePlan, book: Book): Promise<Result<number>> {
  const { git, config } = app;
  const schema = await app.schema();
  if (!schema.ok) return schema;
  const titles = new Map(schema.value.sections.map(({ id, title }) => [id, title]));
  const titleOf = (id: string) => titles.get(id) ?? id;
  const deps = { db, git, root: config.root, wiki: config.wiki, titleOf, actor, now: app.now };
  return publications(db, git, config.root).write(async (tx, stage) => {
    const isSame = from.store === to.store;
    const converted = isSame ? ok(0) : await (to.store === "files" ? toFiles(tx, stage, deps) : toDatabase(tx, deps));
    if (converted.ok) await recordBookIn(tx, { ...book, store: to.store });
    return converted;
  });
}

/** The edit of scriptorium.yaml is the switch: before it the old place holds the entries, after it the new one. */
function switchTo(config: Config, { to, configText }: MovePlan, book: Book): Result<true> {
  const file = join(config.root, configName);
  const before = readFileSync(file);
  writeBookFile(config.stateFolder, { id: book.id, store: to.store, database: databaseName(to.database) });
  if (before.toString("utf8") !== configText && !replaceFile(file, Buffer.from(configText), before, config.root))
    return refuse("conflict", `${configName} changed meanwhile; run the command again`);
  const now = loadConfig(config.root, config.environment);
  if (!now.ok) return now;
  const isThere = now.value.store === to.store && databaseName(now.value.database) === databaseName(to.database);
  if (isThere) return ok(true);
  return refuse(
    "conflict",
    `the entries are moved, but your own settings override ${configName}; change store: and database: in ${now.value.own.file}`,
  );
}

type Target = { target: Database; kept: string | undefined };

/**
 * An empty database, or one with an interrupted move of the same entries. An older SQLite database of the workspace is
 * kept under another name.
 */
async function openTarget(address: DatabaseAddress, book: Book, now: Date): Promise<Result<Target>> {
  const target = await openDatabase(address);
  const isResumed = (await findMeta(target.read, movingKey)) === book.id;
  if (isResumed || !(await holdsRows(target))) return ok({ target, kept: undefined });
  await target.close();
  if (address.engine === "postgres")
    return refuse("conflict", `${databaseName(address)} is not empty; name an empty database`);
  const kept = address.file.replace(/\.db$/, `-${now.toISOString().replace(/[:.]/g, "-")}.db`);
  for (const suffix of ["", "-wal", "-shm"])
    if (existsSync(`${address.file}${suffix}`)) renameSync(`${address.file}${suffix}`, `${kept}${suffix}`);
  return ok({ target: await openDatabase(address), kept });
}

const nameOf = ({ store, database }: StorePlace) => `${databaseName(database)} (store: ${store})`;

const outcome = (
  plan: MovePlan,
  versions: number,
  tables: Record<string, Digest>,
  kept: string | undefined,
): Moved => ({
  from: nameOf(plan.from),
  to: nameOf(plan.to),
  versions,
  tables,
  kept,
});
