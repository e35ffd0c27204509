import { ok, type Result } from "../../kernel/result.ts";
import { mapInTurns } from "../../kernel/turns.ts";
import { appendEvents } from "../../store/events.ts";
import { movePageProposals } from "../../store/queries/proposals.ts";
import { dropUnused, keepText, lockTexts, openTopicsOn, saveAnchor, textOf } from "../../store/queries/topics.ts";
import type { TopicRow } from "../../store/tables.ts";
import type { Page } from "../../wiki/pages/pages.ts";
import type { ReviewApp } from "../review-app.ts";
import type { Span } from "./anchor/views.ts";
import type { AnchorState, Refound } from "./anchor.ts";
import { refindTask } from "./refind-task.ts";
import { afterLooking, newsOf, rowAt, topicOf, withoutPage } from "./topic.ts";

/**
 * Finds the anchors of a page's open topics in its present text and returns that text. The result for each text is
 * kept, so a known text costs no search, and no write unless the page changed here.
 */
export async function refindTopics(app: ReviewApp, path: string): Promise<Page | undefined> {
  const read = await app.pages.read(path);
  if (!read.ok && read.problem.code !== "not_found") return undefined;
  const page = read.ok ? read.value : undefined;
  const changed = app.topics.changedHere(path, page?.blob ?? "");
  const unseen = await openTopicsOn(app.db.read, path, { blob: page?.blob ?? "" });
  const isStale = await mapInTurns(unseen, (row) => changed || !rowAt(row, page));
  const stale = unseen.filter((_, n) => isStale[n]);
  if (stale.length === 0) return page;
  if (!page) await followOrOrphan(app, path, stale);
  else await update(app, stale, page);
  return page;
}

/** The search may be refused for its time; the topics then have no place in this text, and the next change is tried. */
async function update(app: ReviewApp, rows: TopicRow[], page: Page, moved: Partial<TopicRow> = {}): Promise<void> {
  const found = await lookIn(app, rows, page);
  if (!found.ok) return app.log.warn({ path: page.path, problem: found.problem.message }, "anchors-not-found");
  await save(
    app,
    rows,
    found.value.map((row) => ({ ...row, ...moved })),
    page,
  );
}

export type Preview = {
  id: string;
  path: string;
  from: AnchorState;
  to: AnchorState;
  quote: string;
  place: Span | null;
};

/** The anchor states of a page's open topics if the page had this text. Changes nothing. */
export async function previewTopics(app: ReviewApp, path: string, newText: string): Promise<Result<Preview[]>> {
  const page = await refindTopics(app, path);
  const open = await openTopicsOn(app.db.read, path);
  const anchored = open.filter((row) => row.anchor !== null);
  const rows = await mapInTurns(anchored, (row) => rowAt(row, page) ?? row);
  const found = await look(app, rows, { text: newText, blob: "preview" }, page);
  if (!found.ok) return found;
  const previews = await mapInTurns(rows, (row): Preview[] => {
    const { anchor } = topicOf(row);
    const to = found.value.get(row.id);
    if (!anchor || !to) return [];
    const place = to.state === "needs-review" ? to.place : to.state === "orphaned" ? null : to.anchor;
    const { quote } = anchor.at;
    const span = place && { start: place.start, end: place.end };
    return [{ id: row.id, path, from: anchor.state, to: to.state, quote, place: span }];
  });
  return ok(previews.flat());
}

async function lookIn(app: ReviewApp, rows: TopicRow[], page: Page): Promise<Result<TopicRow[]>> {
  const known = await mapInTurns(rows, (row) => rowAt(row, page));
  const fresh = rows.filter((_, n) => !known[n]);
  const found = await look(app, fresh, page, undefined);
  if (!found.ok) return found;
  if ([...found.value.values()].some(({ state }) => state === "orphaned")) app.topics.searched.add(page);
  const pairs = rows.map((row, n) => ({ row, at: known[n] }));
  return ok(await mapInTurns(pairs, ({ row, at }) => at ?? afterLooking(row, found.value.get(row.id), page.blob)));
}

