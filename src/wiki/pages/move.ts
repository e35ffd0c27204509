import { dirname, join, posix } from "node:path";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { mapInTurns } from "../../kernel/turns.ts";
import { advisoryLock } from "../../store/advisory-lock.ts";
import type { Query } from "../../store/database.ts";
import { crashPoint } from "../../store/disk/crash.ts";
import { readIfThere } from "../../store/disk/disk.ts";
import { appendEvent } from "../../store/events.ts";
import { blobOf, formatOf, isBlob } from "../../store/git/blob.ts";
import { commitMessage, enqueue } from "../../store/git/history.ts";
import type { Stage } from "../../store/publications.ts";
import { entriesThatLink } from "../../store/queries/links.ts";
import { countPathRows, movePathRows } from "../../store/queries/move-path.ts";
import { type Author, identityOf } from "../entry.ts";
import type { WikiApp } from "../wiki-app.ts";
import { freePlace } from "./free-place.ts";
import { moveLinks } from "./move-links.ts";
import type { Page } from "./pages.ts";
import { branchReady, pageCommitted } from "./ready-for-commit.ts";
import { type RewrittenLine, rewrittenLines } from "./rewrite-links.ts";

export type Move = { from: string; to: string };

/** A page whose links change. */
type Relinked = { page: Page; text: string; links: number; onHead: string | undefined };

export type MovePlan = {
  page: Page;
  /** The blob of the page in HEAD. */
  onHead: string;
  to: string;
  /** The pages that link to it; last the moved page itself, if its relative links change. */
  relinked: Relinked[];
  /** Pages that still link to the old path. */
  left: { path: string; reason: string }[];
  follow: { topics: number; proposals: number; perspectives: number; edges: number };
};

/** What a move would change, or why it is not possible. Changes nothing. */
export async function planMove(app: WikiApp, { from, to }: Move): Promise<Result<MovePlan>> {
  const page = await app.pages.read(from);
  if (!page.ok) return page;
  const movable = checkMovable(app, page.value, to);
  if (!movable.ok) return movable;
  const place = await freePlace(app, to, from);
  if (!place.ok) return place;
  const ready = await branchReady(app, "move the page");
  if (!ready.ok) return ready;
  const onHead = await pageCommitted(app, from, Buffer.from(page.value.text), "move the page");
  if (!onHead.ok) return onHead;

  const found = await linkingPages(app, { from, to });
  const own = moveLinks(page.value.text, from, { from, to });
  if (own && own.links > 0)
    found.relinked.push({ page: page.value, text: own.text, links: own.links, onHead: onHead.value });
  if (!own) found.left.unshift({ path: from, reason: "it has a link that is written in an unusual way" });
  const follow = await countPathRows(app.db.read, from, app.links.nodeOf(from) ?? null);
  return ok({ page: page.value, onHead: onHead.value, to, ...found, follow });
}

