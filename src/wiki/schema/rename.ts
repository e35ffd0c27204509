import { existsSync } from "node:fs";
import { join, posix } from "node:path";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { advisoryLock } from "../../store/advisory-lock.ts";
import { crashPoint } from "../../store/disk/crash.ts";
import { readIfThere } from "../../store/disk/disk.ts";
import { appendEvent } from "../../store/events.ts";
import { blobOf, isBlob } from "../../store/git/blob.ts";
import { commitMessage, enqueue } from "../../store/git/history.ts";
import { findEntry, moveEntry } from "../../store/queries/entries.ts";
import { entriesThatLink } from "../../store/queries/links.ts";
import { findMeta } from "../../store/queries/meta.ts";
import { pagesThatLink, renameSectionRows } from "../../store/queries/rename-section.ts";
import { insertVersion } from "../../store/queries/versions.ts";
import { requireSection } from "../contract.ts";
import { type Author, identityOf, renameSummary, writerColumns } from "../entry.ts";
import { linksIn, linksInLog } from "../pages/links.ts";
import { planRelinkedPages, relinkPages } from "../pages/relink-pages.ts";
import { type RewrittenLine, rewrittenLines } from "../pages/rewrite-links.ts";
import { findSection, parseSchema, renameSectionIn, type Schema } from "../schema.ts";
import { parseDocument, withBody } from "../stores/document.ts";
import { twinOf } from "../twins.ts";
import type { WikiApp } from "../wiki-app.ts";
import { checkoutKey, lockSchema, recordSchema } from "./record.ts";
import { relinkText } from "./relink-text.ts";

export type Rename = { from: string; to: string; title?: string | undefined };

export type RenameResult = {
  id: string;
  version: number;
  /** Entries whose links were rewritten, each as a version by the person, and then the paths of other pages. */
  relinked: string[];
  /** Entries and pages that still link to the old id. */
  left: { path: string; reason: string }[];
};

/**
 * Renames a section: its entry keeps its versions, and links, topics, proposals, perspectives and edges follow. The
 * rows, schema.yaml and the file change in one transaction, and both files are published after it; links in other entries are changed after it.
 */
export async function renameSection(app: WikiApp, rename: Rename, by: Author): Promise<Result<RenameResult>> {
  const { from, to } = rename;
  const schema = await app.schema();
  if (!schema.ok) return schema;
  const possible = checkRename(app, schema.value, rename);
  if (!possible.ok) return possible;
  const linking = await linkingTo(app, from);
  const pages = await pagesThatLink(app.db.read, `entry:${from}`);
  const moved = await moveSection(app, rename, by);
  if (!moved.ok) return moved;
  // Everything below sees the new id.
  if (rename.title !== undefined) await retitle(app, to, rename.title, by);
  const now = await app.schema();
  if (!now.ok) return now;

  const { relinked, left } = await relinkEntries(
    app,
    now.value,
    [to, ...linking.filter((id) => id !== from)],
    rename,
    by,
  );
  const others = await relinkPages(app, pages, { from, to }, by);
  return ok({
    id: to,
    version: moved.value,
    relinked: [...relinked, ...others.relinked],
    left: [...left, ...others.left],
  });
}

function checkRename(app: WikiApp, schema: Schema, { from, to }: Rename): Result<true> {
  const { root, wiki, storeModule } = app.config;
  if (storeModule !== undefined)
    return refuse("refused", `entries are in the store ${storeModule}, which cannot rename them; add a section ${to}`);
  const warning = app.schemaWarning();
  if (warning) return refuse("refused", `${warning}; correct it first`);
  const section = requireSection(schema, from);
  if (!section.ok) return section;
  if (findSection(schema, to)) return refuse("conflict", `section ${to} already exists`);
  const file = `${wiki}/${to}.md`;
  const taken = existsSync(join(root, file)) ? file : twinOf(join(root, wiki), `${to}.md`);
  if (app.files && taken) return refuse("conflict", `${taken} exists; move it away, or choose another id`);
  return ok(true);
}

