import { ok, Refused, type Result, refuse } from "../../kernel/result.ts";
import type { Threads } from "../../kernel/threads/threads.ts";
import { advisoryLock } from "../../store/advisory-lock.ts";
import type { Database, Query } from "../../store/database.ts";
import { holdClaim } from "../../store/fence.ts";
import { blobOf, isBlob } from "../../store/git/blob.ts";
import { findEntry, type IndexedEntry, listedEntries, saveVersion } from "../../store/queries/entries.ts";
import { contentsUpTo, versionsOf } from "../../store/queries/versions.ts";
import { type Author, approvalData, describeEntry, type EntryStore, summaryOf, writerColumns } from "../entry.ts";
import { logLine, logRemark } from "../log.ts";
import { staleCommit } from "../merge/stale.ts";
import { knownLinks, linksIn, linksWith } from "../pages/links.ts";
import { type Section, sectionWith } from "../schema.ts";
import { countWords } from "./document.ts";

type Deps = {
  db: Database;
  sections(): Promise<Section[]>;
  wiki: string;
  sources: string;
  threads: Threads;
  now(): Date;
};

/** The database store: the same contract for many machines that share one database (K16). */
export function rowStore({ db, sections, wiki, sources, threads, now }: Deps): EntryStore {
  const folders = { wiki, sources };
  async function save(
    tx: Query,
    row: IndexedEntry | undefined,
    id: string,
    by: Author,
    next: NextText,
  ): Promise<number> {
    const version = (row?.version ?? 0) + 1;
    await saveVersion(tx, {
      entry_id: id,
      version,
      blob: next.blob,
      content: next.content,
      appended: next.appended ? 1 : 0,
      ...writerColumns(by),
      at: next.at,
      summary: summaryOf(id, version, by, next.appended ? "Append to" : "Commit"),
      title: null,
      words: next.words,
      stat: "",
      links: next.links,
      kind: next.appended ? "entry-appended" : "entry-committed",
      data: {
        ...(by.approval ? { approval: approvalData(by.approval) } : {}),
        ...(by.reverts ? { reverts: by.reverts.what } : {}),
        ...(by.proven ? { proven: true } : {}),
      },
    });
    return version;
  }

  const store: EntryStore = {
    async list() {
      const rows = new Map((await listedEntries(db.read)).map((row) => [row.id, row]));
      return (await sections()).map((section) => describeEntry(section, rows.get(section.id)));
    },

    async fetch(id) {
      const row = await findEntry(db.read, id);
      const section = sectionWith(await sections(), id) as Section;
      const content = row ? ((await textAt(db.read, id, row.version)) ?? "") : "";
      return { id, content, version: row?.version ?? 0, metadata: describeEntry(section, row) };
    },

    async commit(id, content, version, by, guard): Promise<Result<{ version: number }>> {
      const text = content.replaceAll("\r\n", "\n");
      const links = linksIn(text, id, folders);
      const saved = await db.write(async (tx): Promise<Result<number | undefined>> => {
        await advisoryLock(tx, db.engine, id);
        const claim = await holdClaim(tx, db.engine, by);
        if (!claim.ok) return claim;
        const row = await findEntry(tx, id);
        if ((row?.version ?? 0) !== version) return ok(undefined);
        const allowed = await guard?.(tx);
        if (allowed?.ok === false) return allowed;
        if (row?.blob === blobOf(text)) return ok(version);
        const at = now().toISOString();
        const made = { content: text, blob: blobOf(text), words: countWords(text), links, appended: false, at };
        return ok(await save(tx, row, id, by, made));
      });
      if (!saved.ok) return saved;
      return saved.value === undefined
        ? staleCommit({ store, threads }, id, text, version)
        : ok({ version: saved.value });
    },

    async append(id, line, by, guard) {
      const remark = logRemark(line, by);
      if (!remark.ok) return remark;
      return db.write(async (tx): Promise<Result<{ version: number; line: string }>> => {
        await advisoryLock(tx, db.engine, id);
        const claim = await holdClaim(tx, db.engine, by);
        if (!claim.ok) return claim;
        const allowed = await guard?.(tx);
        if (allowed?.ok === false) return allowed;
        const row = await findEntry(tx, id);
        const at = now().toISOString();
        const written = logLine(at, remark.value);
        // A hash chain: hashing the whole log for every line would make appends slower as it grows.
        const blob = blobOf(`${row?.blob ?? ""}\n${written}`);
        const words = (row?.words ?? 0) + countWords(written);
        const known = knownLinks(row);
        const links = known && linksWith(known, written, id, folders);
        const version = await save(tx, row, id, by, { content: written, blob, words, links, appended: true, at });
        return ok({ version, line: written.trimEnd() });
      });
    },

    async replace(tx, _stage, id, text, base, by) {
      await advisoryLock(tx, db.engine, id);
      const row = await findEntry(tx, id);
      const held = row ? ((await textAt(tx, id, row.version)) ?? "") : "";
      if (!isBlob(held, base))
        return refuse("conflict", `${id} changed during the approval; review the proposal again`);
      const at = now().toISOString();
      const content = text.replaceAll("\r\n", "\n");
      const links = linksIn(content, id, folders);
      const made = { content, blob: blobOf(content), words: countWords(content), links, appended: false, at };
      return ok({ version: await save(tx, row, id, by, made) });
    },

    history: (id, limit = 100) => versionsOf(db.read, id, limit),
    contentAt: async (id, version) => (version === 0 ? "" : textAt(db.read, id, version)),
  };
  return store;
}

type NextText = { content: string; blob: string; words: number; links: string[] | null; appended: boolean; at: string };

async function textAt(query: Query, id: string, version: number): Promise<string | undefined> {
  const rows = await contentsUpTo(query, id, version);
  return rows.at(-1)?.version === version ? joinContents(id, rows) : undefined;
}

/** The text of a version: the last full text up to it, followed by all appends since. */
export function joinContents(id: string, rows: { version: number; content: string | null }[]): string {
  const [first = "", ...rest] = rows.map(({ version, content }) => {
    if (content !== null) return content;
    const message = `the text of ${id} version ${version} is not in the database but in git; move the entries: scriptorium store move database`;
    throw new Refused({ code: "refused", message });
  });
  const start = first === "" || first.endsWith("\n") || rest.length === 0 ? first : `${first}\n`;
  return start + rest.join("");
}
