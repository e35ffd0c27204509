import type { Result } from "../kernel/result.ts";
import type { Query } from "../store/database.ts";
import type { Identity } from "../store/git/git.ts";
import type { Stage } from "../store/publications.ts";
import type { ListedEntry } from "../store/queries/entries.ts";
import type { Section } from "./schema.ts";

/** An entry without its text (K4). */
export type EntryMetadata = {
  id: string;
  title: string;
  version: number;
  lastAuthor: string;
  wordCount: number;
  updatedAt: string;
};

export type Entry = {
  id: string;
  content: string;
  version: number;
  metadata: EntryMetadata;
  /** Why the content is not that of the file. */
  note?: string;
};

/** An agent in a role, perhaps under a claim, or a person (no role). */
export type Author = {
  name: string;
  email?: string;
  role?: string;
  run?: string;
  task?: string;
  epoch?: number;
  /** Proves the claim with this epoch; never stored. */
  secret?: string;
  /** The decision of a person that the text waited for. */
  approval?: Approval;
  /** Set by a revert: the writes that it undoes and the version that it restores. */
  reverts?: { what: string; to: string };
  /** The person proved to be one: signed in, or with a token of theirs. */
  proven?: true;
  /** The versions of one act become one commit of the branch. */
  group?: string;
};

export type Approval = {
  by: string;
  email?: string;
  proposal: string;
  topic: string | null;
  job: string | null;
  note?: string;
  /** The blob of the page in HEAD, in the form in which git stores it. */
  on?: string;
};

export type EntryVersion = {
  version: number;
  author: string;
  role: string | null;
  run: string | null;
  task: string | null;
  epoch: number | null;
  at: string;
  summary: string;
};

/** A condition of a write, checked in its transaction before anything is written; what it writes belongs to the write. */
export type Guard = (tx: Query) => Promise<Result<unknown>>;

/**
 * The contract of the entry stores; one test suite checks them all. An entry that nobody has written yet
 * has version 0 and no text.
 */
export interface EntryStore {
  list(): Promise<EntryMetadata[]>;
  fetch(id: string): Promise<Entry>;
  /** Replaces the body if `version` is the latest; a stale one is a conflict and changes nothing. */
  commit(id: string, content: string, version: number, by: Author, guard?: Guard): Promise<Result<{ version: number }>>;
  /** Appends one line to whatever version is the latest. */
  append(id: string, line: string, by: Author, guard?: Guard): Promise<Result<{ version: number; line: string }>>;
  /**
   * Replaces the page whose text has the blob `base`, including its frontmatter, inside the transaction of
   * an approval, which publishes the staged file after its commit.
   */
  replace(
    tx: Query,
    stage: Stage,
    id: string,
    text: string,
    base: string,
    by: Author,
  ): Promise<Result<{ version: number }>>;
  /**
   * Set for a store that cannot take part in that transaction. It writes the text before it, by compare-and-swap, and
   * `replace` then only confirms that. A crash between the two is completed by `resumeApprovals`.
   */
  publish?(id: string, text: string, base: string, by: Author): Promise<Result<true>>;
  /** Whether `publish` has written the text of this proposal. */
  isPublished?(id: string, proposal: string): Promise<boolean>;
  /** Newest first. */
  history(id: string, limit?: number): Promise<EntryVersion[]>;
  /** The text of a version; undefined when the version never existed or its text is lost. */
  contentAt(id: string, version: number): Promise<string | undefined>;
}

export const describeEntry = (section: Section, row: ListedEntry | undefined): EntryMetadata => ({
  id: section.id,
  title: row?.title ?? section.title,
  version: row?.version ?? 0,
  lastAuthor: row?.last_author ?? "",
  wordCount: row?.words ?? 0,
  updatedAt: row?.updated_at ?? "",
});

/** The one-line summary of a version, which is also the subject of its commit. */
export function summaryOf(id: string, version: number, { approval, reverts }: Author, verb: string): string {
  if (reverts) return `Revert ${id} (version ${version}, ${reverts.to})`;
  return `${approval ? "Rewrite" : verb} ${id} (version ${version}${approval ? `, approved by ${approval.by}` : ""})`;
}

/** The summary of the version that a rename of its section makes. */
export const renameSummary = ({ from, to, version }: { from: string; to: string; version: number }) =>
  `Rename ${from} to ${to} (version ${version})`;

/** The id before the rename that made this version; undefined for any other version. */
export const renamedFrom = (id: string, { version, summary }: { version: number; summary: string }) =>
  /^Rename (\S+) to /
    .exec(summary)
    ?.slice(1)
    .find((from) => summary === renameSummary({ from, to: id, version }));

/** The trailers of a commit that an approval caused. */
export const approvalTrailers = ({ by, email, proposal, topic, job }: Approval) => ({
  "Approved-by": email ? `${by} <${email}>` : by,
  Topic: topic,
  Proposal: proposal,
  Job: job,
});

/** The columns of a version that name its author. */
export const writerColumns = ({ name, role, run, task, epoch }: Author) => ({
  author: name,
  role: role ?? null,
  run: run ?? null,
  task: task ?? null,
  epoch: epoch ?? null,
});

/** An approval as event data. */
export const approvalData = ({ by, email, proposal, topic, job, note }: Approval) => ({
  by,
  email,
  proposal_id: proposal,
  topic_id: topic,
  job_id: job,
  note,
});

/** The author as git names them. */
export const identityOf = (author: Author): Identity => ({
  name: author.name,
  email: author.email ?? (author.role ? `${author.role}@agents.invalid` : ""),
});
