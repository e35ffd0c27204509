import { lstatSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import type { CrewApp } from "../../crew/record/crew-app.ts";
import { type CodeFence, fenceAfter } from "../../kernel/markdown/fences.ts";
import { isTemporary, readIfThere } from "../../store/disk/disk.ts";
import { isBlob } from "../../store/git/blob.ts";
import { allEntries, type IndexedEntry } from "../../store/queries/entries.ts";
import { findVersion } from "../../store/queries/versions.ts";
import type { Schema } from "../../wiki/schema.ts";
import { parseDocument, readFront } from "../../wiki/stores/document.ts";

import { type Finding, findingsOf } from "../finding.ts";

const { ok, warning, problem } = findingsOf("wiki", "files");

/** Every file of an entry is a readable text, and the index has it. */
export async function checkFiles(app: CrewApp, schema: Schema): Promise<Finding[]> {
  const { files, config, db } = app;
  if (!files) return [];
  const folder = join(config.root, config.wiki);
  const swept = await app.publications.sweep(folder);
  const found: Finding[] = swept > 0 ? [ok(`deleted ${swept} temporary files that a crash had left`)] : [];
  const rows = new Map((await allEntries(db.read)).map((row) => [row.id, row]));
  for (const { id } of schema.sections) found.push(...(await checkFile(app, id, rows.get(id))));
  found.push(...(await strayFiles(app, schema)));
  return found.some((f) => f.state !== "ok") ? found : [...found, ok("every entry is readable")];
}

async function checkFile(app: CrewApp, id: string, row: IndexedEntry | undefined): Promise<Finding[]> {
  const { files, config, db } = app;
  const path = `${config.wiki}/${id}.md`;
  const file = files?.fileOf(id) ?? "";
  const about = (kind: string) => ({ kind, subject: `entry:${id}` });
  const there = lstatSync(file, { throwIfNoEntry: false });
  if (!there)
    return row ? [warning(`${path} was deleted; its versions are kept`, putBack(id), about("file-missing"))] : [];
  if (!there.isFile()) {
    const what = there.isSymbolicLink() ? "a symbolic link" : there.isDirectory() ? "a folder" : "not a regular file";
    const fix = `move it away, then: scriptorium doctor --fix`;
    return [problem(`${path} is ${what}; entries are regular files`, fix, about("file-replaced"))];
  }
  const bytes = readIfThere(file, config.root);
  if (!bytes)
    return [
      problem(
        `${path} is outside the workspace, behind a symbolic link`,
        `ls -l ${config.wiki}`,
        about("file-outside"),
      ),
    ];
  // A file that was written within the resolution of its time has a version by now, unless the index is damaged.
  if (row && !isBlob(bytes, row.blob) && (await findVersion(db.read, id, row.version))?.blob === row.blob)
    await files?.reconcile(id);
  return [...textFindings(bytes, path, id)];
}

const putBack = (id: string) =>
  `scriptorium doctor --fix puts it back; without it, the next commit to ${id} creates it`;

function* textFindings(bytes: Buffer, path: string, id: string): Generator<Finding> {
  const subject = `entry:${id}`;
  const { complaint } = readFront(parseDocument(bytes), path);
  if (complaint)
    yield warning(complaint, "correct the frontmatter; until then it is kept but ignored", {
      kind: "frontmatter",
      subject,
    });
  const line = lineOfInvalidText(bytes);
  if (line !== undefined) {
    const fix = "convert it, e.g.: iconv -f ISO-8859-1 -t UTF-8; a commit would replace those bytes by �";
    yield problem(`${path}:${line}: not valid UTF-8`, fix, { kind: "file-not-utf8", subject });
  }
  const marker = conflictLine(bytes.toString("utf8"));
  if (marker !== undefined) {
    const fix = `resolve the conflict in ${path}, then save it`;
    yield problem(`${path}:${marker}: has conflict markers of a merge`, fix, { kind: "conflict-markers", subject });
  }
}

/** The first line with bytes that are not UTF-8. */
function lineOfInvalidText(bytes: Buffer): number | undefined {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const isValid = (part: Buffer) => {
    try {
      decoder.decode(part);
      return true;
    } catch {
      return false;
    }
  };
  if (isValid(bytes)) return undefined;
  for (let line = 1, from = 0; ; line++) {
    const end = bytes.indexOf(10, from);
    if (end < 0 || !isValid(bytes.subarray(from, end))) return line;
    from = end + 1;
  }
}

/** The line of the first `<<<<<<<` that `=======` and `>>>>>>>` follow, outside of code. */
function conflictLine(text: string): number | undefined {
  let fence: CodeFence | undefined;
  let began: number | undefined;
  let isSplit = false;
  for (const [index, line] of text.split("\n").entries()) {
    fence = fenceAfter(fence, line);
    if (fence) continue;
    if (/^<{7} /.test(line)) [began, isSplit] = [index + 1, false];
    else if (began !== undefined && /^={7}\r?$/.test(line)) isSplit = true;
    else if (began !== undefined && isSplit && /^>{7}( |\r?$)/.test(line)) return began;
  }
  return undefined;
}

/** Markdown files of the wiki's folder that no section names. */
async function strayFiles({ config }: CrewApp, schema: Schema): Promise<Finding[]> {
  const folder = join(config.root, config.wiki);
  const known = new Set(schema.sections.map((section) => `${section.id}.md`));
  const found: Finding[] = [];
  const names = await readdir(folder, { recursive: true });
  for (const name of names.map((n) => n.split(sep).join("/"))) {
    if (!name.endsWith(".md") || known.has(name) || isTemporary(name)) continue;
    if (!(await stat(join(folder, name)).catch(() => undefined))?.isFile()) continue;
    const fix = `add a section ${name.slice(0, -3)} to ${config.wiki}/schema.yaml`;
    const about = { kind: "file-without-section", subject: `${config.wiki}/${name}` };
    found.push(warning(`${config.wiki}/${name} belongs to no section`, fix, about));
  }
  return found;
}
