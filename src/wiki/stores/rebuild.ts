import type { Database } from "../../store/database.ts";
import { appendEvent } from "../../store/events.ts";
import type { Git } from "../../store/git/git.ts";
import { type FileChange, readLog } from "../../store/git/read-log.ts";
import { historyRef } from "../../store/git/recorder.ts";
import { replaceEntries } from "../../store/queries/entries.ts";
import { insertMissingSources } from "../../store/queries/sources.ts";
import { replaceVersions } from "../../store/queries/versions.ts";
import type { EntryVersionRow } from "../../store/tables.ts";
import { countWords, parseDocument, readFront } from "./document.ts";

type Deps = { db: Database; git: Git; wiki: string; sources: string; now(): Date };

/**
 * Rebuilds the index from git: versions, authors and sources. The history ref has every version; a fresh clone
 * lacks that ref, and then the branch provides what it has.
 */
export async function rebuildIndex(deps: Deps): Promise<number> {
  const { db, git, now } = deps;
  const ref = await firstRef(git);
  if (!ref) return 0;
  const { prefix } = await git.place();
  const recorded = await readLog(git, ref, prefix, [deps.wiki, deps.sources]);
  const versions = versionsIn(recorded, deps.wiki);
  const latest = new Map(versions.map((version) => [version.entry_id, version]));
  const texts = await git.readBlobs([...latest.values()].map((version) => version.blob));
  const sources = sourcesIn(recorded, deps.sources);
  // History continues from the branch, so that the next rebuild finds the same versions.
  if (ref === "HEAD") await git.setRef(historyRef, "HEAD");

  await db.write(async (tx) => {
    await replaceVersions(tx, versions);
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
  });
  return versions.length;
}

async function firstRef(git: Git): Promise<string | undefined> {
  for (const ref of [historyRef, "HEAD"]) {
    if (await git.commitAt(ref)) return ref;
  }
  return undefined;
}

/** Our commits name their version in a trailer; a person's commit is one more than the last. */
function versionsIn(recorded: FileChange[], wiki: string): EntryVersionRow[] {
  const last = new Map<string, EntryVersionRow>();
  return recorded.flatMap(({ author, at, subject, trailers, blob, path }) => {
    const id = path.startsWith(`${wiki}/`) && path.endsWith(".md") ? path.slice(wiki.length + 1, -3) : undefined;
    if (id === undefined) return [];
    const previous = last.get(id);
    const ours = trailers.get("Entry") === id;
    if (!ours && previous?.blob === blob) return [];
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
    return [made];
  });
}

function sourcesIn(recorded: FileChange[], folder: string) {
  return recorded.flatMap(({ author, at, trailers, path }) => {
    const [name, sha256] = [trailers.get("Source"), trailers.get("Sha256")];
    if (!name || !sha256 || path !== `${folder}/${name}`) return [];
    return [{ path: name, sha256, size: Number(trailers.get("Size") ?? 0), added_by: author, at }];
  });
}
