import { existsSync, readdirSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { configName, type Environment, findWorkspace, stateFolderOf } from "../config/environment.ts";
import { workerFile } from "../crew/record/run-packs.ts";
import { type RecordedWorkspace, recordedWorkspace } from "../crew/record/workspace-record.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import type { Database } from "../store/database.ts";
import { privateFile, privateFolder } from "../store/disk/private.ts";
import { gitAt } from "../store/git/git.ts";
import { parseJsonOr } from "../store/json.ts";
import { openDatabase } from "../store/open.ts";
import { latestSchema } from "../store/queries/schema-versions.ts";

type Options = {
  /** Where the command was started. */
  folder: string;
  url: string;
  env: Environment;
  /** Told once if the database does not know the workspace yet. */
  onWait(message: string): void;
};

const lookMs = 1000;

/** The settings as they were written last, so that a person's edits are seen. */
type Worker = { prefix: string; settings: string };

/**
 * The workspace around a folder. In an empty folder a workspace for a worker is made: settings and schema come from the
 * database, the repository is new and gets from the database what each run needs.
 */
export async function workerFolder({ folder: given, url, env, onWait }: Options): Promise<Result<string>> {
  const folder = resolve(given);
  const around = findWorkspace(folder);
  const worker = await readWorker(folder);
  const root = worker ? join(folder, worker.prefix) : around.ok ? around.value : undefined;
  if (root !== undefined && !worker && !existsSync(join(stateFolderOf(root), workerFile))) return ok(root);
  if (root === undefined && !isEmpty(folder))
    return refuse(
      "refused",
      `${folder} is neither a workspace nor empty; start the worker in a workspace or in an empty folder`,
    );
  const db = await openDatabase({ engine: "postgres", url });
  try {
    const recorded = await waitForWorkspace(db, onWait);
    if (recorded.store !== "database")
      return refuse(
        "refused",
        "the entries of this workspace are files of one machine, which workers on other machines cannot read; move them into the database first, where the repository is: scriptorium store move database",
      );
    return await write(
      db,
      root ?? join(folder, recorded.prefix),
      root === undefined ? folder : undefined,
      recorded,
      env,
    );
  } finally {
    await db.close();
  }
}

const isEmpty = (folder: string) =>
  !existsSync(folder) || readdirSync(folder).every((name) => name === ".scriptorium" || name === ".git");

/** The record of a worker's folder, beside its repository. */
async function readWorker(folder: string): Promise<Worker | undefined> {
  const text = await readFile(join(stateFolderOf(folder), workerFile), "utf8").catch(() => undefined);
  return text === undefined ? undefined : parseJsonOr<Worker | undefined>(text, undefined);
}

async function waitForWorkspace(db: Database, onWait: Options["onWait"]): Promise<RecordedWorkspace> {
  for (let tries = 1; ; tries++) {
    const found = await recordedWorkspace(db.read);
    if (found) return found;
    if (tries === 1)
      onWait("waiting: no server was started and no run was executed yet on a machine with the repository");
    await sleep(lookMs);
  }
}

/** `top` is where the repository is made; left out where it is there already. */
async function write(
  db: Database,
  root: string,
  top: string | undefined,
  { prefix, format, wiki, settings }: RecordedWorkspace,
  env: Environment,
): Promise<Result<string>> {
  await mkdir(join(root, wiki), { recursive: true });
  if (top !== undefined) {
    const made = await gitAt(top, env).run(["init", "--quiet", `--object-format=${format}`]);
    if (made.code !== 0) return refuse("refused", `git init failed in ${top}: ${made.stderr.trim()}`);
  }
  const file = join(root, configName);
  const before = (await readWorker(root))?.settings;
  const present = await readFile(file, "utf8").catch(() => undefined);
  // A person's own edits on this machine stay.
  if (present === undefined || present === before) await writeFile(file, settings);
  const schema = await latestSchema(db.read);
  if (schema) await writeFile(join(root, wiki, "schema.yaml"), schema.content);
  // The top has a record of its own, which says where the workspace is.
  for (const folder of new Set([root, ...(top === undefined ? [] : [top])])) {
    await mkdir(stateFolderOf(folder), privateFolder);
    const record: Worker = { prefix: folder === root ? "" : prefix, settings };
    await writeFile(join(stateFolderOf(folder), workerFile), JSON.stringify(record), privateFile);
  }
  return ok(root);
}
