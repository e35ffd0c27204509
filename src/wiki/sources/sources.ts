import { createHash } from "node:crypto";
import { createReadStream, readFileSync } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { fileNameProblem } from "../../kernel/file-name.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { Database } from "../../store/database.ts";
import { discard, replaceFile } from "../../store/disk/disk.ts";
import { appendEvent } from "../../store/events.ts";
import { commitMessage, enqueue } from "../../store/git/history.ts";
import { allSources, findSource, insertSource, type NewSource } from "../../store/queries/sources.ts";
import type { Author } from "../entry.ts";

export type Source = { path: string; sha256: string; size: number; addedBy: string; at: string };

export type SourceReport = {
  intact: number;
  changed: { path: string; expected: string; found: string }[];
  missing: { path: string; expected: string }[];
  /** Files in the folder that were never added. */
  unknown: string[];
};

/** Immutable raw inputs: added once, hashed, never changed (K1). */
export interface SourceStore {
  add(name: string, bytes: Buffer, by: Author): Promise<Result<Source & { added: boolean }>>;
  list(): Promise<Source[]>;
  verify(): Promise<SourceReport>;
}

export const largestSource = 32 * 1024 * 1024;

type Deps = { db: Database; root: string; folder: string; now(): Date };

export function sourceStore({ db, root, folder, now }: Deps): SourceStore {
  return {
    async add(name, bytes, by) {
      const path = checkName(name);
      if (!path.ok) return path;
      if (bytes.length > largestSource) return tooLarge(name, bytes.length);
      const sha256 = createHash("sha256").update(bytes).digest("hex");
      const known = await findSource(db.read, path.value);
      if (known?.sha256 === sha256) return ok({ ...fromRow(known), added: false });
      if (known) return alreadyThere(path.value, known.sha256);

      const file = join(root, folder, path.value);
      const taken = await takenPart(join(root, folder), path.value);
      if (taken) return refuse("conflict", `${taken}; add ${path.value} under another name`, { path: path.value });
      const source = { path: path.value, sha256, size: bytes.length, added_by: by.name, at: now().toISOString() };
      const added = await db.write(async (tx) => {
        if ((await findSource(tx, path.value)) || !putOnce(file, bytes, root)) return false;
        await insertSource(tx, source);
        await enqueue(tx, {
          path: `${folder}/${path.value}`,
          content: bytes,
          author: { name: by.name, email: by.email ?? "" },
          message: commitMessage(`Add source ${path.value}`, {
            Source: path.value,
            Sha256: sha256,
            Size: bytes.length,
          }),
          at: source.at,
        });
        const data = { sha256, size: bytes.length };
        await appendEvent(tx, {
          at: source.at,
          actor: by.name,
          kind: "source-added",
          subject: `source:${path.value}`,
          data,
        });
        return true;
      });
      if (added) return ok({ ...fromRow(source), added: true });
      const winner = await findSource(db.read, path.value);
      if (winner?.sha256 === sha256) return ok({ ...fromRow(winner), added: false });
      return alreadyThere(path.value, winner?.sha256 ?? "another text");
    },

    list: async () => (await allSources(db.read)).map(fromRow),

    async verify() {
      const sources = await this.list();
      const report: SourceReport = { intact: 0, changed: [], missing: [], unknown: [] };
      for (const { path, sha256 } of sources) {
        const found = await hashFile(join(root, folder, path));
        if (found === undefined) report.missing.push({ path, expected: sha256 });
        else if (found !== sha256) report.changed.push({ path, expected: sha256, found });
        else report.intact++;
      }
      const known = new Set(sources.map((source) => source.path));
      report.unknown = (await filesIn(join(root, folder))).filter((path) => !known.has(path));
      return report;
    },
  };
}

export const tooLarge = (name: string, size: number) =>
  refuse(
    "invalid",
    `${name} has ${size} bytes; the maximum for a source is ${largestSource}. Add only the part that you need`,
  );

/** Creates the file; true also when it exists with the same bytes. */
function putOnce(file: string, bytes: Buffer, root: string): boolean {
  const staged = replaceFile(file, bytes, undefined, root);
  if (staged === undefined) return readFileSync(file).equals(bytes);
  discard(staged);
  return true;
}

const alreadyThere = (path: string, sha256: string) =>
  refuse(
    "conflict",
    `source ${path} already exists with other content (${sha256.slice(0, 12)}…), and sources are immutable; add this one under another name`,
    {
      path,
      sha256,
    },
  );

const fromRow = (row: NewSource): Source => ({
  path: row.path,
  sha256: row.sha256,
  size: Number(row.size),
  addedBy: row.added_by,
  at: row.at,
});

/** Says which part of the path is a file and would have to be a folder, or the other way round. */
async function takenPart(folder: string, path: string): Promise<string | undefined> {
  const parts = path.split("/");
  for (let depth = 1; depth <= parts.length; depth++) {
    const part = parts.slice(0, depth).join("/");
    const found = await lstat(join(folder, part)).catch(() => undefined);
    if (found?.isFile() && depth < parts.length) return `${part} is a source, not a folder`;
    if (found?.isDirectory() && depth === parts.length) return `${part} is a folder of sources`;
  }
  return undefined;
}

/** Accepts a relative path that is safe on every operating system (R19). */
function checkName(name: string): Result<string> {
  const bad = (why: string) => refuse("invalid", `${JSON.stringify(name)} is not a valid source name: ${why}`);
  if (name.length === 0 || name.length > 240) return bad("expected 1 to 240 characters");
  if (name.normalize("NFC") !== name) return bad("it is not in Unicode normal form C (NFC)");
  const problem = fileNameProblem(name);
  if (problem) return bad(problem);
  if (/[\\:*?"<>|]/.test(name)) return bad('it contains one of \\ : * ? " < > |');
  if (/%[0-9a-f]{2}/i.test(name)) return bad("it is percent-encoded; write the characters themselves");
  for (const part of name.split("/")) {
    if (part === "" || part === "." || part === "..") return bad("it has an empty part, . or ..");
    if (part.startsWith(".")) return bad("files and folders that start with a dot are not accepted");
    if (/[. ]$/.test(part) || part.startsWith(" "))
      return bad("a part of it starts or ends with a space, or ends with a dot");
    if (/^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i.test(part)) return bad(`${part} is a reserved name on Windows`);
  }
  return ok(name);
}

async function hashFile(file: string): Promise<string | undefined> {
  const found = await lstat(file).catch(() => undefined);
  if (!found) return undefined;
  if (!found.isFile()) return "not a regular file";
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(file)) hash.update(chunk);
  return hash.digest("hex");
}

async function filesIn(folder: string): Promise<string[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return found
    .filter((item) => !item.isDirectory() && !item.name.startsWith("."))
    .map((item) => relative(folder, join(item.parentPath, item.name)).split(sep).join("/"))
    .sort();
}