async function linkingTo(app: WikiApp, id: string): Promise<string[]> {
  await app.links.catchUp();
  const found: string[] = [];
  for (let after = ""; ; after = found.at(-1) ?? "") {
    const rows = await entriesThatLink(app.db, `entry:${id}`, after, 200);
    found.push(...rows.map((row) => row.id));
    if (rows.length < 200) return found;
  }
}

/** The transaction; returns the number of the entry's new version, 0 if nobody has written the entry. */
async function moveSection(app: WikiApp, { from, to, title }: Rename, by: Author): Promise<Result<number>> {
  const { db, git, files, config, publications, schemaPlace } = app;
  const { root, wiki } = config;
  const folders = { wiki, sources: config.sources };
  const pathOf = (id: string) => `${wiki}/${id}.md`;
  const before = await app.entries.fetch(from);
  if (before.note) return refuse("conflict", before.note);
  const format = await git.objectFormat();

  return publications.write(async (tx, stage): Promise<Result<number>> => {
    const at = app.now().toISOString();
    for (const id of [from, to].toSorted()) await advisoryLock(tx, db.engine, id);
    await lockSchema(tx, db.engine);
    const changed = refuse("conflict", `${from} or schema.yaml changed meanwhile; run the command again`);
    const row = await findEntry(tx, from);
    if ((row?.version ?? 0) !== before.version) return changed;
    if (await findEntry(tx, to)) return wasSection(to);
    const oldFile = files && readIfThere(files.fileOf(from), root);
    if (files && row && !isBlob(oldFile ?? "", row.blob)) return changed;
    const held = (await publications.latest(schemaPlace.path, tx))?.bytes;
    if (!held || !isBlob(held, (await findMeta(tx, checkoutKey(schemaPlace.checkout))) ?? "")) return changed;
    const text = renameSectionIn(held.toString("utf8"), { from, to, title }, schemaPlace.path);
    if (!text.ok) return text;
    const schema = parseSchema(text.value, schemaPlace.path);
    if (!schema.ok) return schema;

    await renameSectionRows(tx, { from, to, at, by: by.name }, pathOf);
    const bytes = Buffer.from(text.value);
    await recordSchema(tx, db.engine, schemaPlace, {
      bytes,
      blob: blobOf(bytes, format),
      schema: schema.value,
      author: identityOf(by),
      at,
      renamed: new Map([[from, to]]),
      commit: { subject: `Rename section ${from} to ${to}`, trailers: { Renamed: `${from} to ${to}` } },
      file: stage(schemaPlace.path, bytes, held),
    });
    const version = row ? row.version + 1 : 0;
    // In the database store the hash of an appended line depends on the version before it.
    const sha = row && (files ? row.blob : blobOf(before.content));
    if (sha) {
      const summary = renameSummary({ from, to, version });
      const file = oldFile && stage(pathOf(to), oldFile, undefined, pathOf(from));
      await insertVersion(tx, {
        entry_id: to,
        version,
        blob: sha,
        content: files ? null : before.content,
        appended: 0,
        ...writerColumns(by),
        at,
        summary,
      });
      const log = findSection(schema.value, to)?.mode === "log";
      await moveEntry(tx, to, {
        version,
        blob: sha,
        last_author: by.name,
        updated_at: at,
        stat: file?.stat ?? "",
        links: JSON.stringify((log ? linksInLog : linksIn)(before.content, to, folders)),
      });
      if (oldFile)
        await enqueue(tx, {
          path: pathOf(to),
          movedFrom: pathOf(from),
          blob: sha,
          content: oldFile,
          author: identityOf(by),
          message: commitMessage(summary, { Entry: to, Version: version, "Renamed-from": from }),
          at,
          file,
        });
    }
    const data = { from, to, title: title ?? null, version, source_sha: sha ?? null };
    await appendEvent(tx, { at, actor: by.name, kind: "section-renamed", subject: `entry:${to}`, data });
    crashPoint("version-saved");
    return ok(version);
  });
}

