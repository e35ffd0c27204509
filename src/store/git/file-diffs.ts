import type { Git } from "./git.ts";

export type FileDiff = {
  path: string;
  /** The former path of a renamed file. */
  oldPath: string | null;
  status: "added" | "changed" | "deleted" | "renamed";
  added: number;
  removed: number;
  hunks: { oldStart: number; newStart: number; lines: string[] }[];
  /** Why there are no hunks although the file differs. */
  omitted: "binary" | "large" | null;
};

/** Limits of one answer: bytes of a file on each side, bytes and lines of all files, and files. */
const most = { fileBytes: 400_000, bytes: 2_000_000, lines: 20_000, files: 300 };

const plain = ["--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short", "-M", "-l400"];

/** The files that differ between two commits. Binary and large files have no hunks; files beyond the limit are counted. */
export async function fileDiffs(git: Git, from: string, to: string): Promise<{ files: FileDiff[]; more: number }> {
  const { stdout } = await git.run(["diff", "--raw", "-z", "--no-abbrev", ...plain, from, to, "--"]);
  const all = parseRaw(stdout.toString("utf8"));
  const shown = all.slice(0, most.files);
  const sizes = await sizesOf(git, [...new Set(shown.flatMap(({ blobs }) => blobs))]);
  let bytes = 0;
  const readable = shown.filter(({ blobs }) => {
    const size = blobs.map((blob) => sizes.get(blob) ?? 0);
    if (size.some((one) => one > most.fileBytes)) return false;
    bytes += size.reduce((sum, one) => sum + one, 0);
    return bytes <= most.bytes;
  });
  const patches = await patchesOf(git, from, to, readable);
  let lines = 0;
  const files = shown.map((file): FileDiff => {
    const { path, oldPath, status } = file;
    const patch = patches?.[readable.indexOf(file)];
    const count = patch?.hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0) ?? 0;
    const about = { path, oldPath, status };
    if (!patch || lines + count > most.lines)
      return { ...about, added: 0, removed: 0, hunks: [], omitted: patch?.isBinary ? "binary" : "large" };
    lines += count;
    const signed = (sign: string) =>
      patch.hunks.reduce((sum, hunk) => sum + hunk.lines.filter((line) => line.startsWith(sign)).length, 0);
    const omitted = patch.isBinary ? ("binary" as const) : null;
    return { ...about, added: signed("+"), removed: signed("-"), hunks: patch.hunks, omitted };
  });
  return { files, more: all.length - shown.length };
}

type RawFile = Pick<FileDiff, "path" | "oldPath" | "status"> & { blobs: string[] };

const statuses: Record<string, FileDiff["status"]> = { A: "added", D: "deleted", R: "renamed" };

/** Fields are `:mode mode blob blob status`, then the path, and for a renamed file its former path before it. */
function parseRaw(text: string): RawFile[] {
  const words = text.split("\0");
  const files: RawFile[] = [];
  for (let at = 0; at + 1 < words.length; ) {
    const [, , before = "", after = "", letter = ""] = (words[at++] ?? "").split(" ");
    const first = words[at++] ?? "";
    const isPair = letter.startsWith("R") || letter.startsWith("C");
    const path = isPair ? (words[at++] ?? "") : first;
    const status = statuses[letter[0] ?? ""] ?? "changed";
    files.push({ path, oldPath: isPair ? first : null, status, blobs: [before, after] });
  }
  return files;
}

async function sizesOf(git: Git, blobs: string[]): Promise<Map<string, number>> {
  const asked = blobs.filter((blob) => /[^0]/.test(blob));
  if (asked.length === 0) return new Map();
  const { stdout } = await git.run(["cat-file", "--batch-check=%(objectname) %(objectsize)"], `${asked.join("\n")}\n`);
  const lines = stdout.toString("utf8").trimEnd().split("\n");
  return new Map(lines.map((line): [string, number] => [line.split(" ")[0] ?? "", Number(line.split(" ")[1]) || 0]));
}

type Patch = { isBinary: boolean; hunks: FileDiff["hunks"] };

/** The patches in the order of the files; undefined if git lists others. Paths in patches are quoted, so order counts. */
async function patchesOf(git: Git, from: string, to: string, files: RawFile[]): Promise<Patch[] | undefined> {
  if (files.length === 0) return [];
  const paths = files.flatMap(({ path, oldPath }) => [path, ...(oldPath === null ? [] : [oldPath])]);
  const named = paths.map((path) => `:(top,literal)${path}`);
  const { code, stdout } = await git.run(["diff", "-p", "-U3", ...plain, from, to, "--", ...named]);
  const patches = code === 0 ? parsePatches(stdout.toString("utf8")) : [];
  return patches.length === files.length ? patches : undefined;
}

/** Lines of a hunk are read by its counts: a removed line may look like a header. */
export function parsePatches(text: string): Patch[] {
  const patches: Patch[] = [];
  let [old, now] = [0, 0];
  for (const line of text.split("\n")) {
    const patch = patches.at(-1);
    const hunk = patch?.hunks.at(-1);
    if (hunk && (old > 0 || now > 0)) {
      // With diff.suppressBlankEmpty an empty line has no sign.
      const signed = line === "" ? " " : line;
      if (signed[0] !== "+" && signed[0] !== "\\") old--;
      if (signed[0] !== "-" && signed[0] !== "\\") now--;
      hunk.lines.push(signed);
    } else if (line.startsWith("diff --git ")) patches.push({ isBinary: false, hunks: [] });
    else if (line.startsWith("Binary files ") && patch) patch.isBinary = true;
    else if (line.startsWith("\\") && hunk) hunk.lines.push(line);
    else {
      const [, oldStart, oldLines = "1", newStart, newLines = "1"] =
        /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line) ?? [];
      if (oldStart === undefined || newStart === undefined) continue;
      [old, now] = [Number(oldLines), Number(newLines)];
      patch?.hunks.push({ oldStart: Number(oldStart), newStart: Number(newStart), lines: [] });
    }
  }
  return patches;
}
