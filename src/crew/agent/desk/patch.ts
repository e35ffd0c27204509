import { parsePatch, type StructuredPatch, type StructuredPatchHunk } from "diff";
import * as z from "zod";
import { operation } from "../../../kernel/operation.ts";
import { ok, type Result, refuse } from "../../../kernel/result.ts";
import { removeInside } from "../../../store/disk/pinned.ts";
import type { CrewApp } from "../../record/crew-app.ts";
import { filePath } from "../../rules/plan.ts";
import { readForEdit, writeWithin } from "./files.ts";
import { type Desk, folderOf, writing } from "./place.ts";

const largestPatch = 1024 * 1024;

export const patchTool = (desk: Desk) =>
  operation({
    ...writing,
    name: "apply_patch",
    summary: "Apply a unified diff of one or more files; all hunks or none.",
    guidance: "Context must match exactly; line numbers may be off. /dev/null creates or deletes a file.",
    input: z.object({ patch: z.string().min(1).max(largestPatch).describe("As `git diff` prints it") }),
    output: z.object({ files: z.array(z.string()), hunks: z.int() }),
    async run(_app: CrewApp, { patch }) {
      const folder = await folderOf(desk);
      const files = parsed(patch);
      if (!files.ok) return files;
      const changes: Change[] = [];
      for (const file of files.value) {
        const change = await changeOf(folder, file, changes);
        if (!change.ok) return change;
        changes.push(...change.value);
      }
      const written = await writeAll(folder, changes);
      if (!written.ok) return written;
      return ok({
        files: [...new Set(changes.map(({ path }) => path))],
        hunks: files.value.reduce((sum, { hunks }) => sum + hunks.length, 0),
      });
    },
  });

/** `null` is a file that does not exist. */
type Change = { path: string; before: string | null; after: string | null };

function parsed(patch: string): Result<StructuredPatch[]> {
  try {
    const files = parsePatch(patch).filter(({ hunks }) => hunks.length > 0);
    return files.length > 0
      ? ok(files)
      : refuse("invalid", "the patch has no hunk; expected lines such as --- a/file, +++ b/file and @@ -1,3 +1,4 @@");
  } catch (error) {
    return refuse("invalid", `the patch cannot be read: ${(error as Error).message}`);
  }
}

async function changeOf(folder: string, file: StructuredPatch, earlier: readonly Change[]): Promise<Result<Change[]>> {
  const [from, to] = [pathIn(file.oldFileName), pathIn(file.newFileName)];
  if (!from.ok) return from;
  if (!to.ok) return to;
  const path = to.value ?? from.value;
  if (path === null) return refuse("invalid", "the patch names /dev/null twice; name the file that it changes");
  const current = async (name: string) => {
    const changed = earlier.findLast((change) => change.path === name);
    if (!changed) return readForEdit(folder, name);
    return changed.after === null ? refuse("not_found", `file ${name} was deleted by the patch`) : ok(changed.after);
  };
  const before = from.value === null ? ok("") : await current(from.value);
  if (!before.ok) return before;
  if (from.value === null && to.value !== null && (await current(to.value)).ok) {
    return refuse("conflict", `${to.value} exists already; the patch creates it`);
  }
  const after = withHunks(before.value, file.hunks, path);
  if (!after.ok) return after;
  const gone =
    from.value !== null && from.value !== to.value ? [{ path: from.value, before: before.value, after: null }] : [];
  if (to.value === null) return ok(gone);
  const old = from.value === to.value ? before.value : null;
  return ok([...gone, { path: to.value, before: old, after: after.value }]);
}

/** The path of a header without the `a/` or `b/` that git puts in front; null for /dev/null. */
function pathIn(name: string | undefined): Result<string | null> {
  const given = (name ?? "").replace(/\t.*$/, "");
  if (given === "/dev/null") return ok(null);
  const path = filePath.safeParse(given.replace(/^[ab]\//, ""));
  return path.success
    ? ok(path.data)
    : refuse("invalid", `the patch names ${JSON.stringify(given)}, which is not a path in your folder`);
}

function withHunks(text: string, hunks: readonly StructuredPatchHunk[], path: string): Result<string> {
  const hasReturns = text.includes("\r\n");
  const lines = text.split("\n");
  let hasNewline = lines.at(-1) === "";
  if (hasNewline) lines.pop();
  const result: string[] = [];
  let at = 0;
  for (const [i, hunk] of hunks.entries()) {
    const side = (other: "-" | "+") => {
      const own = hunk.lines.filter((line) => line[0] !== other && line[0] !== "\\").map((line) => line.slice(1));
      return hasReturns ? own.map((line) => (line.endsWith("\r") ? line : `${line}\r`)) : own;
    };
    const old = side("+");
    const expected = Math.max(at, hunk.oldStart - 1);
    const place = findLines(lines, old, at, expected);
    if (place === undefined) {
      const header = `@@ -${hunk.oldStart},${hunk.oldLines} +${hunk.newStart},${hunk.newLines} @@`;
      const why = `${mismatch(lines, old, expected)}; nothing was changed`;
      return refuse("conflict", `hunk ${i + 1} of ${hunks.length} in ${path} (${header}) does not match: ${why}`);
    }
    result.push(...lines.slice(at, place), ...side("-"));
    at = place + old.length;
    hasNewline = newlineAfter(hunk.lines) ?? hasNewline;
  }
  result.push(...lines.slice(at));
  return ok(result.length === 0 ? "" : result.join("\n") + (hasNewline ? "\n" : ""));
}

/** What the markers `\ No newline at end of file` say about the new file; undefined without one. */
function newlineAfter(lines: readonly string[]): boolean | undefined {
  const signs = lines.flatMap((line, i) => (line.startsWith("\\") ? [lines[i - 1]?.[0]] : []));
  return signs.length === 0 ? undefined : signs.every((sign) => sign === "-");
}

/** The place nearest to the expected one where the lines are, not before `from`. */
function findLines(
  lines: readonly string[],
  wanted: readonly string[],
  from: number,
  expected: number,
): number | undefined {
  const isAt = (at: number) => wanted.every((line, i) => lines[at + i] === line);
  const last = lines.length - wanted.length;
  if (wanted.length === 0) return Math.min(expected, lines.length);
  for (let away = 0; expected - away >= from || expected + away <= last; away++) {
    for (const at of [expected - away, expected + away]) if (at >= from && at <= last && isAt(at)) return at;
  }
  return undefined;
}

function mismatch(lines: readonly string[], wanted: readonly string[], at: number): string {
  const i = Math.max(
    0,
    wanted.findIndex((line, n) => lines[at + n] !== line),
  );
  const there = lines[at + i];
  const found = there === undefined ? "the file ends before it" : `the file has ${JSON.stringify(there.slice(0, 200))}`;
  return `line ${at + i + 1} should be ${JSON.stringify((wanted[i] ?? "").slice(0, 200))}, ${found}`;
}

/** Writes all files; if one cannot be written, those before it get their content back. */
async function writeAll(folder: string, changes: readonly Change[]): Promise<Result<true>> {
  const put = (path: string, text: string | null) =>
    text === null ? removeInside(folder, path) : writeWithin(folder, path, text);
  for (const [i, { path, after }] of changes.entries()) {
    const written = await put(path, after);
    if (written.ok) continue;
    for (const done of changes.slice(0, i).toReversed()) await put(done.path, done.before);
    return written;
  }
  return ok(true);
}
