import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Database } from "../../store/database.ts";
import { replaceFile } from "../../store/disk/disk.ts";
import { appendEvent } from "../../store/events.ts";
import { branchRef, ownBookBranch } from "../../store/git/book-branch.ts";
import type { Git } from "../../store/git/git.ts";
import { historyFolders, historyRefOf } from "../../store/git/history-ref.ts";
import { type FileChange, readLog } from "../../store/git/read-log.ts";
import { historyTip } from "../../store/git/recorder.ts";
import { replaceEntries } from "../../store/queries/entries.ts";
import { setMeta } from "../../store/queries/meta.ts";
import { replaceSchemaVersions } from "../../store/queries/schema-versions.ts";
import { insertMissingSources } from "../../store/queries/sources.ts";
import { replaceVersions } from "../../store/queries/versions.ts";
import type { EntryVersionRow, SchemaVersionRow } from "../../store/tables.ts";
import { describeSchema } from "../schema/record.ts";
import { parseSchema, type Schema } from "../schema.ts";
import { countWords, parseDocument, readFront } from "./document.ts";

type Deps = {
  db: Database;
  git: Git;
  root: string;
  wiki: string;
  sources: string;
  /** The setting of the branch of entries and sources, if they have one of their own. */
  book: string | undefined;
  now(): Date;
};

/**
 * Rebuilds the index from git: versions, authors and sources. The history ref has every version; a fresh clone
 * lacks that ref, and then the branch provides what it has. With a branch of its own, the wiki is not in a fresh
 * checkout: its files are written from that branch.
 */
export async function rebuildIndex(deps: Deps): Promise<number> {
  const { db, git, now } = deps;
  const ref = await firstRef(git, deps.book);
  if (!ref) return 0;
  const { prefix } = await git.place();
  if (deps.book) await restoreFiles(deps, ref, prefix);
  const recorded = await readLog(git, ref, await historyFolders(git), [deps.wiki, deps.sources]);
  const versions = versionsIn(recorded, deps.wiki).map(({ row }) => row);
  const schemas = await schemasIn(git, recorded, `${deps.wiki}/schema.yaml`);
  const latest = new Map(versions.map((version) => [version.entry_id, version]));
  const texts = await git.readBlobs([...latest.values()].map((version) => version.blob));
  const sources = sourcesIn(recorded, deps.sources);
  // History continues from the branch, so that the next rebuild finds the same versions.
  const history = await historyRefOf(git);
  if (ref !== history) await git.setRef(history, ref);

  const tip = await git.commitAt(history);
  await db.write(
    async (tx) => {
      if (tip) await setMeta(tx, historyTip, tip);
      await replaceVersions(tx, versions);
      if (schemas.length > 0) await replaceSchemaVersions(tx, schemas);
      const rows = [...latest.values()].map((version) => {
        const document = parseDocument(texts.get(version.blob) ?? Buffer.alloc(0));
        return {
          id: version.entry_id,
          version: version.version,
          blob: version.blob,
          last_author: version.author,
          title: readFront(document, `${version.entry_id}.md`).title ?? null,
          words: countWords(document.body),
          updated_at: version.at,
          stat: "",
          // Read on demand by relink.ts: the schema is needed to tell a log from a snapshot.
          links: null,
        };
      });
      await replaceEntries(tx, rows);
      await insertMissingSources(tx, sources);
      const data = { ref, entries: rows.length, versions: versions.length, sources: sources.length };
      await appendEvent(tx, {
        at: now().toISOString(),
        actor: "scriptorium",
        kind: "index-rebuilt",
        subject: "wiki",
        data,
      });
    },
    { isLong: true },
  );
  return versions.length;
}

async function firstRef(git: Git, book: string | undefined): Promise<string | undefined> {
  if (!(await git.isRepository())) return undefined;
  const own = book && branchRef(await ownBookBranch(git, book));
  const branches = own ? [own, branchRef(book), `refs/remotes/origin/${book}`] : [];
  for (const ref of [await historyRefOf(git), ...branches, "HEAD"]) {
    const commit = await git.commitAt(ref);
    // A fresh clone or worktree continues the branch that it takes its files from.
    if (commit && own && branches.includes(ref)) await git.moveRef(own, commit, null);
    if (commit) return ref;
  }
  return undefined;
}