/** Changes the title in the frontmatter of an entry's file, which is shown instead of the section's. */
async function retitle(app: WikiApp, id: string, title: string, by: Author): Promise<void> {
  const { files, entries, publications, config } = app;
  const bytes = files && readIfThere(files.fileOf(id), config.root);
  const document = bytes && parseDocument(bytes);
  const front = document?.front?.replace(/^title:[^\n>|]*$/m, `title: ${JSON.stringify(title)}`);
  if (!document || front === undefined || front === document.front) return;
  const text = withBody({ ...document, front }, document.body, title).toString("utf8");
  const base = blobOf(bytes, await app.git.objectFormat());
  // A file that somebody edits at this moment keeps its title.
  await publications.write((tx, stage) => entries.replace(tx, stage, id, text, base, by));
}

/** The renamed entry itself is among `ids`: its relative links lead elsewhere if its folder changed. */
async function relinkEntries(app: WikiApp, schema: Schema, ids: string[], rename: Rename, by: Author) {
  const relinked: string[] = [];
  const left: RenameResult["left"] = [];
  for (const id of ids) {
    const path = `${app.config.wiki}/${id}.md`;
    const { content, version } = await app.entries.fetch(id);
    const planned = relinkedEntry(app, { id, content, mode: findSection(schema, id)?.mode }, rename);
    if (!planned) continue;
    if (planned.text === undefined) {
      left.push({ path, reason: planned.reason });
      continue;
    }
    const done = await app.entries.commit(id, planned.text, version, by);
    if (done.ok) relinked.push(id);
    else left.push({ path, reason: done.problem.message });
  }
  return { relinked, left };
}

type LinkingEntry = { id: string; content: string; mode: "snapshot" | "log" | undefined };

type Relinked = { text: string } | { text?: undefined; reason: string };

/** The new text of an entry whose links change, by the id that it has afterwards; or why they stay. */
function relinkedEntry(
  { config }: WikiApp,
  { id, content, mode }: LinkingEntry,
  { from, to }: Rename,
): Relinked | undefined {
  const folders = { wiki: config.wiki, sources: config.sources };
  const after = posix.dirname(`${config.wiki}/${id}.md`);
  const before = id === to ? posix.dirname(`${config.wiki}/${from}.md`) : after;
  const text = relinkText(content, { before, after }, { from, to }, folders);
  if (text === content) return undefined;
  if (mode === "log") return { reason: "it is a log, whose lines do not change" };
  return text === undefined ? { reason: "the link is written in an unusual way" } : { text };
}

export type RenamePreview = { relinked: { path: string; lines: RewrittenLine[] }[]; left: RenameResult["left"] };

/** The lines that a rename changes, or why it is not possible. Changes nothing. */
export async function previewRename(app: WikiApp, rename: Rename): Promise<Result<RenamePreview>> {
  const { from, to } = rename;
  const schema = await app.schema();
  if (!schema.ok) return schema;
  const possible = checkRename(app, schema.value, rename);
  if (!possible.ok) return possible;
  if (await findEntry(app.db.read, to)) return wasSection(to);
  const relinked: RenamePreview["relinked"] = [];
  const left: RenamePreview["left"] = [];
  for (const id of [from, ...(await linkingTo(app, from)).filter((id) => id !== from)]) {
    const path = `${app.config.wiki}/${id}.md`;
    const { content } = await app.entries.fetch(id);
    const mode = findSection(schema.value, id)?.mode;
    const planned = relinkedEntry(app, { id: id === from ? to : id, content, mode }, rename);
    if (planned?.text !== undefined) relinked.push({ path, lines: rewrittenLines(content, planned.text) });
    else if (planned) left.push({ path, reason: planned.reason });
  }
  const pages = await planRelinkedPages(app, await pagesThatLink(app.db.read, `entry:${from}`), { from, to });
  return ok({
    relinked: [
      ...relinked,
      ...pages.changes.map(({ page, text }) => ({ path: page.path, lines: rewrittenLines(page.text, text) })),
    ],
    left: [...left, ...pages.left],
  });
}

const wasSection = (id: string) =>
  refuse("conflict", `${id} was a section before and has versions of its own; choose another id`);
