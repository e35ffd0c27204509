import { existsSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import type { Environment } from "../config/environment.ts";
import { ok, type Result } from "../kernel/result.ts";
import { withoutIgnored } from "../wiki/init.ts";
import { type Change, readText } from "./change.ts";
import { clients, fileOf, type Scope } from "./clients/clients.ts";
import { disconnectChange, type EntryPlace, sameOtherwise } from "./clients/entry.ts";
import { instructionFiles, withoutBlock } from "./instructions.ts";
import { type SetupRecord, undone } from "./record.ts";

/**
 * The changes that take our lines out of files of the person. A file that is still what `init` or `connect`
 * left gets back its old bytes from the record. From any other, our entry, block or lines are cut. `booked` are lines
 * of .gitignore for the folders that a branch of their own has.
 */
export function removalChanges(
  root: string,
  env: Environment,
  record: SetupRecord,
  booked: string[],
): Result<Change[]> {
  const changes: Change[] = [];
  const add = (change: Result<Change | undefined>): Result<true> => {
    if (!change.ok) return change;
    const isNew = change.value && !changes.some(({ file }) => file === change.value?.file);
    if (change.value && isNew && change.value.before !== change.value.after) changes.push(change.value);
    return ok(true);
  };
  for (const client of clients) {
    for (const scope of ["project", "user"] as const) {
      const added = add(entryRemoval({ client, scope, root, env }, record));
      if (!added.ok) return added;
    }
  }
  for (const path of [...instructionFiles, ".gitignore"]) {
    const added = add(linesRemoval(root, path, record, booked));
    if (!added.ok) return added;
  }
  return ok(changes);
}

function entryRemoval(place: EntryPlace, record: SetupRecord): Result<Change | undefined> {
  const { client, scope, root, env } = place;
  const file = fileOf(client, scope, root, env);
  if (file === undefined || !existsSync(file)) return ok(undefined);
  // An entry in the home folder may serve other workspaces: only the workspace that wrote it removes it.
  if (scope === "user" && !record.edits.some((edit) => edit.file === file)) return ok(undefined);
  const cut = disconnectChange(place);
  if (!cut.ok || !cut.value) return cut;
  const back = restored(cut.value, nameIn(root, file, scope), record);
  // The record is a file of the workspace: it must not decide anything about the home folder but our own entry.
  return ok(back && sameOtherwise(place, back.after ?? "{}", cut.value.after ?? "{}") ? back : cut.value);
}

const nameIn = (root: string, file: string, scope: Scope) => (scope === "user" ? file : file.slice(root.length + 1));

function linesRemoval(root: string, path: string, record: SetupRecord, booked: string[]): Result<Change | undefined> {
  const file = join(root, path);
  const before = readText(file, path, root);
  if (!before.ok) return before;
  if (before.value === undefined) return ok(undefined);
  const after = path === ".gitignore" ? ok(withoutIgnored(before.value, booked)) : withoutBlock(before.value, path);
  if (!after.ok) return after;
  const cut: Change = { file, shown: path, inside: root, before: before.value, after: after.value };
  return ok(cut.before === cut.after ? undefined : (restored(cut, path, record) ?? cut));
}

/** The change back to the bytes before our edits, if nobody has edited the file since. */
function restored(cut: Change, name: string, { edits }: SetupRecord): Change | undefined {
  const own = edits.filter((edit) => edit.file === name);
  if (own.length === 0 || cut.before === undefined) return undefined;
  const { text, rest } = undone(cut.before, own);
  return rest.length === 0 ? { ...cut, after: text } : undefined;
}

/** Folders that `init` or `connect` made, deepest first. */
export const madeFolders = (root: string, { edits }: SetupRecord): string[] => {
  const folders = edits.flatMap((edit) => edit.madeFolders).map((path) => (isAbsolute(path) ? path : join(root, path)));
  return [...new Set(folders)].sort((a, b) => b.length - a.length);
};
