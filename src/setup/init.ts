import { existsSync, mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { configName, type Environment } from "../config/environment.ts";
import { openGit } from "../config/open-git.ts";
import { ok, Refused, type Result, unwrap } from "../kernel/result.ts";
import { initRepository } from "../store/git/git.ts";
import { forgetHistory, forgetName, historyRefOf } from "../store/git/history-ref.ts";
import { writeEditorSchemas } from "../wiki/editor-schemas.ts";
import { firstSubject, workspaceFiles } from "../wiki/init.ts";
import type { Schema } from "../wiki/schema.ts";
import { type Applied, applyAll, type Change, readText, removeFolders, undoAll } from "./change.ts";
import { addToRecord, readRecord } from "./record.ts";

/** The workspace's own files as changes, and the paths that are there already and stay as they are. */
export type WorkspacePlan = {
  changes: Change[];
  kept: string[];
  schema: Schema;
  wiki: string;
  /** Files for the branch of the wiki alone. */
  booked: string[];
};

export type Template = { name: string; bookBranch: string | undefined };

export function planWorkspace(root: string, template: Template, env: Environment): Result<WorkspacePlan> {
  const planned = workspaceFiles(root, template.name, env, template.bookBranch);
  if (!planned.ok) return planned;
  const changes: Change[] = [];
  const kept: string[] = [];
  for (const { path, after } of planned.value.files) {
    const file = join(root, path);
    const before = existsSync(root) ? readText(file, path, root) : ok(undefined);
    if (!before.ok) return before;
    const text = after(before.value);
    if (text === undefined) kept.push(path);
    else changes.push({ file, shown: path, inside: root, before: before.value, after: text });
  }
  return ok({
    changes,
    kept: kept.filter((path) => path !== ".gitignore"),
    schema: planned.value.schema,
    wiki: planned.value.wiki,
    booked: planned.value.booked,
  });
}

export type InitPlan = {
  root: string;
  changes: readonly Change[];
  kept: readonly string[];
  /** False leaves the files for the person to commit; a new repository always gets its first commit. */
  commit: boolean;
  /** Files that must not be committed, with the reason. */
  private: ReadonlyMap<string, string>;
};

export type Done = {
  repository: "new" | "existing";
  branch: string | undefined;
  /** Whether the person signs their commits. */
  signs: boolean;
  committed: { commit: string; files: string[] } | undefined;
  /** Files that were written and not committed, with the reason. */
  uncommitted: { file: string; reason: string }[];
};

/**
 * Makes the workspace: files, index, commit. When a step fails or `stop` is aborted, everything that was made
 * is taken away again, and the folder is as it was. `index` opens the new workspace once.
 */
export async function makeWorkspace(
  { root, changes, kept, commit, private: hidden }: InitPlan,
  env: Environment,
  index: () => Promise<void>,
  stop: AbortSignal,
): Promise<Done> {
  const stateFolder = join(root, ".scriptorium");
  const madeFolders = missingFolders(root);
  const hadState = existsSync(stateFolder);
  let applied: Applied[] = [];
  let isNew = false;
  let hadHistory = true;
  let history = "";
  const git = openGit(root, env);
  const goOn = () => {
    if (stop.aborted) throw new Refused({ code: "refused", message: "interrupted; nothing was left behind" });
  };
  try {
    mkdirSync(root, { recursive: true });
    isNew = await initRepository(root, env);
    // The name that is registered for the folder may be that of a workspace that was moved away.
    if (!hadState && changes.some(({ shown, before }) => shown === configName && before === undefined))
      await forgetName(git);
    history = await historyRefOf(git);
    hadHistory = (await git.commitAt(history)) !== undefined;
    goOn();
    const blocked = commit || isNew ? await whyNotCommitted(root, changes, hidden, env) : new Map<string, string>();
    applied = unwrap(applyAll(changes));
    goOn();
    await writeEditorSchemas(stateFolder);
    const known = new Set(readRecord(stateFolder).edits.map(({ file }) => file));
    addToRecord(
      root,
      stateFolder,
      applied,
      kept.filter((path) => !known.has(path)),
    );
    await index();
    goOn();
    return await commitFiles({ root, applied, blocked, wanted: commit || isNew, isNew }, env);
  } catch (error) {
    undoAll(applied);
    if (!hadState) rmSync(stateFolder, { recursive: true, force: true });
    if (isNew) rmSync(join(root, ".git"), { recursive: true, force: true });
    else if (!hadHistory) await forgetHistory(git, history);
    removeFolders(madeFolders);
    throw error;
  }
}

const missingFolders = (folder: string): string[] =>
  existsSync(folder) ? [] : [folder, ...missingFolders(dirname(folder))];

/** Files that cannot be committed without committing something of the person's, by name. Asked before they are changed. */
async function whyNotCommitted(
  root: string,
  changes: readonly Change[],
  hidden: ReadonlyMap<string, string>,
  env: Environment,
): Promise<Map<string, string>> {
  const git = openGit(root, env);
  const reasons = new Map(hidden);
  const theirs = changes.filter(({ before }) => before !== undefined).map(({ shown }) => shown);
  for (const path of await git.uncommitted(theirs)) reasons.set(path, "it has uncommitted changes of yours");
  for (const path of await git.ignored(changes.map(({ shown }) => shown))) reasons.set(path, "git ignores it");
  return reasons;
}

type Commit = {
  root: string;
  applied: readonly Applied[];
  blocked: ReadonlyMap<string, string>;
  wanted: boolean;
  isNew: boolean;
};

async function commitFiles({ root, applied, blocked, wanted, isNew }: Commit, env: Environment): Promise<Done> {
  const git = openGit(root, env);
  const { branch: ref } = await git.head();
  const branch = ref?.replace(/^refs\/heads\//, "");
  const repository = isNew ? "new" : "existing";
  const signs = await git.signsCommits();
  const files = applied.map(({ shown }) => shown);
  const all = (reason: string) => files.map((file) => ({ file, reason }));
  if (files.length === 0) return { repository, branch, signs, committed: undefined, uncommitted: [] };
  if (!wanted)
    return {
      repository,
      branch,
      signs,
      committed: undefined,
      uncommitted: all("in an existing repository init commits only when you agree, or with --yes"),
    };
  const busy = await git.underWay();
  if (busy || !branch) {
    return {
      repository,
      branch,
      signs,
      committed: undefined,
      uncommitted: all(busy ? `${busy} is in progress` : "HEAD is detached"),
    };
  }
  const own = files.filter((file) => !blocked.has(file));
  const uncommitted = [...blocked].filter(([file]) => files.includes(file)).map(([file, reason]) => ({ file, reason }));
  if (own.length === 0) return { repository, branch, signs, committed: undefined, uncommitted };
  const commit = await git.commitOnly(own, firstSubject, await git.author()).catch((error: Error) => {
    throw new Refused({ code: "refused", message: `git could not commit (${error.message}); nothing was left behind` });
  });
  return { repository, branch, signs, committed: { commit, files: own }, uncommitted };
}
