import type { Database, Query } from "../database.ts";
import type { StagedFile } from "../publications.ts";
import { insertQueued, queuedContent } from "../queries/git-queue.ts";
import type { Git, Identity } from "./git.ts";

/** A new version of a file for git. */
type Change = {
  path: string;
  /** The blob name of the new version. */
  blob: string;
  /** The blob of the version before, if there was one. */
  base?: string | undefined;
  /** All bytes, or for `appended` those that follow `base`. */
  content: Buffer;
  appended?: boolean;
  /** The path that the file had before this version. */
  movedFrom?: string;
  author: Identity;
  byPerson?: boolean;
  message: string;
  at: string;
  /**
   * The blob of the file in HEAD, in the form in which git stores it: committed to the person's branch only on top of
   * it, so that a commit of theirs in between is not undone.
   */
  onlyOn?: string | undefined;
  /** The file that is published after the commit, if the version is not a person's edit. */
  file?: StagedFile | undefined;
  /** Versions of one group become one commit of the branch, with the message of the first. */
  group?: string | undefined;
};

/** Queues a version in the transaction that makes it: it survives if the process dies before git has it. */
export async function enqueue(tx: Query, change: Change): Promise<void> {
  await insertQueued(tx, {
    path: change.path,
    blob: change.blob,
    base: change.base ?? null,
    content: change.content,
    appended: change.appended ? 1 : 0,
    author: formatIdentity(change.author),
    by_person: change.byPerson ? 1 : 0,
    message: withTime(change.message, change.at),
    at: change.at,
    only_on: change.onlyOn ?? null,
    moved_from: change.movedFrom ?? null,
    staged: change.file?.staged ?? null,
    replaces: change.file?.replaces ?? null,
    commit_group: change.group ?? null,
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

/** Git's own times have no milliseconds; read-log.ts reads this trailer. */
export const withTime = (message: string, at: string) => {
  const said = message.trimEnd();
  return `${said}${/\n[\w-]+: [^\n]*$/.test(said) ? "\n" : "\n\n"}${timeTrailer}: ${at}\n`;
};

export const timeTrailer = "At";

export const oneLine = (text: string) => text.replace(/[\s\p{Cc}\p{Zl}\p{Zp}]+/gu, " ").trim();

/** Puts a name or title on one line and removes characters that have a meaning in git's headers. */
export const plain = (text: string) => text.replace(/[\s\p{Cc}\p{Zl}\p{Zp}<>]+/gu, " ").trim();
