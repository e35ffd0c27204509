import { createHash, type Hash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { createInterface } from "node:readline";
import { finished } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { privateFile } from "../disk/private.ts";
import type { Row, TableShape } from "../queries/transfer.ts";
import { type Digest, decodeValue, encodeValue, openDigest } from "./rows.ts";

/**
 * A backup is one gzip file of JSON lines (docs/operating/backup.md):
 *
 *   {"scriptorium_backup": 1, …}                       the head
 *   {"table": "events", "columns": […]}                a table, followed by its rows
 *   {"rows": [[…], …]}
 *   {"file": "wiki/vision.md"}                         a file, followed by its bytes; so is the git bundle
 *   {"bytes": "base64"}
 *   {"end": {"tables": …, "files": …, "sha256": …}}    the hashes of all that, and of every line before
 */
export type ArchiveHead = {
  scriptorium_backup: 1;
  created_at: string;
  book: string;
  store: string;
  engine: string;
  /** The refs of the bundle with their commits. */
  refs: Record<string, string>;
  left_out: string[];
};

export type ArchiveEnd = { tables: Record<string, Digest>; files: Record<string, string>; sha256: string };

type Line =
  | ArchiveHead
  | { table: string; columns: string[] }
  | { rows: unknown[][] }
  | { file: string }
  | { bytes: string }
  | { end: ArchiveEnd };

const partBytes = 768 * 1024;

export interface ArchiveWriter {
  table(shape: Pick<TableShape, "name" | "columns">, rows: AsyncIterable<Row[]>): Promise<void>;
  file(path: string, bytes: Buffer): Promise<void>;
}

/** Writes an archive under its name once it is complete and on disk. */
export async function writeArchive(
  file: string,
  head: ArchiveHead,
  fill: (writer: ArchiveWriter) => Promise<void>,
): Promise<ArchiveEnd> {
  const draft = `${file}.part`;
  const gzip = createGzip();
  const output = gzip.pipe(createWriteStream(draft, privateFile));
  const written = finished(output);
  // Awaited below; without a handler an early failure would end the process.
  written.catch(() => undefined);
  const whole = createHash("sha256");
  const put = async (line: Line) => {
    const text = `${JSON.stringify(line)}\n`;
    if (!("end" in line)) whole.update(text);
    if (!gzip.write(text)) await Promise.race([new Promise((done) => gzip.once("drain", done)), written]);
  };
  const tables: Record<string, Digest> = {};
  const files: Record<string, string> = {};
  try {
    await put(head);
    await fill({
      async table({ name, columns }, batches) {
        const digest = openDigest(columns);
        await put({ table: name, columns });
        for await (const rows of batches) {
          digest.add(rows);
          await put({ rows: rows.map((row) => columns.map((column) => encodeValue(row[column]))) });
        }
        tables[name] = digest.end();
      },
      async file(path, bytes) {
        files[path] = createHash("sha256").update(bytes).digest("hex");
        await put({ file: path });
        for (let at = 0; at < bytes.length; at += partBytes)
          await put({ bytes: bytes.subarray(at, at + partBytes).toString("base64") });
      },
    });
    const end = { tables, files, sha256: whole.digest("hex") };
    await put({ end });
    gzip.end();
    await written;
    await syncFile(draft);
    await rename(draft, file);
    return end;
  } catch (error) {
    gzip.destroy();
    output.destroy();
    await rm(draft, { force: true });
    throw error;
  }
}

async function syncFile(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

export interface ArchiveReader {
  head?(head: ArchiveHead): Promise<void>;
  rows?(table: string, columns: string[], rows: Row[]): Promise<void>;
  file?(path: string, bytes: Buffer): Promise<void>;
}

/** Reads an archive to its end and checks every hash; a damaged or incomplete one is refused. */
export async function readArchive(
  file: string,
  reader: ArchiveReader = {},
): Promise<Result<{ head: ArchiveHead; end: ArchiveEnd }>> {
  try {
    return await readLines(file, reader);
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return refuse("not_found", `file ${file} does not exist`);
    if (code.startsWith("Z_") || error instanceof SyntaxError) return damaged(file, message);
    throw error;
  }
}

async function readLines(file: string, reader: ArchiveReader): Promise<Result<{ head: ArchiveHead; end: ArchiveEnd }>> {
  const input = createReadStream(file);
  const unzipped = input.pipe(createGunzip());
  input.on("error", (error) => unzipped.destroy(error));
  const whole = createHash("sha256");
  const tables: Record<string, Digest> = {};
  const files: Record<string, string> = {};
  let head: ArchiveHead | undefined;
  let table: { name: string; columns: string[]; digest: ReturnType<typeof openDigest> } | undefined;
  let member: { path: string; parts: Buffer[]; hash: Hash } | undefined;
  const endMember = async () => {
    if (table) tables[table.name] = table.digest.end();
    if (member) {
      files[member.path] = member.hash.digest("hex");
      await reader.file?.(member.path, Buffer.concat(member.parts));
    }
    table = member = undefined;
  };
  for await (const text of createInterface({ input: unzipped, crlfDelay: Number.POSITIVE_INFINITY })) {
    const line = JSON.parse(text) as Line;
    if (!head) {
      if (!("scriptorium_backup" in line)) return refuse("invalid", `${file} is not a backup of Scriptorium`);
      if (line.scriptorium_backup !== 1)
        return refuse("invalid", `${file} was written by a newer version of Scriptorium; install that version`);
      head = line;
      await reader.head?.(head);
    } else if ("table" in line) {
      await endMember();
      table = { name: line.table, columns: line.columns, digest: openDigest(line.columns) };
    } else if ("rows" in line && table) {
      const { columns } = table;
      const rows = line.rows.map((values) =>
        Object.fromEntries(columns.map((column, at) => [column, decodeValue(values[at])])),
      );
      table.digest.add(rows);
      await reader.rows?.(table.name, columns, rows);
    } else if ("file" in line) {
      await endMember();
      member = { path: line.file, parts: [], hash: createHash("sha256") };
    } else if ("bytes" in line && member) {
      const bytes = Buffer.from(line.bytes, "base64");
      member.hash.update(bytes);
      if (reader.file) member.parts.push(bytes);
    } else if ("end" in line) {
      await endMember();
      const { end } = line;
      const found = { tables, files, sha256: whole.digest("hex") };
      return sameEnd(found, end) ? ok({ head, end }) : damaged(file, "its hashes differ from its content");
    }
    whole.update(`${text}\n`);
  }
  return damaged(file, "it ends too early");
}

const sameEnd = (found: ArchiveEnd, said: ArchiveEnd) =>
  found.sha256 === said.sha256 &&
  JSON.stringify(sorted(found.tables)) === JSON.stringify(sorted(said.tables)) &&
  JSON.stringify(sorted(found.files)) === JSON.stringify(sorted(said.files));

const sorted = (record: Record<string, unknown>) => Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1));

const damaged = (file: string, why: string) =>
  refuse("invalid", `${file} is damaged: ${why}. Nothing was restored; use another backup`);
