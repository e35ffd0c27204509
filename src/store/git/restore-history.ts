import { type Commit, importCommits } from "./fast-import.ts";
import type { FileMode, Git } from "./git.ts";
import { historyFolders, historyRefOf } from "./history-ref.ts";
import { holdingRef, publishCommits } from "./publish-commits.ts";

/** A version that history lacks, and the version of the same file that must follow it. */
export type MissingCommit = Commit & { entry: string; version: number };

/** Refs that point at what the history ref was before a repair, so that nothing becomes unreachable. */
export const replacedRefs = "refs/scriptorium/replaced/";

export type Restored = { tip: string; kept: string | undefined; unfit: boolean };

/**
 * Puts missing versions into the history, each before the later versions of its entry: numbers follow from the order.
 * Commits after the first gap are made again with their messages and times. `unfit` when one of those is not a
 * change of a single file by Scriptorium: then nothing is changed.
 */
export async function restoreHistory(git: Git, missing: MissingCommit[]): Promise<Restored | undefined> {
  const [ref, folders] = [await historyRefOf(git), await historyFolders(git)];
  const tip = await git.commitAt(ref);
  const present = tip ? await presentCommits(git, tip) : [];
  const places = missing
    .toSorted((a, b) => a.at.localeCompare(b.at) || a.version - b.version)
    .map((commit) => ({ commit, place: placeOf(commit, present, folders) }));
  const first = Math.min(...places.map(({ place }) => place));
  const tail = present.slice(first);
  if (tail.some(({ commit }) => commit === undefined)) return { tip: tip ?? "", kept: undefined, unfit: true };
  const ordered = [...tail.keys(), tail.length].flatMap((offset) => [
    ...places.filter(({ place }) => place === first + offset).map(({ commit }) => commit),
    ...(tail[offset]?.commit ? [tail[offset].commit] : []),
  ]);
  const held = await holdingRef(git, "repair");
  const made = await importCommits(git, { from: present[first - 1]?.id, held }, ordered);
  const kept = tip && tail.length > 0 ? await keepReplaced(git, tip) : undefined;
  const files = ordered.map((one) => [one.path]);
  return (await publishCommits(git, ref, { held, to: made, from: tip, files }, "scriptorium: repair"))
    ? { tip: made, kept, unfit: false }
    : undefined;
}

/** Points the history ref at a commit, and another ref at what it pointed at. */
export async function resetHistory(git: Git, to: string): Promise<{ kept: string | undefined }> {
  const ref = await historyRefOf(git);
  const tip = await git.commitAt(ref);
  const kept = tip && !(await git.isAncestor(tip, to)) ? await keepReplaced(git, tip) : undefined;
  await git.setRef(ref, to);
  return { kept };
}

async function keepReplaced(git: Git, tip: string): Promise<string> {
  const ref = replacedRefs + tip.slice(0, 12);
  await git.setRef(ref, tip);
  return ref;
}

type Present = { id: string; entry: string; version: number; commit: Commit | undefined };

/** Every commit of the history, oldest first. */
async function presentCommits(git: Git, tip: string): Promise<Present[]> {
  const trailer = (key: string) => `%(trailers:key=${key},valueonly,separator=%x20)`;
  const format = `--format=%x01%H%x00%an <%ae>%x00%aI%x00${trailer("Entry")}%x00${trailer("Version")}%x00%B%x00`;
  const raw = ["--raw", "--no-abbrev", "--no-renames", "-m", "--first-parent", "--root"];
  const text = await git.text(["log", "--reverse", format, ...raw, tip]);
  return text.split("\u0001").flatMap((part): Present[] => {
    const [id, author, at, entry, version, message, changes] = part.split("\0");
    if (!id || !author || !at || changes === undefined) return [];
    const [only, ...others] = changes.split("\n").filter((line) => line.startsWith(":"));
    const [, mode, blob, path] = /^:\d+ (100644|100755) \w+ (\w+) [AM]\t(.+)$/.exec(only ?? "") ?? [];
    const isOurs = mode && blob && path && others.length === 0 && message?.includes("\n\n");
    const commit = isOurs
      ? { path, mode: mode as FileMode, blob, bytes: undefined, author, message: message ?? "", at }
      : undefined;
    return [{ id, entry: entry ?? "", version: Number(version), commit }];
  });
}

/** A commit of another workspace, which an old history may have, names an entry in another folder. */
const placeOf = ({ entry, version, path }: MissingCommit, present: Present[], [now = "", ...before]: string[]) => {
  const paths = new Set([path, ...before.map((folder) => folder + path.slice(now.length))]);
  const isSame = (one: Present) => one.entry === entry && paths.has(one.commit?.path ?? "");
  const later = present.findIndex((one) => isSame(one) && one.version > version);
  return later < 0 ? present.length : later;
};
