import { statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { ok, type Result, refuse } from "../kernel/result.ts";
import type { Database } from "../store/database.ts";
import { blobOf } from "../store/git/blob.ts";
import { parseJsonOr } from "../store/json.ts";
import { findMeta, setMeta } from "../store/queries/meta.ts";
import { parseSchema, type Schema } from "./schema.ts";

type CachedSchema = { blob: string; schema: Schema };

const large = 64 * 1024;
const cacheKey = "schema";

/**
 * Reads the schema as the file has it now. A schema of thousands of sections takes a second to parse, so
 * the result for a large file is cached in the database under the file's hash.
 */
export function schemaReader(file: string, shownAs: string, db: Database): () => Promise<Result<Schema>> {
  let known: { stat: string; result: Promise<Result<Schema>> } | undefined;

  async function read(): Promise<Result<Schema>> {
    const text = await readFile(file, "utf8");
    if (text.length < large) return parseSchema(text, shownAs);
    const blob = blobOf(text);
    const cached = parseJsonOr<CachedSchema | null>((await findMeta(db.read, cacheKey)) ?? "null", null);
    if (cached?.blob === blob) return ok(cached.schema);

    const parsed = parseSchema(text, shownAs);
    if (!parsed.ok) return parsed;
    const fresh: CachedSchema = { blob, schema: parsed.value };
    await db.write((tx) => setMeta(tx, cacheKey, JSON.stringify(fresh)));
    return parsed;
  }

  return async () => {
    const found = statSync(file, { bigint: true, throwIfNoEntry: false });
    if (!found) return refuse("not_found", `${shownAs} is missing; restore it from git, or run: scriptorium init`);
    const now = `${found.ino} ${found.size} ${found.mtimeNs}`;
    const young = Date.now() - Number(found.mtimeMs) < 50;
    // Callers that ask during a read share its result.
    if (known?.stat !== now || young) known = { stat: now, result: read() };
    return known.result;
  };
}
