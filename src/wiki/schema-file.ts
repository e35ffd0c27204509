import { statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { ok, type Result, refuse } from "../kernel/result.ts";
import type { Database } from "../store/database.ts";
import { blobOf } from "../store/git/blob.ts";
import { readMeta, writeMeta } from "../store/queries/meta.ts";
import { parseSchema, type Schema } from "./schema.ts";

const large = 64 * 1024;
const cacheKey = "schema";

/**
 * The schema as the file has it now. A schema of thousands of sections takes a second to parse,
 * so the result of a large one is kept in the database under the file's hash.
 */
export function schemaReader(file: string, shownAs: string, db: Database): () => Promise<Result<Schema>> {
  let known: { stat: string; result: Promise<Result<Schema>> } | undefined;

  async function read(): Promise<Result<Schema>> {
    const text = await readFile(file, "utf8");
    if (text.length < large) return parseSchema(text, shownAs);
    const blob = blobOf(text);
    const cached = await readMeta<{ blob: string; schema: Schema }>(db.read, cacheKey);
    if (cached?.blob === blob) return ok(cached.schema);

    const parsed = parseSchema(text, shownAs);
    if (!parsed.ok) return parsed;
    await db.write((tx) => writeMeta(tx, cacheKey, { blob, schema: parsed.value }));
    return parsed;
  }

  return async () => {
    const found = statSync(file, { bigint: true, throwIfNoEntry: false });
    if (!found) return refuse("not_found", `${shownAs} is missing; restore it from git or run: scriptorium init`);
    const now = `${found.ino} ${found.size} ${found.mtimeNs}`;
    const young = Date.now() - Number(found.mtimeMs) < 50;
    // Whoever asks while it is being read waits for that same reading.
    if (known?.stat !== now || young) known = { stat: now, result: read() };
    return known.result;
  };
}
