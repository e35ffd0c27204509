import { existsSync, lstatSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { Config } from "../config/config.ts";
import type { Environment } from "../config/environment.ts";
import { openGit } from "../config/open-git.ts";
import { ok, type Result, refuse, unwrap } from "../kernel/result.ts";
import { sweepTemporary } from "../store/disk/disk.ts";
import { forgetName } from "../store/git/history-ref.ts";
import { parsePostgres } from "../store/postgres/address.ts";
import { applyAll, type Change, isInside, removeFolders } from "./change.ts";
import { processesIn } from "./processes.ts";
import { isAsWritten, readRecord, type SetupRecord } from "./record.ts";
import { madeFolders, removalChanges } from "./remove-edits.ts";
import { type OwnFiles, ownFiles } from "./remove-files.ts";
import { deleteRefs, type OwnRefs, ownRefs } from "./remove-refs.ts";

export type Removal = {
  /** Files of the person from which our lines are taken out, and files that have nothing else. */
  changes: Change[];
  own: OwnFiles;
  stateFolder: string | undefined;
  /** Undefined outside a git repository. */
  refs: OwnRefs | undefined;
  /** Folders to remove if they are empty at the end, deepest first. */
  emptied: string[];
  /** What would be lost: removal needs --force. */
  losses: string[];
  /** What stays, and how to remove it. */
  left: string[];
};

export type RemoveOptions = { keepWiki: boolean };

/** Everything that `remove` would do. Nothing is changed. */
export async function planRemoval(
  config: Config,
  env: Environment,
  { keepWiki }: RemoveOptions,
): Promise<Result<Removal>> {
  const { root, stateFolder } = config;
  const users = existsSync(stateFolder) ? processesIn(realpathSync(stateFolder)) : [];
  if (users.length > 0) {
    const list = users.map(({ pid, command }) => `${pid} (${command})`).join(", ");
    return refuse("refused", `the workspace is in use by process ${list}; stop it and run remove again`);
  }
  const record = readRecord(stateFolder);
  const changes = removalChanges(
    root,
    env,
    record,
    config.bookBranch ? [`/${config.wiki}/`, `/${config.sources}/`] : [],
  );
  if (!changes.ok) return changes;
  const [own, refs] = [await ownFiles(config, record, keepWiki), await ownRefs(config, env, keepWiki)];
  if (refs?.current) {
    return refuse(
      "refused",
      `the branch ${refs.current} is checked out and would be deleted; check out another branch`,
    );
  }
  const made = madeFolders(root, record);
  const touched = [...own.files, ...own.folders].map((path) => dirname(join(root, path)));
  const parents = record.edits.length > 0 ? made : [...touched, ...changes.value.map(({ file }) => dirname(file))];
  const named = ["runs", "generated-agents", config.wiki, config.sources].map((path) => join(root, path));
  return ok({
    changes: changes.value,
    own,
    stateFolder: existsSync(stateFolder) && !lstatSync(stateFolder).isSymbolicLink() ? stateFolder : undefined,
    refs,
    emptied: foldersUpTo(root, [...parents, ...named]),
    losses: await lossesOf(config, env, { own, refs, keepWiki, record }),
    left: [...leftOf(config, own), ...(refs?.left ?? [])],
  });
}

/** The folders and their parents below the root, deepest first. */
function foldersUpTo(root: string, folders: string[]): string[] {
  const all = new Set<string>();
  for (const start of folders) {
    for (let folder = start; folder !== root && isInside(folder, root); folder = dirname(folder)) all.add(folder);
  }
  return [...all, ...folders.filter((folder) => !isInside(folder, root))].sort((a, b) => b.length - a.length);
}

type Found = { own: OwnFiles; refs: OwnRefs | undefined; keepWiki: boolean; record: SetupRecord };

async function lossesOf(config: Config, env: Environment, { own, refs, keepWiki, record }: Found): Promise<string[]> {
  const { root } = config;
  const dirty = refs ? await openGit(root, env).uncommitted(own.files) : own.files;
  const isEdited = (path: string) =>
    existsSync(join(root, path)) && !isAsWritten(record, path, readFileSync(join(root, path), "utf8"));
  return [
    ...dirty.filter(isEdited).map((path) => `${path} has changes that are not committed`),
    ...(refs?.unmerged ?? []).map((branch) => `the branch ${branch} has accepted work that is not merged`),
    ...(refs?.book && !keepWiki
      ? [`the branch ${refs.book} has the commits of the wiki; --keep-wiki keeps the branch`]
      : []),
    ...(config.store === "database" && config.database.engine === "sqlite" && !keepWiki
      ? [
          `the entries are in the database${refs?.mirror ? ` and on the branch ${refs.mirror}` : ""}; --keep-wiki keeps the branch`,
        ]
      : []),
  ];
}

function leftOf({ database }: Config, { left }: OwnFiles): string[] {
  const server = database.engine === "postgres" ? parsePostgres(database.url).hosts[0] : undefined;
  return [...left, "the commits on your branches", ...(server ? [databaseLeft(server)] : [])];
}

function databaseLeft(server: { name: string; url: string }): string {
  const { hostname, pathname } = new URL(server.url);
  const name = pathname.slice(1);
  return `the PostgreSQL database ${name} on ${server.name}; to remove it: dropdb -h ${hostname} ${name}`;
}

export type Removed = { commit: string | undefined; uncommitted: string[]; reason: string | undefined };

/** Carries the removal out. Deletions of committed files become one commit, unless `commit` is false. */
export async function removeAll(config: Config, env: Environment, removal: Removal, commit: boolean): Promise<Removed> {
  const { root } = config;
  const { changes, own, refs, stateFolder, emptied } = removal;
  const git = openGit(root, env);
  const edited = changes.filter(({ inside }) => inside !== undefined).map(({ file }) => relative(root, file));
  const theirs = new Set(refs ? await git.uncommitted(edited) : []);
  unwrap(applyAll(changes));
  for (const path of [...own.files, ...own.folders]) rmSync(join(root, path), { recursive: true, force: true });
  if (stateFolder) rmSync(stateFolder, { recursive: true, force: true });
  for (const folder of [config.wiki, config.sources]) await sweepTemporary(join(root, folder), { olderThanMs: 0 });
  removeFolders(emptied);
  if (!refs) return { commit: undefined, uncommitted: [], reason: undefined };
  await deleteRefs(config, env, refs);
  await forgetName(git);

  const touched = [...own.files, ...own.folders, ...edited.filter((path) => !theirs.has(path))];
  const committed = await git.committed(touched);
  await git.forgetStaged(own.files.filter((path) => !committed.includes(path)));
  if (committed.length === 0) return { commit: undefined, uncommitted: [], reason: undefined };
  const [busy, { branch }] = await Promise.all([git.underWay(), git.head()]);
  const reason = !commit ? "--no-commit" : busy ? `${busy} is in progress` : branch ? undefined : "HEAD is detached";
  if (reason) return { commit: undefined, uncommitted: committed, reason };
  return {
    commit: await git.commitOnly(committed, "Remove Scriptorium", await git.author()),
    uncommitted: [...theirs],
    reason: undefined,
  };
}
