import { setImmediate } from "node:timers/promises";
import { appendEvents } from "../../store/events.ts";
import { parseJsonOr } from "../../store/json.ts";
import { dropUnused, keepText, lockTexts, openTopicsOn, saveAnchor, textOf } from "../../store/queries/topics.ts";
import type { TopicRow } from "../../store/tables.ts";
import type { Page } from "../../wiki/pages/pages.ts";
import type { ReviewApp } from "../review-app.ts";
import type { Span } from "./anchor/views.ts";
import { type Anchor, type AnchorState, type Refound, refinder } from "./anchor.ts";
import { afterLooking, newsOf, topicOf, withoutPage } from "./topic.ts";

/**
 * Updates the anchors of a page's open topics to its present text and returns that text. Cheap, and without a
 * write, when the page has not changed.
 */
export async function refindTopics(app: ReviewApp, path: string): Promise<Page | undefined> {
  const read = await app.pages.read(path);
  if (!read.ok && read.problem.code !== "not_found") return undefined;
  const page = read.ok ? read.value : undefined;
  const rows = (await openTopicsOn(app.db.read, path)).filter((row) => row.seen_blob !== (page?.blob ?? ""));
  if (rows.length === 0) return page;
  if (page) await save(app, rows, await lookIn(app, rows, page), page);
  else await followOrOrphan(app, path, rows);
  return page;
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
export async function previewTopics(app: ReviewApp, path: string, newText: string): Promise<Preview[]> {
  await refindTopics(app, path);
  const rows = (await openTopicsOn(app.db.read, path)).filter((row) => row.anchor !== null);
  const found = await look(app, rows, newText, "preview");
  return rows.flatMap((row) => {
    const { anchor } = topicOf(row);
    const to = found.get(row.id);
    if (!anchor || !to) return [];
    const place = to.state === "needs-review" ? to.place : to.state === "orphaned" ? null : to.anchor;
    return [
      {
        id: row.id,
        path,
        from: anchor.state,
        to: to.state,
        quote: anchor.at.quote,
        place: place && { start: place.start, end: place.end },
      },
    ];
  });
}

async function lookIn(app: ReviewApp, rows: TopicRow[], page: Page): Promise<TopicRow[]> {
  const found = await look(app, rows, page.text, page.blob);
  return rows.map((row) => afterLooking(row, found.get(row.id), page.blob));
}

/** Groups anchors by their original text, so that each text is compared once. */
async function look(app: ReviewApp, rows: TopicRow[], text: string, blob: string): Promise<Map<string, Refound>> {
  const found = new Map<string, Refound>();
  const origins = new Set(rows.flatMap((row) => row.anchor_blob ?? []));
  for (const origin of origins) {
    const before = (await textOf(app.db.read, origin)) ?? (await app.git.readBlob(origin))?.toString("utf8");
    const find = refinder(before, text, blob);
    for (const row of rows) {
      const anchor =
        row.anchor_blob === origin && row.anchor !== null ? parseJsonOr<Anchor | null>(row.anchor, null) : null;
      if (!anchor) continue;
      found.set(row.id, find(anchor));
      // A page may have hundreds of topics, and each takes milliseconds: other requests get a turn in between.
      await setImmediate();
    }
  }
  return found;
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

/** A missing page counts as renamed if exactly one new page has its bytes; otherwise its topics become orphans. */
async function followOrOrphan(app: ReviewApp, path: string, rows: TopicRow[]): Promise<void> {
  const last = new Set(rows.map((row) => row.seen_blob));
  const twins = last.size === 1 ? await pagesWith(app, rows[0]?.seen_blob ?? "", path) : [];
  const [renamed, ...more] = twins;
  if (!renamed || more.length > 0) return save(app, rows, rows.map(withoutPage), undefined);
  const found = await lookIn(app, rows, renamed);
  await save(
    app,
    rows,
    found.map((row) => ({ ...row, path: renamed.path, about: app.links.nodeOf(renamed.path) ?? null })),
    renamed,
  );
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
