import type { Database, Query } from "../database.ts";
import { insertQueued, queuedContent } from "../queries/git-queue.ts";
import { blobOf } from "./blob.ts";
import type { Git, Identity } from "./git.ts";

/** A new version of a file for git. */
type Change = {
  path: string;
  /** The blob name of the new version; the hash of `content` unless `appended`. */
  blob?: string;
  /** The blob of the version before, if there was one. */
  base?: string | undefined;
  /** All bytes, or for `appended` those that follow `base`. */
  content: Buffer;
  appended?: boolean;
  author: Identity;
  byPerson?: boolean;
  message: string;
  at: string;
  /** Commits to the person's branch only on top of `base`, so that a commit of theirs in between is not undone. */
  onlyOnBase?: boolean;
};

/** Queues a version in the transaction that makes it: it survives if the process dies before git has it. */
export async function enqueue(tx: Query, change: Change): Promise<void> {
  await insertQueued(tx, {
    path: change.path,
    blob: change.blob ?? blobOf(change.content),
    base: change.base ?? null,
    content: change.content,
    appended: change.appended ? 1 : 0,
    author: formatIdentity(change.author),
    by_person: change.byPerson ? 1 : 0,
    message: change.message,
    at: change.at,
    only_on: change.onlyOnBase ? (change.base ?? null) : null,
  });
}

export const formatIdentity = ({ name, email }: Identity) => `${plain(name)} <${plain(email)}>`;

/** The bytes of a version, from git or from the queue. */
export async function readVersion(db: Database, git: Git, blob: string): Promise<Buffer | undefined> {
  const appended: Buffer[] = [];
  for (let wanted = blob; ; ) {
    const row = await queuedContent(db.read, wanted);
    if (row?.content && row.appended && row.base) {
      appended.unshift(row.content);
      wanted = row.base;
      continue;
    }
    const start = row?.content ?? (await git.readBlob(wanted));
    return start && Buffer.concat([start, ...appended]);
  }
}

/** A commit message; values are put on one line, so that they cannot forge trailers. */
export function commitMessage(
  subject: string,
  trailers: Record<string, string | number | null | undefined>,
  words = "",
): string {
  const lines = Object.entries(trailers)
    .filter(([, value]) => value !== undefined && value !== null && value !== "")
    .map(([key, value]) => `${key}: ${oneLine(String(value))}`);
  const said = plain(words);
  return `${plain(subject)}\n\n${said === "" ? "" : `${said}\n\n`}${lines.join("\n")}\n`;
}

const oneLine = (text: string) => text.replace(/[\s\u0000-\u001f\u007f]+/g, " ").trim();

/** Puts a name or title on one line and removes characters that have a meaning in git's headers. */
const plain = (text: string) => text.replace(/[\s\u0000-\u001f\u007f<>]+/g, " ").trim();
