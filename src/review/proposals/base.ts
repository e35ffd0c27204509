import type { Database } from "../../store/database.ts";
import { isBlob } from "../../store/git/blob.ts";
import type { Git } from "../../store/git/git.ts";
import { readVersion } from "../../store/git/history.ts";
import { baseTextNamed } from "../../store/queries/proposals.ts";
import { hasVersion } from "../../store/queries/versions.ts";
import type { EntryStore } from "../../wiki/entry.ts";
import type { Page } from "../../wiki/pages/pages.ts";

type Deps = { db: Database; git: Git; entries: EntryStore; onDisk: boolean };

const versionsTried = 50;

/** The text of this page under its git blob name; undefined when the page never had that text. */
export async function textNamed(deps: Deps, page: Page, blob: string): Promise<string | undefined> {
  if (blob === page.blob) return page.text;
  const { db, git, entries } = deps;
  const known = await baseTextNamed(db.read, page.path, blob);
  if (known) return known;
  if (page.entry && !deps.onDisk) return earlierText(entries, page.entry.id, blob);
  if (page.entry && (await hasVersion(db.read, page.entry.id, blob))) {
    return (await readVersion(db, git, blob))?.toString("utf8");
  }
  const commit = await git.lastCommit("--all", `--find-object=${blob}`, "--", `:(literal)${page.path}`);
  return commit ? (await git.readBlob(blob))?.toString("utf8") : undefined;
}

/** The database store names versions of a log by a hash chain, not by their text: compare the texts. */
async function earlierText(entries: EntryStore, id: string, blob: string): Promise<string | undefined> {
  for (const { version } of await entries.history(id, versionsTried)) {
    const text = await entries.contentAt(id, version);
    if (text !== undefined && isBlob(text, blob)) return text;
  }
  return undefined;
}
