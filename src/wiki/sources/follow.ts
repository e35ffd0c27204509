import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { extname, resolve } from "node:path";
import type { Result } from "../../kernel/result.ts";
import type { Database } from "../../store/database.ts";
import { appendEvent } from "../../store/events.ts";
import { followedSources, markSourceGone, setOrigin } from "../../store/queries/sources.ts";
import type { Author } from "../entry.ts";
import { filesAt } from "./intake.ts";
import { largestSource, type Source, type SourceStore, tooLarge } from "./sources.ts";

export type FolderChange = {
  kind: "added" | "changed" | "removed" | "refused";
  file: string;
  source?: string;
  why?: string;
};

type Deps = { db: Database; sources: SourceStore; now(): Date };

/**
 * Synchronises the sources with a folder. Sources never change: a changed file becomes a new source. The old
 * one, like that of a removed file, stays but is no longer found by search.
 */
export async function followFolder({ db, sources, now }: Deps, folder: string, by: Author): Promise<FolderChange[]> {
  const root = resolve(folder);
  const files = new Map((await filesAt(root)).map(({ file, name }) => [resolve(file), name]));
  const rows = await followedSources(db.read);
  const known = new Map(
    rows.filter((row) => row.origin?.startsWith(`${root}/`)).map((row) => [row.origin as string, row]),
  );
  const done: FolderChange[] = [];

  for (const [file, name] of files) {
    const size = await stat(file).then(
      (found) => found.size,
      () => undefined,
    );
    if (size !== undefined && size > largestSource) {
      known.delete(file);
      done.push({ kind: "refused", file, why: tooLarge(name, size).problem.message });
      continue;
    }
    const bytes = await readFile(file).catch(() => undefined);
    if (!bytes) continue;
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    const before = known.get(file);
    known.delete(file);
    if (before?.sha256 === sha256) continue;
    const added = await addNamed(sources, name, sha256, bytes, by);
    if (!added.ok) {
      done.push({ kind: "refused", file, why: added.problem.message });
      continue;
    }
    await mark(db, now, by, { path: added.value.path, origin: file, before: before?.path });
    done.push({ kind: before ? "changed" : "added", file, source: added.value.path });
  }
  for (const [file, row] of known) {
    await mark(db, now, by, { before: row.path });
    done.push({ kind: "removed", file, source: row.path });
  }
  return done;
}

/** Adds under the file's name or, if that is taken, with the start of the hash appended. */
async function addNamed(
  sources: SourceStore,
  name: string,
  sha256: string,
  bytes: Buffer,
  by: Author,
): Promise<Result<Source>> {
  const first = await sources.add(name, bytes, by);
  if (first.ok || first.problem.code !== "conflict") return first;
  const ending = extname(name);
  return sources.add(`${name.slice(0, name.length - ending.length)}.${sha256.slice(0, 8)}${ending}`, bytes, by);
}

type Marks = { path?: string; origin?: string; before?: string | undefined };

async function mark(db: Database, now: () => Date, by: Author, { path, origin, before }: Marks): Promise<void> {
  const at = now().toISOString();
  await db.write(async (tx) => {
    if (before !== undefined && before !== path) {
      await markSourceGone(tx, before, at);
      await appendEvent(tx, {
        at,
        actor: by.name,
        kind: path ? "source-replaced" : "source-gone",
        subject: `source:${before}`,
        data: { by: path ?? null },
      });
    }
    if (path !== undefined) await setOrigin(tx, path, origin);
  });
}
