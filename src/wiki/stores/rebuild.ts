import type { Database } from "../../store/database.ts";
import { appendEvent } from "../../store/events.ts";
import type { Git } from "../../store/git/git.ts";
import { historyRef } from "../../store/git/recorder.ts";
import { replaceEntries } from "../../store/queries/entries.ts";
import { insertMissingSources } from "../../store/queries/sources.ts";
import { replaceVersions } from "../../store/queries/versions.ts";
import type { EntryVersionRow } from "../../store/tables.ts";
import { countWords, parseDocument, readFront } from "./document.ts";

type Deps = { db: Database; git: Git; wiki: string; sources: string; now(): Date };

type Recorded = {
  author: string;
  at: string;
  subject: string;
  trailers: Map<string, string>;
  blob: string;
  path: string;
};

/**
 * Makes the index again from git: the same versions, authors and sources. The history ref has
 * every version; a fresh clone lacks it, and then the branch tells as much as it knows.
 */
export async function rebuildIndex(deps: Deps): Promise<number> {
  const { db, git, now } = deps;
  const ref = await firstRef(git);
  if (!ref) return 0;
  const { prefix } = await git.place();
  const recorded = await readLog(git, ref, prefix, [deps.wiki, deps.sources]);
  const versions = versionsIn(recorded, deps.wiki);
  const latest = new Map(versions.map((version) => [version.entry_id, version]));
  const texts = await readBlobs(
    git,
    [...latest.values()].map((version) => version.blob),
  );
  const sources = sourcesIn(recorded, deps.sources);
  // From here on history continues where the branch is now, so that the next rebuild knows as much.
  if (ref === "HEAD") await git.text(["update-ref", historyRef, "HEAD"]);

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
        // Whoever first asks for links reads them: it takes the schema to tell a log from a snapshot.
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
    if (await git.maybe(["rev-parse", "-q", "--verify", `${ref}^{commit}`])) return ref;
  }
  return undefined;
}

async function readLog(git: Git, ref: string, prefix: string, folders: string[]): Promise<Recorded[]> {
  const format = "--format=%x01%an%x00%aI%x00%s%x00%(trailers:only,unfold)%x00";
  const paths = folders.map((folder) => `:(top,literal)${prefix}${folder}`);
  const raw = ["--raw", "--no-abbrev", "--no-renames", "-m", "--first-parent"];
  const text = await git.text(["log", "--reverse", format, ...raw, ref, "--", ...paths]);
  return text.split("\u0001").flatMap((commit) => {
    const [author, at, subject, trailers, changes] = commit.split("\0");
    if (!author || !at || changes === undefined) return [];
    return changes.split("\n").flatMap((line) => {
      const [, blob, path] = /^:\d+ \d+ \w+ (\w+) \w\t(.+)$/.exec(line) ?? [];
      if (!blob || !path?.startsWith(prefix)) return [];
      const found = {
        author,
        at: new Date(at).toISOString(),
        subject: subject ?? "",
        trailers: readTrailers(trailers ?? ""),
      };
      return [{ ...found, blob: /^0+$/.test(blob) ? emptyBlob : blob, path: path.slice(prefix.length) }];
    });
  });
}

const emptyBlob = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";

const readTrailers = (text: string) =>
  new Map(
    text.split("\n").flatMap((line) => {
      const [, key, value] = /^([\w-]+): (.*)$/.exec(line) ?? [];
      return key && value !== undefined ? [[key, value] as const] : [];
    }),
  );

/** A commit of ours says its version; a person's own is one more than the last. */
function versionsIn(recorded: Recorded[], wiki: string): EntryVersionRow[] {
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

function sourcesIn(recorded: Recorded[], folder: string) {
  return recorded.flatMap(({ author, at, trailers, path }) => {
    const [name, sha256] = [trailers.get("Source"), trailers.get("Sha256")];
    if (!name || !sha256 || path !== `${folder}/${name}`) return [];
    return [{ path: name, sha256, size: Number(trailers.get("Size") ?? 0), added_by: author, at }];
  });
}

async function readBlobs(git: Git, blobs: string[]): Promise<Map<string, Buffer>> {
  const { stdout } = await git.run(["cat-file", "--batch"], blobs.map((blob) => `${blob}\n`).join(""));
  const found = new Map<string, Buffer>();
  for (let at = 0; at < stdout.length; ) {
    const end = stdout.indexOf(10, at);
    const [name, type, size] = stdout.subarray(at, end).toString("utf8").split(" ");
    at = end + 1;
    if (type !== "blob" || !name) continue;
    found.set(name, stdout.subarray(at, at + Number(size)));
    at += Number(size) + 1;
  }
  return found;
}
