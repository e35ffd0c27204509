import { createHash } from "node:crypto";
import { realpathSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { Database } from "../../store/database.ts";
import { readIfThere, statOf } from "../../store/disk/disk.ts";
import { blobOf, isBlob } from "../../store/git/blob.ts";
import type { Git } from "../../store/git/git.ts";
import { parseJsonOr } from "../../store/json.ts";
import type { Publications } from "../../store/publications.ts";
import { findMeta, setMeta } from "../../store/queries/meta.ts";
import { findSchemaBlob, latestSchema } from "../../store/queries/schema-versions.ts";
import type { SchemaVersionRow } from "../../store/tables.ts";
import { parseSchema, type Schema } from "../schema.ts";
import { readSettled, whoEdited } from "../stores/look.ts";
import { checkoutKey, lockSchema, type NewSchema, recordSchema, type SchemaPlace } from "./record.ts";

type Deps = { db: Database; git: Git; publications: Publications; root: string; wiki: string; now(): Date };

export interface SchemaKeeper {
  /** The schema in force: the file's or, while the file is not valid, the last valid one. */
  read(): Promise<Result<Schema>>;
  /** Why the file is not in force, as of the last `read`. */
  warning(): string | undefined;
  place: SchemaPlace;
}

type InForce = { schema: Result<Schema>; warning?: string };
type CachedSchema = { blob: string; schema: Schema };

/** Parsing thousands of sections takes a second, so the result for a large file is cached in the database. */
const large = 64 * 1024;
const cacheKey = "schema";
/** A half-written file is read again after this time even if its stat has not changed. */
const retryMs = 500;
const mostTries = 10;

/**
 * Keeps versions of schema.yaml: every valid content is a version with its author, and comes into force
 * when it is recorded. Each call compares the file's stat, so that an edit is in force for the next call.
 */
export function schemaKeeper({ db, git, publications, root, wiki, now }: Deps): SchemaKeeper {
  const path = join(wiki, "schema.yaml");
  const file = join(root, path);
  const place = { path, checkout: checkoutOf(root) };
  let known: { stat: string; until: number; found: Promise<InForce> } | undefined;
  let warning: string | undefined;

  async function look(stat: string): Promise<InForce> {
    if (stat === "gone")
      return { schema: refuse("not_found", `${path} is missing; restore it from git, or run: scriptorium init`) };
    for (let attempt = 1; ; attempt++) {
      const seen = await findMeta(db.read, checkoutKey(place.checkout));
      const newest = seen === undefined ? await latestSchema(db.read) : undefined;
      // A version that is committed but not published yet must not be taken for an edit back to the one before.
      const isUnpublished = seen !== undefined && !isBlob(readIfThere(file, root) ?? "", seen);
      const waiting = isUnpublished ? await publications.finish(path) : "none";
      if (waiting === "failed") return lastValid(seen, refuse("invalid", `${path} cannot be written`));
      const { bytes, isSettled } = await readSettled(file, root, seen ?? newest?.blob);
      if (!isSettled || attempt > mostTries) return lastValid(seen, refuse("invalid", `${path} keeps changing`));
      const blob = blobOf(bytes, await git.objectFormat());
      const parsed = await parse(bytes.toString("utf8"), blob);
      if (!parsed.ok) return lastValid(seen, parsed);
      if (seen === blob || (await adopt(seen, { bytes, blob, schema: parsed.value }, newest)))
        return { schema: parsed };
    }
  }

  /** Records an edit; false when another process has recorded something else since `seen` was read. */
  async function adopt(
    seen: string | undefined,
    edit: Pick<NewSchema, "bytes" | "blob" | "schema">,
    newest: SchemaVersionRow | undefined,
  ): Promise<boolean> {
    const { bytes, blob } = edit;
    const author = newest?.blob === blob ? nobody : await whoEdited(git, root, path, bytes);
    const isCommitted = !newest && (await git.isCommitted(path, bytes));
    return db.write(async (tx) => {
      await lockSchema(tx, db.engine);
      if ((await findMeta(tx, checkoutKey(place.checkout))) !== seen) return false;
      await recordSchema(tx, db.engine, place, { ...edit, author, at: now().toISOString(), isCommitted });
      return true;
    });
  }

  async function parse(text: string, blob: string): Promise<Result<Schema>> {
    if (text.length < large) return parseSchema(text, path);
    const cached = parseJsonOr<CachedSchema | null>((await findMeta(db.read, cacheKey)) ?? "null", null);
    if (cached?.blob === blob) return ok(cached.schema);
    const parsed = parseSchema(text, path);
    if (!parsed.ok) return parsed;
    const fresh: CachedSchema = { blob, schema: parsed.value };
    await db.write((tx) => setMeta(tx, cacheKey, JSON.stringify(fresh)));
    return parsed;
  }

  /** The last version that this copy had; without one, the reason why there is none. */
  async function lastValid(seen: string | undefined, problem: Result<never>): Promise<InForce> {
    const row = (seen === undefined ? undefined : await findSchemaBlob(db.read, seen)) ?? (await latestSchema(db.read));
    if (!row || problem.ok) return { schema: problem };
    const schema = await parse(row.content, row.blob);
    if (!schema.ok) return { schema: problem };
    const since = `Version ${row.version} of ${row.at.slice(0, 16).replace("T", " ")} by ${row.author}`;
    return {
      schema,
      warning: `${path} is not in force: ${inOneLine(problem.problem.message)}. ${since} is used until the file is valid.`,
    };
  }

  return {
    place,
    warning: () => warning,
    async read() {
      const stat = statOf(file);
      // Callers that ask during a read share its result.
      if (known?.stat !== stat || performance.now() > known.until) {
        const found = look(stat);
        const asked = { stat, until: Number.POSITIVE_INFINITY, found };
        known = asked;
        found.then(
          (inForce) => {
            if (inForce.warning !== undefined) asked.until = performance.now() + retryMs;
          },
          () => {
            if (known === asked) known = undefined;
          },
        );
      }
      const { schema, warning: said } = await known.found;
      warning = said;
      return schema;
    },
  };
}

/** Not recorded: the version exists, and only this copy of the workspace is new. */
const nobody = { name: "", email: "" };

/** Tells copies of the workspace apart that share a database: each has a schema.yaml of its own branch and time. */
const checkoutOf = (root: string) =>
  createHash("sha256")
    .update(`${hostname()}\0${realpathSync.native(root)}`)
    .digest("hex")
    .slice(0, 16);

const longestReason = 1000;

/** Warnings are sent in a header of HTTP. */
function inOneLine(message: string): string {
  const line = message.replaceAll("\n", "; ");
  return line.length > longestReason ? `${line.slice(0, longestReason)}…` : line;
}
