import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import * as z from "zod";
import { privateFile, privateFolder } from "../store/disk/private.ts";
import type { Applied } from "./change.ts";

/**
 * What `init` and `connect` changed outside the wiki, so that `remove` can restore every file byte for byte.
 * Only the replaced middle of a file is kept, never the rest: configuration files may hold secrets. The record
 * is in the state folder, so a clone has none; there `remove` goes by markers and entries.
 */
const edit = z.object({
  /** Relative to the workspace, or absolute for a file of the person's home. */
  file: z.string(),
  /** The hash of the text after the edit: undone only while the file is still that. */
  hash: z.string(),
  /** Undefined when the edit created the file. */
  undo: z.object({ at: z.int(), drop: z.int(), insert: z.string() }).optional(),
  madeFolders: z.array(z.string()),
});
const recordFile = z.object({ edits: z.array(edit).default([]), kept: z.array(z.string()).default([]) });

export type Edit = z.infer<typeof edit>;
export type SetupRecord = z.infer<typeof recordFile>;

const fileOf = (stateFolder: string) => join(stateFolder, "setup.json");

export function readRecord(stateFolder: string): SetupRecord {
  try {
    return recordFile.parse(JSON.parse(readFileSync(fileOf(stateFolder), "utf8")));
  } catch {
    // Missing or damaged: `remove` then goes by markers and entries.
    return { edits: [], kept: [] };
  }
}

/** Adds edits to the record. `kept` are the paths that `init` found and left alone. */
export function addToRecord(
  root: string,
  stateFolder: string,
  done: readonly Applied[],
  kept: readonly string[] = [],
): void {
  const before = readRecord(stateFolder);
  const record = {
    edits: [...before.edits, ...done.map((one) => editOf(root, one))],
    kept: [...new Set([...before.kept, ...kept])],
  };
  const file = fileOf(stateFolder);
  mkdirSync(dirname(file), privateFolder);
  writeFileSync(file, `${JSON.stringify(record, null, 2)}\n`, privateFile);
}

/** True if the file is still what an edit left. */
export const isAsWritten = ({ edits }: SetupRecord, name: string, text: string) =>
  edits.some((edit) => edit.file === name && edit.hash === hashOf(text));

function editOf(root: string, { file, inside, before, after, madeFolders }: Applied): Edit {
  const named = (path: string) => (inside === undefined ? path : relative(root, path));
  const base = { file: named(file), hash: hashOf(after ?? ""), madeFolders: madeFolders.map(named) };
  return before === undefined ? base : { ...base, undo: spliceBack(before, after ?? "") };
}

/** The splice that turns `after` into `before`: what the two have in common at both ends is not kept. */
function spliceBack(before: string, after: string): NonNullable<Edit["undo"]> {
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before[start] === after[start]) start++;
  let end = 0;
  while (end < most - start && before.at(-1 - end) === after.at(-1 - end)) end++;
  return { at: start, drop: after.length - start - end, insert: before.slice(start, before.length - end) };
}

/**
 * The text before the recorded edits of a file, newest first, as far as the file is still what they left.
 * `rest` are the edits that could not be undone.
 */
export function undone(text: string, edits: readonly Edit[]): { text: string | undefined; rest: Edit[] } {
  const rest = [...edits];
  let now: string | undefined = text;
  for (let last = rest.at(-1); last && now !== undefined && hashOf(now) === last.hash; last = rest.at(-1)) {
    rest.pop();
    const { undo }: Edit = last;
    now = undo && now.slice(0, undo.at) + undo.insert + now.slice(undo.at + undo.drop);
  }
  return { text: now, rest };
}

const hashOf = (text: string) => createHash("sha256").update(text).digest("hex");