function checkMovable({ config }: WikiApp, { path, entry }: Page, to: string): Result<true> {
  if (path === to) return refuse("invalid", `${path} is its path already; choose another`);
  if (path.startsWith(`${config.sources}/`)) return refuse("refused", `${path} is a source, and sources are immutable`);
  if (/^(runs|generated-agents)\//.test(path)) return refuse("refused", `${path} is a record of a run`);
  if (!entry) return ok(true);
  const id = to.startsWith(`${config.wiki}/`) ? to.slice(config.wiki.length + 1).replace(/\.md$/, "") : undefined;
  return refuse("refused", `${path} is the entry ${entry.id}; rename its section`, {
    next: [{ operation: "rename_section", input: { id: entry.id, ...(id ? { new_id: id } : {}) }, to: "rename it" }],
  });
}

/** The pages with links to a page, entries included, and those whose links cannot be changed. */
async function linkingPages(app: WikiApp, move: Move): Promise<Pick<MovePlan, "relinked" | "left">> {
  const { config } = app;
  const relinked: Relinked[] = [];
  const left: MovePlan["left"] = [];
  const paths = [...(await entriesLinking(app, move.from)), ...(await otherPagesNaming(app, move.from))];
  for (const path of paths) {
    const read = await app.pages.read(path);
    if (!read.ok) continue;
    const page = read.value;
    const changed = moveLinks(page.text, path, move);
    if (changed?.links === 0) continue;
    const onHead =
      changed && !page.entry ? await pageCommitted(app, path, Buffer.from(page.text), "change the link there") : undefined;
    const why = whyLeft(config, page, changed === undefined) ?? (onHead?.ok === false ? onHead.problem.message : undefined);
    if (why !== undefined) left.push({ path, reason: why });
    else if (changed) relinked.push({ page, ...changed, onHead: onHead?.ok ? onHead.value : undefined });
  }
  return { relinked, left };
}

function whyLeft({ sources }: WikiApp["config"], { path, entry }: Page, isUnusual: boolean): string | undefined {
  if (path.startsWith(`${sources}/`)) return "it is a source, which never changes";
  if (/^(runs|generated-agents)\//.test(path)) return "it is a record of a run";
  if (entry?.mode === "log") return "it is a log, whose lines do not change";
  return isUnusual ? "the link is written in an unusual way" : undefined;
}

async function entriesLinking(app: WikiApp, path: string): Promise<string[]> {
  const node = app.links.nodeOf(path);
  if (node === undefined) return [];
  await app.links.catchUp();
  const ids: string[] = [];
  for (let after = ""; ; after = ids.at(-1) ?? "") {
    const rows = await entriesThatLink(app.db, node, after, 200);
    ids.push(...rows.map(({ id }) => id));
    if (rows.length < 200) return ids.map((id) => `${app.config.wiki}/${id}.md`);
  }
}

/** The other pages whose text could have a link to a page: it has the file's name, or percent signs that hide it. */
async function otherPagesNaming(app: WikiApp, path: string): Promise<string[]> {
  const name = posix.basename(path);
  const others = (await app.pages.list("others")).filter((other) => other !== path);
  const texts = await mapInTurns(others, (other) => readIfThere(join(app.config.root, other), app.config.root));
  return others.filter((_, at) => {
    const bytes = texts[at];
    return bytes !== undefined && (bytes.includes(name) || /%[0-9a-f]{2}/i.test(bytes.toString("latin1")));
  });
}

export type MoveResult = { relinked: { path: string; version: number | null }[]; left: MovePlan["left"] };

/**
 * Moves a page and rewrites the links to it, in one transaction and one commit of the branch. Topics, proposals, jobs,
 * perspectives and edges follow. Files are published after the transaction; history has a version for each of them.
 */
export async function movePage(app: WikiApp, plan: MovePlan, by: Author): Promise<Result<MoveResult>> {
  const { db, publications, entries, recorder } = app;
  const { page, to } = plan;
  const author = { ...by, group: app.newId("g") };
  // A store of the user's own takes no part in the transaction: its entries are changed after it.
  const after = plan.relinked.filter(({ page: { entry } }) => entry && entries.publish);
  const within = plan.relinked.filter((one) => !after.includes(one));
  const done = await publications.write(async (tx, stage): Promise<Result<MoveResult["relinked"]>> => {
    const at = app.now().toISOString();
    const locks = [page.path, to, ...within.map((one) => one.page.path)].map((path) => `page:${path}`);
    const ids = within.flatMap((one) => one.page.entry?.id ?? []);
    for (const name of [...new Set([...locks, ...ids])].sort()) await advisoryLock(tx, db.engine, name);
    const moved = await moveFile(app, tx, stage, plan, author, at);
    if (!moved.ok) return moved;
    const node = { from: app.links.nodeOf(page.path) ?? null, to: app.links.nodeOf(to) ?? null };
    await movePathRows(tx, { path: { from: page.path, to }, node });
    const relinked: MoveResult["relinked"] = [];
    for (const one of within) {
      const saved = await relink(app, tx, stage, one, plan, author, at);
      if (!saved.ok) return saved;
      relinked.push({ path: one.page === page ? to : one.page.path, version: saved.value });
    }
    crashPoint("page-moved");
    return ok(relinked);
  });
  if (!done.ok) return done;
  const left = [...plan.left];
  for (const { page: other, text } of after) {
    const { id, metadata } = other.entry as NonNullable<Page["entry"]>;
    const saved = await entries.commit(id, text, metadata.version, by);
    if (saved.ok) done.value.push({ path: other.path, version: saved.value.version });
    else left.push({ path: other.path, reason: saved.problem.message });
  }
  await publications.sweep(join(app.config.root, dirname(to)), { recursive: false });
  await recorder.drain(5000);
  return ok({ relinked: done.value, left });
}

const changedMeanwhile = (path: string) =>
  refuse("conflict", `${path} changed during the move; look at the preview again, then move the page`);

async function moveFile(
  app: WikiApp,
  tx: Query,
  stage: Stage,
  { page, to, onHead }: MovePlan,
  author: Author,
  at: string,
): Promise<Result<true>> {
  const { root } = app.config;
  const { path, blob } = page;
  const bytes = readIfThere(join(root, path), root);
  if (!bytes || !isBlob(bytes, blob)) return changedMeanwhile(path);
  const isTaken = (await app.publications.latest(to, tx))?.bytes !== undefined;
  if (isTaken) return refuse("conflict", `${to} was created meanwhile; choose another path`);
  await enqueue(tx, {
    path: to,
    movedFrom: path,
    blob,
    content: bytes,
    author: identityOf(author),
    message: commitMessage(`Move ${path} to ${to}`, { "Moved-from": path }),
    at,
    onlyOn: onHead,
    file: stage(to, bytes, undefined, path),
    group: author.group,
  });
  const event = { at, actor: author.name };
  const data = { path: to, from: path, source_sha: blob };
  await appendEvent(tx, { ...event, kind: "page-moved", subject: `page:${to}`, data });
  // Watchers of files compare this with what they see, and record no removal of their own.
  const gone = { path, source_sha: null, moved_to: to };
  await appendEvent(tx, { ...event, kind: "page-removed", subject: `page:${path}`, data: gone });
  return ok(true);
}

/** Writes the new text of one page; returns the version of an entry. */
async function relink(
  app: WikiApp,
  tx: Query,
  stage: Stage,
  { page, text, onHead }: Relinked,
  { page: moved, to }: MovePlan,
  author: Author,
  at: string,
): Promise<Result<number | null>> {
  const { root } = app.config;
  if (page.entry) {
    const saved = await app.entries.replace(tx, stage, page.entry.id, text, page.blob, author);
    return saved.ok ? ok(saved.value.version) : changedMeanwhile(page.path);
  }
  const isMoved = page === moved;
  const path = isMoved ? to : page.path;
  const held = isMoved ? Buffer.from(page.text) : readIfThere(join(root, path), root);
  if (!held || !isBlob(held, page.blob)) return changedMeanwhile(page.path);
  const bytes = Buffer.from(text);
  const blob = blobOf(bytes, formatOf(page.blob));
  await enqueue(tx, {
    path,
    blob,
    content: bytes,
    base: page.blob,
    author: identityOf(author),
    message: commitMessage(`Rewrite links in ${path} after the move of ${moved.path}`, { "Moved-to": to }),
    at,
    onlyOn: isMoved ? undefined : onHead,
    file: stage(path, bytes, held),
    group: isMoved && !isSimilar(page.text, text) ? undefined : author.group,
  });
  const data = { path, source_sha: blob, base_source_sha: page.blob, moved: { from: moved.path, to } };
  await appendEvent(tx, { at, actor: author.name, kind: "page-relinked", subject: `page:${path}`, data });
  return ok(null);
}

/** Whether git recognises the page when both the path and the links change in one commit: it asks for half of its lines. */
function isSimilar(before: string, after: string): boolean {
  const now = after.split("\n");
  const same = before.split("\n").filter((line, at) => line === now[at]);
  return same.reduce((sum, line) => sum + line.length + 1, 0) > 0.6 * Math.max(before.length, after.length);
}

/** The plan as the faces show it. */
export const shownPlan = ({ relinked, page, to }: MovePlan): { path: string; entry: string | null; lines: RewrittenLine[] }[] =>
  relinked.map((one) => ({
    path: one.page === page ? to : one.page.path,
    entry: one.page.entry?.id ?? null,
    lines: rewrittenLines(one.page.text, one.text),
  }));
