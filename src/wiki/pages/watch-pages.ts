import { type FSWatcher, lstatSync, watch } from "node:fs";
import { dirname, join } from "node:path";
import { sql } from "kysely";
import type { Query } from "../../store/database.ts";
import { isTemporary } from "../../store/disk/disk.ts";
import { appendEvents, type NewEvent } from "../../store/events.ts";
import { lockEntry } from "../../store/queries/entries.ts";
import { blobOf } from "../stores/document.ts";
import { ownerOf, settled, statOf } from "../stores/look.ts";
import type { WikiApp } from "../wiki-app.ts";
import { pagePath } from "./pages.ts";

const restMs = 100;
const sweepMs = 30_000;
const mostFolders = 5000;
/** So many change at once only when git brings them; asking it about each would take minutes. */
const few = 20;
const together = 50;

type News = NewEvent & { data: { path: string; source_sha: string | null } };

/**
 * While serving, a change to a page that is no entry is told as it happens: it has no versions, but whoever
 * reads it, or a perspective of it, should see it. What the system failed to tell is found by a sweep.
 */
export async function watchPages(app: WikiApp): Promise<{ stop(): Promise<void> }> {
  const { config, db, git, log, pages } = app;
  const fileOf = (path: string) => join(config.root, path);
  const known = new Map<string, string>();
  const folders = new Map<string, { watcher: FSWatcher; node: number }>();
  const touched = new Set<string>();
  const newFolders = new Set<string>();
  let recent = [await newestEvent(db.read)];
  let working = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  /** Changes come in bursts: one look a moment later sees them all. */
  function soon(): void {
    if (stopped || timer) return;
    timer = setTimeout(() => {
      timer = undefined;
      working = working.then(look).catch((error) => log.warn({ error: String(error) }, "pages-unwatched"));
    }, restMs);
  }

  function onEvent(folder: string, name: string | null): void {
    if (name === null || name.startsWith(".") || isTemporary(name)) return;
    const path = folder === "" ? name : `${folder}/${name}`;
    if (/\.(md|markdown)$/.test(name)) touched.add(path);
    else if (folders.has(path) || isFolder(fileOf(path))) newFolders.add(path);
    else return;
    soon();
  }

  function watchFolder(folder: string): void {
    const node = lstatSync(fileOf(folder), { throwIfNoEntry: false })?.ino;
    const watched = folders.get(folder);
    if (watched?.node === node) return;
    watched?.watcher.close();
    folders.delete(folder);
    if (node === undefined || folders.size >= mostFolders) return;
    try {
      const watcher = watch(fileOf(folder), (_event, name) => onEvent(folder, name));
      watcher.on("error", (error) => log.warn({ folder, error: String(error) }, "watch-failed"));
      folders.set(folder, { watcher, node });
    } catch (error) {
      log.warn({ folder, error: String(error) }, "watch-failed");
    }
  }

  /** The pages there are, and the folders they lie in; a page that came or went has to be looked at. */
  async function list(): Promise<void> {
    const schema = await app.schema();
    const ids = schema.ok ? schema.value.sections.map(({ id }) => `${config.wiki}/${id}.md`) : [];
    const entries = new Set(ids);
    const paths = new Set(await pages.list((path) => !entries.has(path)));
    for (const path of [...paths, ...known.keys()]) if (known.has(path) !== paths.has(path)) touched.add(path);
    for (const folder of new Set([...paths].flatMap(foldersOf))) watchFolder(folder);
  }

  async function look(): Promise<void> {
    const fresh = [...newFolders];
    newFolders.clear();
    for (const folder of fresh) if (!(await isIgnored(folder))) watchFolder(folder);
    if (fresh.length > 0) await list();
    const paths = [...touched].sort();
    touched.clear();
    const person = paths.length > few ? (await git.person())?.name : undefined;
    const news: News[] = [];
    for (const path of paths) {
      if (stopped) return;
      const found = await lookAt(path, person);
      if (found) news.push(found);
    }
    for (let at = 0; at < news.length; at += together) await tell(news.slice(at, at + together));
  }

  async function lookAt(path: string, person: string | undefined): Promise<News | undefined> {
    const file = fileOf(path);
    const before = known.get(path);
    if (statOf(file) === (before ?? "gone") || !pagePath(path).ok || (await pages.entryId(path))) return undefined;
    if (before === undefined && (await isIgnored(path))) return undefined;
    let stat = "";
    let bytes: Buffer = Buffer.alloc(0);
    for (let attempt = 0; attempt < 20 && stat !== statOf(file); attempt++) {
      stat = statOf(file);
      bytes = await settled(file, config.root, undefined);
    }
    if (stat === (before ?? "gone")) return undefined;
    const news = (kind: News["kind"], blob: string | null, actor: string): News => ({
      ...{ at: app.now().toISOString(), actor, kind },
      ...{ subject: `page:${path}`, data: { path, source_sha: blob } },
    });
    if (stat === "gone") {
      known.delete(path);
      return news("page-removed", null, (await git.person())?.name ?? "somebody");
    }
    known.set(path, stat);
    const blob = blobOf(bytes);
    const actor = isOurs(path) ? "scriptorium" : (person ?? (await whoWrote(path, blob)));
    return news(before === undefined ? "page-added" : "page-edited", blob, actor);
  }

  const whoWrote = async (path: string, blob: string) =>
    (await git.committedBy(path, blob)) ?? (await git.person())?.name ?? ownerOf(fileOf(path));
  const isIgnored = async (path: string) => Boolean(await git.maybe(["check-ignore", "--", path]));
  const isOurs = (path: string) =>
    ["runs", "generated-agents", config.sources].some((folder) => path.startsWith(`${folder}/`));

  /** An approval writes its page and says so itself: what was told already is not told again. */
  async function tell(news: News[]): Promise<void> {
    await db.write(async (tx) => {
      for (const { subject } of news) await lockEntry(tx, db.engine, subject);
      const told = await lastBlobs(tx, recent[0] ?? 0);
      const fresh = news.filter(({ subject, data }) => told.get(subject) !== data.source_sha);
      if (fresh.length > 0) await appendEvents(tx, db.engine, fresh);
    });
  }

  async function sweep(): Promise<void> {
    // An older one is kept: PostgreSQL numbers an event before its transaction is done.
    recent = [...recent, await newestEvent(db.read)].slice(-2);
    for (const [path, stat] of known) if (statOf(fileOf(path)) !== stat) touched.add(path);
    if (touched.size > 0) soon();
  }

  watchFolder("");
  await list();
  for (const path of touched) known.set(path, statOf(fileOf(path)));
  touched.clear();
  const every = setInterval(
    () => void sweep().catch((error) => log.warn({ error: String(error) }, "sweep-failed")),
    sweepMs,
  ).unref();
  return {
    async stop() {
      stopped = true;
      clearInterval(every);
      clearTimeout(timer);
      for (const { watcher } of folders.values()) watcher.close();
      await working;
    },
  };
}

const isFolder = (file: string) => lstatSync(file, { throwIfNoEntry: false })?.isDirectory() ?? false;

/** "docs/deep/a.md" lies in "docs/deep", "docs" and "". */
function foldersOf(path: string): string[] {
  const parts = dirname(path).split("/");
  return ["", ...parts.map((_, depth) => parts.slice(0, depth + 1).join("/")).filter((folder) => folder !== ".")];
}

async function newestEvent(query: Query): Promise<number> {
  const { rows } = await sql<{ seq: number | string | null }>`SELECT max(seq) AS seq FROM events`.execute(query);
  return Number(rows[0]?.seq ?? 0);
}

/** What was last told of each page since an event: null when it was taken away. */
async function lastBlobs(query: Query, seq: number): Promise<Map<string, string | null>> {
  const { rows } = await sql<{ subject: string; data: string }>`
    SELECT subject, data FROM events WHERE seq > ${seq} AND kind LIKE 'page-%' ORDER BY seq`.execute(query);
  return new Map(rows.map(({ subject, data }) => [subject, JSON.parse(data).source_sha as string | null]));
}