/** Writes the files of the wiki and the sources that are missing, as a checkout would. */
async function restoreFiles({ git, root, wiki, sources }: Deps, ref: string, prefix: string): Promise<void> {
  const folders = [wiki, sources].map((folder) => prefix + folder);
  const listed = await git.list(["--literal-pathspecs", "ls-tree", "-r", "-z", "--full-tree", ref, "--", ...folders]);
  for (const line of listed) {
    const path = /^100\d+ blob \w+\t(.+)$/s.exec(line)?.[1];
    if (path === undefined || existsSync(join(root, path.slice(prefix.length)))) continue;
    const { code, stdout } = await git.run(["cat-file", "--filters", `${ref}:${path}`]);
    if (code !== 0) continue;
    replaceFile(join(root, path.slice(prefix.length)), stdout, undefined, root);
  }
}

/** A version as a commit records it. */
export type RecordedVersion = { row: EntryVersionRow; change: FileChange };

/**
 * Our commits name their version in a trailer; a person's commit is one more than the last. Versions before a rename
 * belong to the new id.
 */
export function versionsIn(recorded: FileChange[], wiki: string): RecordedVersion[] {
  const last = new Map<string, EntryVersionRow>();
  let found: RecordedVersion[] = [];
  for (const change of recorded) {
    const { author, at, subject, trailers, blob, path } = change;
    const id = path.startsWith(`${wiki}/`) && path.endsWith(".md") ? path.slice(wiki.length + 1, -3) : undefined;
    const old = trailers.get("Renamed-from");
    if (id === undefined || id === old) continue;
    if (old !== undefined && trailers.get("Entry") === id) {
      found = renameVersions(found, { from: old, to: id });
      const moved = last.get(old);
      if (moved) last.set(id, moved);
      else last.delete(id);
      last.delete(old);
    }
    const previous = last.get(id);
    const ours = trailers.get("Entry") === id;
    if (!ours && previous?.blob === blob) continue;
    const version = Math.max((previous?.version ?? 0) + 1, ours ? Number(trailers.get("Version") ?? 0) : 0);
    const made: EntryVersionRow = {
      entry_id: id,
      version,
      blob,
      content: null,
      appended: 0,
      author,
      role: (ours && trailers.get("Role")) || null,
      run: (ours && trailers.get("Run")) || null,
      task: (ours && trailers.get("Task")) || null,
      epoch: ours && trailers.has("Epoch") ? Number(trailers.get("Epoch")) : null,
      at,
      summary: subject,
    };
    last.set(id, made);
    found.push({ row: made, change });
  }
  return found;
}

/** Versions under the new id; those of a removed section that had it before are left out, as in the index. */
export function renameVersions(versions: RecordedVersion[], { from, to }: { from: string; to: string }) {
  const kept = versions.filter(({ row }) => row.entry_id !== to);
  for (const { row } of kept) if (row.entry_id === from) row.entry_id = to;
  return kept;
}

/** The valid texts of schema.yaml, each with what it changed. */
async function schemasIn(git: Git, recorded: FileChange[], path: string): Promise<SchemaVersionRow[]> {
  const changes = recorded.filter((change) => change.path === path);
  const texts = await git.readBlobs([...new Set(changes.map(({ blob }) => blob))]);
  const rows: SchemaVersionRow[] = [];
  let before: Schema | undefined;
  for (const { blob, author, at, trailers } of changes) {
    const content = texts.get(blob)?.toString("utf8") ?? "";
    const schema = parseSchema(content, path);
    if (!schema.ok || rows.at(-1)?.blob === blob) continue;
    const version = Math.max((rows.at(-1)?.version ?? 0) + 1, Number(trailers.get("Schema") ?? 0) || 0);
    const { summary, changes } = describeSchema(before, schema.value, renamesIn(trailers));
    rows.push({ version, blob, content, author, at, summary, changes: JSON.stringify(changes) });
    before = schema.value;
  }
  return rows;
}

/** Old ids of renamed sections to new ones. */
function renamesIn(trailers: Map<string, string>): Map<string, string> {
  const [, from, to] = /^(\S+) to (\S+)$/.exec(trailers.get("Renamed") ?? "") ?? [];
  return new Map(from && to ? [[from, to]] : []);
}

function sourcesIn(recorded: FileChange[], folder: string) {
  return recorded.flatMap(({ author, at, trailers, path }) => {
    const [name, sha256] = [trailers.get("Source"), trailers.get("Sha256")];
    if (!name || !sha256 || path !== `${folder}/${name}`) return [];
    return [{ path: name, sha256, size: Number(trailers.get("Size") ?? 0), added_by: author, at }];
  });
}