/** Groups anchors by their original text, so that each text is compared once, and orphans by where they were missed. */
async function look(
  app: ReviewApp,
  rows: TopicRow[],
  { text, blob }: Pick<Page, "text" | "blob">,
  present: Page | undefined,
): Promise<Result<Map<string, Refound>>> {
  const found = new Map<string, Refound>();
  const groups = new Map<
    string,
    { origin: string; lost: string | undefined; topics: { id: string; anchor: string }[] }
  >();
  for (const { id, anchor, anchor_blob: origin, anchor_state, seen_blob } of rows) {
    if (anchor === null || origin === null) continue;
    const lost = anchor_state === "orphaned" ? seen_blob : undefined;
    const key = `${origin} ${lost ?? ""}`;
    const group = groups.get(key) ?? { origin, lost, topics: [] };
    groups.set(key, group);
    group.topics.push({ id, anchor });
  }
  for (const { origin, lost, topics } of groups.values()) {
    const kept = origin === present?.blob ? present.text : await textOf(app.db.read, origin);
    const before = kept ?? (await app.git.readBlob(origin))?.toString("utf8");
    const anchors = topics.map(({ anchor }) => anchor);
    const since = lost === undefined ? undefined : await textSearched(app, lost, present);
    const refound = await app.threads.run(refindTask, { before, after: text, blob, anchors, since });
    if (!refound.ok) return refound;
    const parsed = await mapInTurns(refound.value, (json) => JSON.parse(json) as Refound | null);
    for (const [n, { id }] of topics.entries()) if (parsed[n]) found.set(id, parsed[n]);
  }
  return ok(found);
}

/** The text in which orphans were last searched for; undefined if neither this process nor git has it. */
async function textSearched(app: ReviewApp, blob: string, present: Page | undefined): Promise<string | undefined> {
  if (blob === "") return undefined;
  if (blob === present?.blob) return present.text;
  return app.topics.searched.get(blob) ?? (await app.git.readBlob(blob))?.toString("utf8");
}

async function save(app: ReviewApp, was: TopicRow[], now: TopicRow[], page: Page | undefined): Promise<void> {
  const at = app.now().toISOString();
  await app.db.write(async (tx) => {
    await lockTexts(tx, app.db.engine);
    if (page && now.some((row) => row.anchor_blob === page.blob)) await keepText(tx, page.blob, page.text);
    const events: Parameters<typeof appendEvents>[2] = [];
    for (const [i, row] of was.entries()) {
      const next = now[i] as TopicRow;
      if (!(await saveAnchor(tx, row, next))) continue;
      const subject = `topic:${row.id}`;
      if (row.path !== next.path) {
        const data = { from: row.path, to: next.path };
        events.push({ at, actor: "scriptorium", kind: "topic-followed", subject, data });
        for (const id of await movePageProposals(tx, row.id, next.path))
          events.push({ at, actor: "scriptorium", kind: "proposal-followed", subject: `proposal:${id}`, data });
      }
      const kind = newsOf(row, next);
      if (kind === undefined) continue;
      const { anchor } = topicOf(next);
      const data = {
        source_path: next.path,
        quote: anchor?.at.quote,
        place: anchor?.place ?? null,
        source_sha: next.seen_blob,
      };
      events.push({ at, actor: "scriptorium", kind, subject, data });
    }
    await appendEvents(tx, app.db.engine, events);
    await dropUnused(tx, [...new Set(was.flatMap((row) => row.anchor_blob ?? []))]);
  });
}

/**
 * A missing page counts as renamed if exactly one new page has its bytes, or if git shows a rename in the commit that
 * removed it; otherwise its topics become orphans.
 */
async function followOrOrphan(app: ReviewApp, path: string, rows: TopicRow[]): Promise<void> {
  const last = new Set(rows.map((row) => row.seen_blob));
  const twins = last.size === 1 ? await pagesWith(app, rows[0]?.seen_blob ?? "", path) : [];
  const renamed = twins.length === 0 ? await renamedPage(app, path) : twins[0];
  if (!renamed || twins.length > 1) return save(app, rows, rows.map(withoutPage), undefined);
  await update(app, rows, renamed, { path: renamed.path, about: app.links.nodeOf(renamed.path) ?? null });
}

async function renamedPage(app: ReviewApp, path: string): Promise<Page | undefined> {
  const to = await app.git.renamedTo(path);
  const read = to === undefined ? undefined : await app.pages.read(to);
  return read?.ok ? read.value : undefined;
}

async function pagesWith(app: ReviewApp, blob: string, but: string): Promise<Page[]> {
  const found: Page[] = [];
  for (const path of await app.pages.list()) {
    if (path === but) continue;
    const read = await app.pages.read(path);
    if (read.ok && read.value.blob === blob && (await cameAs(app, path, but))) found.push(read.value);
  }
  return found;
}

/** Whether one page was added in the commit that removed the other; an older copy is a different page. */
async function cameAs(app: ReviewApp, came: string, went: string): Promise<boolean> {
  const { git } = app;
  if ((await git.blobAtHead(came)) === undefined) return true;
  const [last, first] = await Promise.all([git.lastCommit("--", went), git.lastCommit("--diff-filter=A", "--", came)]);
  return last !== undefined && last === first;
}
