import { advisoryLock } from "../../store/advisory-lock.ts";
import type { Database, Query } from "../../store/database.ts";
import { appendEvent } from "../../store/events.ts";
import type { Identity } from "../../store/git/git.ts";
import { commitMessage, enqueue } from "../../store/git/history.ts";
import type { StagedFile } from "../../store/publications.ts";
import { setMeta } from "../../store/queries/meta.ts";
import { insertSchemaVersion, latestSchema, replaceSections } from "../../store/queries/schema-versions.ts";
import { parseSchema, type Schema } from "../schema.ts";
import { compareSchemas, noChanges, type SchemaChanges, summarize } from "./changes.ts";

/** Where a schema.yaml lies. `checkout` names the copy: machines that share a database each have one. */
export type SchemaPlace = { path: string; checkout: string };

/** A schema.yaml that comes into force. */
export type NewSchema = {
  bytes: Buffer;
  /** The name that git gives the bytes. */
  blob: string;
  schema: Schema;
  author: Identity;
  at: string;
  /** Old ids of renamed sections to new ones. */
  renamed?: ReadonlyMap<string, string>;
  /** True if the branch has it already; then history starts with the next version. */
  isCommitted?: boolean;
  /** A person's own edit of the file; the person commits it. Otherwise it is committed for them, with this subject. */
  commit?: { subject: string; trailers: Record<string, string | null> };
  /** Undefined when the file has the bytes already. */
  file?: StagedFile | undefined;
};

export const checkoutKey = (checkout: string) => `schema ${checkout}`;

/** One transaction at a time changes the schema. */
export const lockSchema = (tx: Query, engine: Database["engine"]) => advisoryLock(tx, engine, "(schema)");

/**
 * Makes this the schema in force: saves the version, the event and the sections, and queues the commit. Returns the
 * number of the version; the same as before if this is the newest one, e.g. after a pull of what another machine did.
 */
export async function recordSchema(
  tx: Query,
  engine: Database["engine"],
  { path, checkout }: SchemaPlace,
  made: NewSchema,
): Promise<number> {
  await lockSchema(tx, engine);
  const { blob } = made;
  const latest = await latestSchema(tx);
  await setMeta(tx, checkoutKey(checkout), blob);
  await replaceSections(tx, made.schema.sections);
  if (latest?.blob === blob) return latest.version;

  const before = latest && parseSchema(latest.content, path);
  const { summary, changes } = describeSchema(before?.ok ? before.value : undefined, made.schema, made.renamed);
  const version = (latest?.version ?? 0) + 1;
  const { author, at, bytes } = made;
  await insertSchemaVersion(tx, {
    version,
    blob,
    content: bytes.toString("utf8"),
    author: author.name,
    at,
    summary,
    changes: JSON.stringify(changes),
  });
  await appendEvent(tx, {
    at,
    actor: author.name,
    kind: "schema-changed",
    subject: "schema",
    data: { version, source_sha: blob, summary, ...changes },
  });
  if (!latest && made.isCommitted) return version;
  const { subject, trailers } = made.commit ?? { subject: `Change schema (version ${version})`, trailers: {} };
  await enqueue(tx, {
    path,
    blob,
    base: latest?.blob,
    content: bytes,
    author,
    byPerson: made.commit === undefined,
    message: commitMessage(subject, { ...trailers, Schema: version }, made.commit ? "" : summary),
    at,
    file: made.file,
  });
  return version;
}

/** What a version changed, as data and as one line. */
export function describeSchema(
  before: Schema | undefined,
  after: Schema,
  renamed?: ReadonlyMap<string, string>,
): { summary: string; changes: SchemaChanges } {
  if (!before) {
    return { summary: `first recorded version, ${after.sections.length} sections`, changes: noChanges };
  }
  const changes = compareSchemas(before, after, renamed);
  return { summary: summarize(changes), changes };
}
