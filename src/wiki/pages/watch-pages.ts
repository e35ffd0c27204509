import { type FSWatcher, lstatSync, watch } from "node:fs";
import { dirname, join } from "node:path";
import { advisoryLock } from "../../store/advisory-lock.ts";
import { batches } from "../../store/batches.ts";
import type { Query } from "../../store/database.ts";
import { isTemporary, statOf } from "../../store/disk/disk.ts";
import { appendEvents, type NewEvent } from "../../store/events.ts";
import { blobOf } from "../../store/git/blob.ts";
import { pageEventsSince, settledSeq } from "../../store/queries/event-log.ts";
import { ownerOf, readSettled } from "../stores/look.ts";
import type { WikiApp } from "../wiki-app.ts";
import { pagePath } from "./pages.ts";

const restMs = 100;
const sweepMs = 30_000;
const mostFolders = 5000;
/** More changes at once come from a checkout or pull; asking git for the author of each would take minutes. */
const few = 20;
const eventsPerWrite = 50;

type News = NewEvent & { data: { path: string; source_sha: string | null } };

/**
 * While serving, records an event for each change to a page that is not an entry. Such pages have no versions,
 * but readers of them and of their perspectives are updated live. A sweep finds changes that the file system
 * did not report.
 */
export async function watchPages(app: WikiApp): Promise<{ stop(): Promise<void> }> {
  const { config, db, git, log, pages } = app;
  const fileOf = (path: string) => join(config.root, path);
  const known = new Map<string, string>();
  const folders = new Map<string, { watcher: FSWatcher; node: number }>();
  const touched = new Set<string>();
  const newFolders = new Set<string>();
  let settled = await settledSeq(db.read, db.engine);
  let working = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  /** Debounces: changes come in bursts. */
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
    if (stopped) return;
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

  /** Lists the pages, watches their folders, and marks added and removed pages as touched. */
  async function list(): Promise<void> {
    const paths = new Set(await pages.list("others"));
    for (const path of [...paths, ...known.keys()]) if (known.has(path) !== paths.has(path)) touched.add(path);
    for (const folder of new Set([...paths].flatMap(foldersOf))) watchFolder(folder);
  }

  async function look(): Promise<void> {
    const fresh = [...newFolders];
    newFolders.clear();
    for (const folder of fresh) if (!(await git.isIgnored(folder))) watchFolder(folder);
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
    for (const batch of batches(news, eventsPerWrite)) await record(batch);
  }

  async function lookAt(path: string, person: string | undefined): Promise<News | undefined> {
    const file = fileOf(path);
    const before = known.get(path);
    if (statOf(file) === (before ?? "gone") || !pagePath(path).ok || (await pages.entryId(path))) return undefined;
    if (before === undefined && (await git.isIgnored(path))) return undefined;
    let stat = "";
    let bytes: Buffer = Buffer.alloc(0);
    for (let attempt = 0; attempt < 20 && stat !== statOf(file); attempt++) {
      stat = statOf(file);
      ({ bytes } = await readSettled(file, config.root, undefined));
    }
    if (stat === (before ?? "gone")) return undefined;
    const news = (kind: News["kind"], blob: string | null, actor: string): News => ({
      at: app.now().toISOString(),
      actor,
      kind,
      subject: `page:${path}`,
      data: { path, source_sha: blob },
    });
    if (stat === "gone") {
      known.delete(path);
      return news("page-removed", null, (await git.person())?.name ?? "somebody");
    }
    known.set(path, stat);
    const blob = blobOf(bytes, await git.objectFormat());
    const actor = isOurs(path) ? "scriptorium" : (person ?? (await whoWrote(path, bytes)));
    return news(before === undefined ? "page-added" : "page-edited", blob, actor);
  }

  const whoWrote = async (path: string, bytes: Buffer) =>
    (await git.committedBy(path, bytes)) ?? (await git.person())?.name ?? ownerOf(fileOf(path));
  const isOurs = (path: string) =>
    ["runs", "generated-agents", config.sources].some((folder) => path.startsWith(`${folder}/`));

  /** Records the changes, except those that already have an event: an approval records its own. */
  async function record(news: News[]): Promise<void> {
    await db.write(async (tx) => {
      for (const { subject } of news) await advisoryLock(tx, db.engine, subject);
      const told = await lastBlobs(tx, settled);
      const fresh = news.filter(({ subject, data }) => told.get(subject) !== data.source_sha);
      if (fresh.length > 0) await appendEvents(tx, db.engine, fresh);
    });
  }

  async function sweep(): Promise<void> {
    settled = await settledSeq(db.read, db.engine);
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
      // A look in progress may still add a watcher, which would keep the process alive.
      await working;
      for (const { watcher } of folders.values()) watcher.close();
    },
  };
}

const isFolder = (file: string) => lstatSync(file, { throwIfNoEntry: false })?.isDirectory() ?? false;

/** For "docs/deep/a.md": "", "docs" and "docs/deep". */
function foldersOf(path: string): string[] {
  const parts = dirname(path).split("/");
  return ["", ...parts.map((_, depth) => parts.slice(0, depth + 1).join("/")).filter((folder) => folder !== ".")];
}

/** The blob that the newest event of each page names since `seq`; null after its removal. */
async function lastBlobs(query: Query, seq: number): Promise<Map<string, unknown>> {
  const events = await pageEventsSince(query, seq);
  return new Map(events.map(({ subject, data }) => [subject, data.source_sha]));
}
