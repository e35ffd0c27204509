import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { machineId } from "../../kernel/process-name.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { Database } from "../../store/database.ts";
import { privateFile } from "../../store/disk/private.ts";
import { appendEvent } from "../../store/events.ts";
import type { Git } from "../../store/git/git.ts";
import { historyTip } from "../../store/git/recorder.ts";
import { parseJsonOr } from "../../store/json.ts";
import { addMeta, findMeta, setMeta } from "../../store/queries/meta.ts";

/**
 * The one folder whose files are the entries of a database. With `store: files` on PostgreSQL, a second folder would
 * take what the first wrote for edits of its own person, and both would overwrite the index (M6). A random id in
 * `.scriptorium/folder` identifies the folder, as long as it is not copied; the machine and the path tell a copy.
 */
export type Home = { folder: string; machine: string | null; host: string; root: string };

const metaKey = "home";

type Deps = {
  db: Database;
  git: Git;
  config: { store: string; root: string; stateFolder: string };
  now(): Date;
};

/** Refuses a folder that is not the one whose files the database indexes; the first one is recorded. */
export async function checkHome({ db, config }: Deps): Promise<Result<true>> {
  if (!isShared(db, config)) return ok(true);
  const mine = homeOf(config);
  const text = JSON.stringify(mine);
  const found = await findMeta(db.read, metaKey);
  if (found === undefined) await db.write((tx) => addMeta(tx, metaKey, text));
  // Another process may have been first.
  const known = parseJsonOr<Home | undefined>((found ?? (await findMeta(db.read, metaKey))) as string, undefined);
  if (!known || isOtherHome(known, mine)) return known ? otherHome(known, mine) : ok(true);
  if (known.root !== mine.root || known.host !== mine.host || known.machine !== mine.machine)
    await db.write((tx) => setMeta(tx, metaKey, text));
  return ok(true);
}

/** Makes this folder the one whose files the database indexes. It must have the history that was recorded. */
export async function adoptHome(deps: Deps, actor: string): Promise<Result<{ from: Home | null; to: Home }>> {
  const { db, git, config, now } = deps;
  if (!isShared(db, config))
    return refuse(
      "refused",
      "only a workspace with store: files on PostgreSQL belongs to one folder; nothing to adopt",
    );
  const tip = await findMeta(db.read, historyTip);
  if (tip !== undefined && (await git.commitAt(`${tip}^{commit}`)) === undefined)
    return refuse(
      "conflict",
      `this folder lacks commit ${tip.slice(0, 12)}, the newest of the recorded history. Copy it from the old folder first: git fetch <old folder> '+refs/scriptorium/*:refs/scriptorium/*', and bring the files of the wiki up to date`,
    );
  const to = homeOf(config);
  return db.write(async (tx) => {
    const text = await findMeta(tx, metaKey);
    const from = text === undefined ? null : parseJsonOr<Home | null>(text, null);
    await setMeta(tx, metaKey, JSON.stringify(to));
    await appendEvent(tx, {
      at: now().toISOString(),
      actor,
      kind: "index-moved",
      subject: "index",
      data: { from: from && placeOf(from), to: placeOf(to) },
    });
    return ok({ from, to });
  });
}

export const placeOf = ({ host, root }: Home): string => `${host}:${root}`;

/** SQLite is a file of the folder itself. */
const isShared = ({ engine }: Database, { store }: Deps["config"]) => engine === "postgres" && store === "files";

const homeOf = ({ root, stateFolder }: Deps["config"]): Home => ({
  folder: folderId(stateFolder),
  machine: machineId() ?? null,
  host: hostname(),
  root,
});

const isOtherHome = (known: Home, mine: Home): boolean =>
  known.folder !== mine.folder || isOtherMachine(known, mine) || isCopy(known, mine);

/** Containers often have no machine id; their folder is then all that identifies them. */
const isOtherMachine = (known: Home, mine: Home) =>
  known.machine !== null && mine.machine !== null && known.machine !== mine.machine;

/** The folder was copied with its id: the old one is still there. */
const isCopy = (known: Home, mine: Home) =>
  known.root !== mine.root &&
  known.host === mine.host &&
  readFolderId(join(known.root, ".scriptorium")) === known.folder;

function folderId(stateFolder: string): string {
  const known = readFolderId(stateFolder);
  if (known !== undefined) return known;
  try {
    writeFileSync(join(stateFolder, fileName), `${randomUUID()}\n`, { ...privateFile, flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  return readFolderId(stateFolder) ?? "";
}

const fileName = "folder";

function readFolderId(stateFolder: string): string | undefined {
  try {
    return readFileSync(join(stateFolder, fileName), "utf8").trim() || undefined;
  } catch (error) {
    if (["ENOENT", "ENOTDIR", "EACCES"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}

const otherHome = (known: Home, mine: Home) =>
  refuse(
    "refused",
    `the entries are files in ${placeOf(known)}, and this is another folder (${placeOf(mine)}). Two folders with store: files on one database would overwrite each other. For several machines, move the entries into the database there: scriptorium store move database. If the files were moved here for good, stop the old servers and run: scriptorium store adopt`,
    { home: placeOf(known), here: placeOf(mine) },
  );
