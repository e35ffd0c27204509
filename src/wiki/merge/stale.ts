import type { NextStep } from "../../kernel/next-step.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { Threads } from "../../kernel/threads/threads.ts";
import type { EntryStore } from "../entry.ts";
import { mergeByHeadingTask } from "./merge-task.ts";

/** The conflict for a commit on an old version: the latest text and, if they merge, both changes in one text. */
export async function staleCommit(
  { store, threads }: { store: Pick<EntryStore, "fetch" | "contentAt">; threads: Threads },
  id: string,
  yours: string,
  version: number,
): Promise<Result<never>> {
  const latest = await store.fetch(id);
  const now = { latestContent: latest.content, latestVersion: latest.version };
  const by = latest.metadata.lastAuthor ? ` by ${latest.metadata.lastAuthor}` : "";
  const said = `${id} is at version ${latest.version}${by}, and you committed on version ${version}`;
  const fetchIt: NextStep = { operation: "fetch_entry", input: { id } };
  if (version > latest.version) return refuse("conflict", said, { ...now, next: [fetchIt] });

  const base = await store.contentAt(id, version);
  const nothingNew = whyNothingToMerge(
    yours,
    { base, latest: latest.content },
    { version, latestVersion: latest.version },
  );
  if (nothingNew) return refuse("conflict", `${said}; ${nothingNew}`, now);
  const found =
    base === undefined ? ok(undefined) : await threads.run(mergeByHeadingTask, { base, theirs: latest.content, yours });
  const merged = found.ok ? found.value : undefined;
  if (merged !== undefined) {
    return refuse(
      "conflict",
      `${said}; the two changes are under different headings: check \`merged\`, then commit it with version ${latest.version}`,
      { ...now, merged, merged_version: latest.version },
    );
  }
  return refuse(
    "conflict",
    `${said}; ${found.ok ? "the two changes cannot be merged with certainty" : "merging the two changes takes too long"}: merge yours into latestContent, then commit that with version ${latest.version}`,
    base === undefined ? now : { ...now, base, theirs: latest.content, yours },
  );
}

/** A commit that adds nothing has no headings to compare, and merging an empty one would delete what it did not read. */
function whyNothingToMerge(
  yours: string,
  texts: { base: string | undefined; latest: string },
  { version, latestVersion }: { version: number; latestVersion: number },
): string | undefined {
  if (yours.trim() === texts.latest.trim())
    return `version ${latestVersion} already has this text, so there is nothing to commit`;
  if (yours === texts.base) return `your text is the same as version ${version}, so there is nothing to merge`;
  if (yours.trim() === "")
    return `your text is empty: to empty the entry, commit it again with version ${latestVersion}`;
  return undefined;
}
