import { lstatSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as immediate } from "node:timers/promises";
import { people } from "../../kernel/operation.ts";
import type { Kind, Readable } from "../../search/kinds.ts";
import { batches } from "../../store/batches.ts";
import type { Database } from "../../store/database.ts";
import { readIfThere, statOf } from "../../store/disk/disk.ts";
import { blobOf } from "../../store/git/blob.ts";
import { GitError } from "../../store/git/run-git.ts";
import { deletePages, findIndexedPage, type IndexedPage, indexedPages, savePages } from "../../store/queries/pages.ts";
import { parseDocument } from "../stores/document.ts";
import type { PageReader } from "./pages.ts";
import { titleOf } from "./title.ts";

type Deps = { db: Database; root: string; sources: string; pages: PageReader };

const maxPages = 5000;
/** A larger page is found by its path only. */
const maxBytes = 1024 * 1024;
/** How long a list of the files is reused. */
const listMs = 1000;
/** What took long, in a large repository, is reused for this many times as long. */
const reuseFactor = 10;
const maxReuseMs = 60_000;
/** Comparing the files of a usual repository takes less, and is done before every search. */
const quickMs = 20;
const readsAtOnce = 50;
/** A file that was changed again within a tick of the file system's clock has the same modification time. */
const tickMs = 20;

/**
 * Makes the markdown files of the repository searchable: those that git tracks or does not ignore and that are
 * neither entries nor sources. No write of ours reports their changes, so every search compares them with what
 * was indexed. They are readable by the callers of `list_pages`, and rank below entries that match as well.
 */
export function pageKind({ db, root, sources, pages }: Deps): Kind {
  let listed: { paths: string[]; total: number; until: number } | undefined;
  let compared = { notes: [] as string[], until: 0 };
  let comparing: Promise<string[]> | undefined;

  async function list(): Promise<{ paths: string[]; total: number }> {
    const began = Date.now();
    if (listed && began < listed.until) return listed;
    const all = (await pages.list("others")).filter((path) => !path.startsWith(`${sources}/`));
    const until = Math.max(Date.now() + listMs, reusableUntil(began));
    listed = { paths: all.sort(byDepth).slice(0, maxPages), total: all.length, until };
    return listed;
  }

  async function refresh(): Promise<string[]> {
    if (Date.now() < compared.until) return compared.notes;
    comparing ??= compare().finally(() => {
      comparing = undefined;
    });
    return comparing;
  }

  async function compare(): Promise<string[]> {
    const found = await list().catch((error: unknown) => {
      if (error instanceof GitError) return error.message;
      throw error;
    });
    if (typeof found === "string") return [`pages are as they were at the last search: ${found}`];
    const { paths, total } = found;
    const began = Date.now();
    const known = new Map((await indexedPages(db.read)).map((page) => [page.path, page.stat]));
    const changed = paths.filter((path) => statOf(join(root, path)) !== known.get(path));
    const until = Date.now() - began > quickMs ? reusableUntil(began) : 0;
    for (const batch of batches(changed, readsAtOnce)) {
      const rows = batch.map((path) => look(root, path));
      await db.write((tx) => savePages(tx, rows));
      await immediate();
    }
    const present = new Set(paths);
    const gone = [...known.keys()].filter((path) => !present.has(path));
    if (gone.length > 0) await db.write((tx) => deletePages(tx, gone));
    compared = { notes: total > maxPages ? [limitNote(total)] : [], until };
    return compared.notes;
  }

  return {
    name: "page",
    readers: people,
    weight: 0.9,
    refresh,
    async all() {
      listed = undefined;
      await compare();
      return (await indexedPages(db.read)).map(({ path }) => path);
    },
    async read(path) {
      return (await findIndexedPage(db.read, path)) && readPage(root, path);
    },
  };
}

const limitNote = (total: number) =>
  `the repository has ${total} markdown pages; search covers ${maxPages} of them, those nearest to its root`;

function look(root: string, path: string): IndexedPage {
  const file = join(root, path);
  const before = statOf(file);
  const bytes = bytesOf(root, path);
  const isSettled = before === statOf(file) && Math.abs(Date.now() - modifiedAt(before)) > tickMs;
  return { path, stat: isSettled ? before : "", blob: bytes ? blobOf(bytes) : "" };
}

function readPage(root: string, path: string): Readable | undefined {
  const stat = statOf(join(root, path));
  if (stat === "gone") return undefined;
  const text = bytesOf(root, path)?.toString("utf8") ?? "";
  const { body } = parseDocument(Buffer.from(text));
  // Blank lines in place of the frontmatter: lines are counted from the beginning of the file.
  const front = text.split("\n").length - body.split("\n").length;
  return {
    title: titleOf(text, path),
    text: "\n".repeat(front) + body,
    author: "",
    at: new Date(modifiedAt(stat)).toISOString(),
  };
}

/** Undefined for a page that is too large, a link or gone. */
function bytesOf(root: string, path: string): Buffer | undefined {
  const size = lstatSync(join(root, path), { throwIfNoEntry: false })?.size ?? 0;
  return size > maxBytes ? undefined : readIfThere(join(root, path), root);
}

const reusableUntil = (began: number) => Date.now() + Math.min(maxReuseMs, reuseFactor * (Date.now() - began));

const modifiedAt = (stat: string) => Number(stat.split(" ")[2] ?? 0) / 1e6;

/** README.md before docs/a.md before docs/deep/a.md: the pages nearest to the root stay when there are too many. */
const byDepth = (a: string, b: string) => a.split("/").length - b.split("/").length || (a < b ? -1 : 1);
