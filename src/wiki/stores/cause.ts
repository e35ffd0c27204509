import type { Query } from "../../store/database.ts";
import type { Git } from "../../store/git/git.ts";
import type { ListedEntry } from "../../store/queries/entries.ts";
import { hasVersion } from "../../store/queries/versions.ts";

/**
 * The git command that changed an entry's file, when it was not a person's editor: the file has the text of HEAD,
 * and HEAD has moved since the version before, or the text is an earlier version that git put back.
 */
export type Cause = { command: string; from?: string; to?: string };

/** `blob` names the bytes of the file; `atHead` tells whether HEAD has them. */
export async function causeOf(
  query: Query,
  git: Git,
  { row, blob, atHead }: { row: ListedEntry | undefined; blob: string; atHead: boolean },
): Promise<Cause | undefined> {
  if (!row || !atHead) return undefined;
  const [newest] = await git.movesSince(row.updated_at);
  if (newest === undefined || /^commit(?! \(merge\))/.test(newest))
    // A person who commits a rewritten file has rewritten it; an earlier text was put back.
    return (await hasVersion(query, row.id, blob)) ? { command: "restore" } : undefined;
  const [, from, to] = /^checkout: moving from (.+) to (.+)$/.exec(newest) ?? [];
  if (from && to) return { command: "checkout", from, to };
  return { command: /^(commit \(merge\)|pull)/.test(newest) ? "merge" : (newest.split(/[ :(]/, 1)[0] ?? "") };
}

export const causeData = ({ command, from, to }: Cause) => ({
  cause: command,
  ...(from ? { from_branch: from } : {}),
  ...(to ? { to_branch: to } : {}),
});

/** "the branch changed from main to topic", or "git reset" for another command. */
export const causeText = ({ command, from, to }: Cause) =>
  from && to ? `the branch changed from ${from} to ${to}` : `git ${command}`;
