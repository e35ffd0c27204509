import type { CrewApp } from "../../crew/record/crew-app.ts";
import { batches } from "../../store/batches.ts";
import { blobOf, isBlob } from "../../store/git/blob.ts";
import { readVersion } from "../../store/git/history.ts";
import { entryContents, type VersionRecord } from "../../store/queries/versions.ts";
import { linksIn, linksInLog } from "../../wiki/pages/links.ts";
import { countWords, parseDocument, readFront } from "../../wiki/stores/document.ts";
import type { Broken } from "./broken.ts";
import type { TextFacts } from "./compare-index.ts";
import type { BookRecord } from "./record.ts";

/** Texts beyond this size are looked for, newest first, but not read: a long log has a full text per line. */
const mostBytes = 256 * 1024 * 1024;
const batchBytes = 16 * 1024 * 1024;

/** The newest text of each entry, the versions whose text is lost or damaged, and how many texts were read. */
export type Texts = { newest: Map<string, TextFacts>; broken: Broken[]; read: number };

export const readTexts = (app: CrewApp, record: BookRecord): Promise<Texts> =>
  app.files ? textsInGit(app, record) : textsInRows(app, record);

async function textsInGit(app: CrewApp, { versions, queued }: BookRecord): Promise<Texts> {
  const { git, db, config } = app;
  const broken: Broken[] = [];
  const newest = new Map<string, TextFacts>();
  const latest = new Map(versions.map((row) => [row.entry_id, row]));
  const isQueued = ({ entry_id, blob }: VersionRecord) => queued.has(`${config.wiki}/${entry_id}.md ${blob}`);
  const sizes = await git.sizes([...new Set(versions.map(({ blob }) => blob))]);
  const inGit = versions.filter((row) => sizes.has(row.blob));
  for (const row of versions) if (!sizes.has(row.blob) && !isQueued(row)) broken.push(lost(row));

  // The newest first, so that a limit leaves out the oldest.
  const order = inGit.toSorted(
    (a, b) => Number(latest.get(b.entry_id) === b) - Number(latest.get(a.entry_id) === a) || b.version - a.version,
  );
  let bytes = 0;
  let read = 0;
  for (const batch of bySize(order, (row) => sizes.get(row.blob) ?? 0)) {
    bytes += batch.reduce((sum, row) => sum + (sizes.get(row.blob) ?? 0), 0);
    if (bytes > mostBytes) break;
    const found = await git.readBlobs([...new Set(batch.map(({ blob }) => blob))]).catch(() => undefined);
    for (const row of batch) {
      const text = found ? found.get(row.blob) : await git.readBlob(row.blob).catch(() => undefined);
      if (!text || !isBlob(text, row.blob)) broken.push(damaged(row));
      else if (latest.get(row.entry_id) === row) newest.set(row.entry_id, factsOf(app, row.entry_id, text));
      read++;
    }
  }
  for (const row of latest.values()) {
    if (newest.has(row.entry_id) || !isQueued(row)) continue;
    const text = await readVersion(db, git, row.blob).catch(() => undefined);
    if (text && isBlob(text, row.blob)) newest.set(row.entry_id, factsOf(app, row.entry_id, text));
    else broken.push(lost(row));
  }
  return { newest, broken, read };
}

const lost = ({ entry_id: entry, version, at, blob }: VersionRecord): Broken => ({
  ...{ kind: "text-lost", entry, version, at },
  what: `its text is lost; git has no object ${blob.slice(0, 12)}`,
  fix: "scriptorium doctor --fix, or fetch refs/scriptorium/history from a backup",
});

const damaged = ({ entry_id: entry, version, at, blob }: VersionRecord): Broken => ({
  ...{ kind: "text-damaged", entry, version, at },
  what: `its text is damaged; the git object ${blob.slice(0, 12)} has another content`,
  fix: "scriptorium doctor --fix, or fetch refs/scriptorium/history from a backup",
});

const factsOf = ({ config }: CrewApp, id: string, bytes: Buffer): TextFacts => {
  const document = parseDocument(bytes);
  const { body } = document;
  const title = readFront(document, `${id}.md`).title ?? null;
  return { title, words: countWords(body), links: [linksIn(body, id, config), linksInLog(body, id, config)] };
};

/** In the database store a version's `blob` is the hash of its text, or of the one before and the appended line. */
async function textsInRows({ db, config }: CrewApp, { versions }: BookRecord): Promise<Texts> {
  const broken: Broken[] = [];
  const newest = new Map<string, TextFacts>();
  const ids = [...new Set(versions.map((row) => row.entry_id))];
  for (const id of ids) {
    let before: { blob: string; text: string } | undefined;
    for (const row of await entryContents(db.read, id)) {
      const { content, appended, version, at, blob } = row;
      if (content === null) {
        broken.push({ kind: "text-lost", entry: id, version, at, what: "its text is missing", fix: restore });
        before = { blob, text: before?.text ?? "" };
        continue;
      }
      const expected = appended ? blobOf(`${before?.blob ?? ""}\n${content}`) : blobOf(content);
      if (blob !== expected)
        broken.push({
          kind: "text-damaged",
          entry: id,
          version,
          at,
          what: "its text does not match its hash",
          fix: restore,
        });
      const start =
        !before || before.text === "" || before.text.endsWith("\n") ? (before?.text ?? "") : `${before.text}\n`;
      before = { blob, text: appended ? start + content : content };
    }
    const body = before?.text ?? "";
    newest.set(id, {
      title: null,
      words: countWords(body),
      links: [linksIn(body, id, config), linksInLog(body, id, config)],
    });
  }
  return { newest, broken, read: versions.length };
}

const restore = "restore a backup of the database";

function* bySize<T>(items: T[], sizeOf: (item: T) => number): Generator<T[]> {
  for (const some of batches(items, 1000)) {
    let batch: T[] = [];
    let bytes = 0;
    for (const item of some) {
      bytes += sizeOf(item);
      if (batch.length > 0 && bytes > batchBytes) {
        yield batch;
        [batch, bytes] = [[], sizeOf(item)];
      }
      batch.push(item);
    }
    if (batch.length > 0) yield batch;
  }
}
