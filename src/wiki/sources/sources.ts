import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { fileNameProblem } from "../../kernel/file-name.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { advisoryLock } from "../../store/advisory-lock.ts";
import type { Database, Query } from "../../store/database.ts";
import { readIfThere } from "../../store/disk/disk.ts";
import { appendEvent } from "../../store/events.ts";
import { blobOf } from "../../store/git/blob.ts";
import type { Git } from "../../store/git/git.ts";
import { commitMessage, enqueue } from "../../store/git/history.ts";
import type { Publications } from "../../store/publications.ts";
import { pendingFiles } from "../../store/queries/git-queue.ts";
import { allSources, findSource, insertSource, type NewSource } from "../../store/queries/sources.ts";
import type { Author } from "../entry.ts";
import { foldedName, twinOf } from "../twins.ts";

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

type Deps = { db: Database; git: Git; publications: Publications; root: string; folder: string; now(): Date };

export function sourceStore({ db, git, publications, root, folder, now }: Deps): SourceStore {
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
      const blob = blobOf(bytes, await git.objectFormat());
      const added = await publications.write(async (tx, stage): Promise<Result<boolean>> => {
        await advisoryLock(tx, db.engine, `source ${foldedName(path.value)}`);
        const twin = twinOf(join(root, folder), path.value) ?? (await waitingTwin(tx, folder, path.value));
        if (twin !== undefined) return alike(path.value, twin);
        const held = readIfThere(file, root);
        if ((await findSource(tx, path.value)) || (held && !held.equals(bytes))) return ok(false);
        await insertSource(tx, source);
        await enqueue(tx, {
          path: `${folder}/${path.value}`,
          blob,
          content: bytes,
          author: { name: by.name, email: by.email ?? "" },
          message: commitMessage(`Add source ${path.value}`, {
            Source: path.value,
            Sha256: sha256,
            Size: bytes.length,
          }),
          at: source.at,
          file: held ? undefined : stage(`${folder}/${path.value}`, bytes, undefined),
        });
        const data = { sha256, size: bytes.length };
        await appendEvent(tx, {
          at: source.at,
          actor: by.name,
          kind: "source-added",
          subject: `source:${path.value}`,
          data,
        });
        return ok(true);
      });
      if (!added.ok) return added;
      if (added.value) return ok({ ...fromRow(source), added: true });
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

/** A source that is committed but whose file is not published yet. */
async function waitingTwin(tx: Query, folder: string, path: string): Promise<string | undefined> {
  const waiting = (await pendingFiles(tx)).map((file) => file.path);
  const twin = waiting.find(
    (name) => name !== `${folder}/${path}` && foldedName(name) === foldedName(`${folder}/${path}`),
  );
  return twin?.slice(folder.length + 1);
}

export const tooLarge = (name: string, size: number) =>
  refuse(
    "invalid",
    `${name} has ${size} bytes; the maximum for a source is ${largestSource}. Add only the part that you need`,
  );

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
const alike = (path: string, twin: string) =>
  refuse(
    "conflict",
    `${path} and ${twin} are the same file on systems that ignore case or Unicode form; add ${path} under another name`,
    { path, source: twin },
  );

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
