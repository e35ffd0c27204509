import { type Result, refuse } from "../../kernel/result.ts";
import type { EntryStore } from "../entry.ts";
import { mergeByHeading } from "./merge.ts";

/** The conflict for a commit on an old version: the latest text and, if they merge, both changes in one text. */
export async function staleCommit(
  store: Pick<EntryStore, "fetch" | "contentAt">,
  id: string,
  yours: string,
  version: number,
): Promise<Result<never>> {
  const latest = await store.fetch(id);
  const now = { latestContent: latest.content, latestVersion: latest.version };
  const said = `${id} is at version ${latest.version}, last written by ${latest.metadata.lastAuthor || "nobody"}, and you wrote on version ${version}`;
  if (version > latest.version) return refuse("conflict", `${said}; fetch it and start from there`, now);

  const base = await store.contentAt(id, version);
  const merged = base === undefined ? undefined : mergeByHeading(base, latest.content, yours);
  if (merged !== undefined) {
    return refuse(
      "conflict",
      `${said}; the two changes are under different headings: check \`merged\` and commit it with version ${latest.version}`,
      { ...now, merged, merged_version: latest.version },
    );
  }
  return refuse(
    "conflict",
    `${said}; both changed the same part: bring your change into latestContent and commit it with version ${latest.version}`,
    base === undefined ? now : { ...now, base, theirs: latest.content, yours },
  );
}
