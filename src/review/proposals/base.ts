import type { Database } from "../../store/database.ts";
import type { Git } from "../../store/git/git.ts";
import { readVersion } from "../../store/git/history.ts";
import type { EntryStore } from "../../wiki/entry.ts";
import type { Page } from "../../wiki/pages/pages.ts";
import { blobOf } from "../../wiki/stores/document.ts";

type Deps = { db: Database; git: Git; entries: EntryStore; onDisk: boolean };

const versionsTried = 50;

/** What this page said when git named it `blob`; undefined when that was never this page. */
export async function textNamed(deps: Deps, page: Page, blob: string): Promise<string | undefined> {
  if (blob === page.blob) return page.text;
  const { db, git, entries } = deps;
  const kept = await db.read
    .selectFrom("proposals")
    .select("base_text")
    .where("subject", "=", page.path)
    .where("base_source_sha", "=", blob)
    .limit(1)
    .executeTakeFirst();
  if (kept?.base_text) return kept.base_text;
  if (page.entry && !deps.onDisk) return earlierText(entries, page.entry.id, blob);
  if (page.entry && (await isVersion(db, page.entry.id, blob))) {
    return (await readVersion(db, git, blob))?.toString("utf8");
  }
  const commit = await git.maybe([
    "log",
    "-1",
    "--all",
    "--format=%H",
    `--find-object=${blob}`,
    "--",
    `:(literal)${page.path}`,
  ]);
  return commit ? (await git.readBlob(blob))?.toString("utf8") : undefined;
}

async function isVersion(db: Database, id: string, blob: string): Promise<boolean> {
  const query = db.read.selectFrom("entry_versions").select("version").where("entry_id", "=", id);
  return (await query.where("blob", "=", blob).limit(1).executeTakeFirst()) !== undefined;
}

/** The database store names a log's versions by a chain, not by their text: so the texts are asked. */
async function earlierText(entries: EntryStore, id: string, blob: string): Promise<string | undefined> {
  for (const { version } of await entries.history(id, versionsTried)) {
    const text = await entries.contentAt(id, version);
    if (text !== undefined && blobOf(text) === blob) return text;
  }
  return undefined;
}
