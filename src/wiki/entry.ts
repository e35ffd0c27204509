import type { Result } from "../kernel/result.ts";
import type { Query } from "../store/database.ts";
import type { Identity } from "../store/git/git.ts";
import type { IndexedEntry } from "../store/queries/entries.ts";
import type { Section } from "./schema.ts";

/** A line of the catalogue: everything but the text (K4). */
export type EntryMetadata = {
  id: string;
  title: string;
  version: number;
  lastAuthor: string;
  wordCount: number;
  updatedAt: string;
};

export type Entry = { id: string; content: string; version: number; metadata: EntryMetadata };

/** Who writes: an agent in a role, perhaps under a claim, or a person (no role). */
export type Author = {
  name: string;
  email?: string;
  role?: string;
  run?: string;
  task?: string;
  epoch?: number;
  /** Whose decision it was, when the text waited for a person. */
  approval?: Approval;
  /** Set when this takes back what others wrote: what that was, and which version it brings back. */
  reverts?: { what: string; to: string };
};

export type Approval = {
  by: string;
  email?: string;
  proposal: string;
  topic: string | null;
  job: string | null;
  note?: string;
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

export type Replaced = { version: number; staged?: string };

/**
 * Where entries are kept. Two backends keep this contract, and one test suite checks both. An
 * entry that nobody has written yet is version 0 with no text.
 */
export interface EntryStore {
  list(): Promise<EntryMetadata[]>;
  fetch(id: string): Promise<Entry>;
  /** Replaces the body if `version` is the latest; a stale one is a conflict and changes nothing. */
  commit(id: string, content: string, version: number, by: Author): Promise<Result<{ version: number }>>;
  /** Adds one line at the end, whatever the latest version is. */
  append(id: string, line: string, by: Author): Promise<Result<{ version: number; line: string }>>;
  /**
   * Puts a whole approved page in place of the text named `base`, frontmatter and all, inside the
   * transaction of its approval. `staged` is left for the caller to discard.
   */
  replace(tx: Query, id: string, text: string, base: string, by: Author): Promise<Result<Replaced>>;
  /** Newest first. */
  history(id: string, limit?: number): Promise<EntryVersion[]>;
  /** The text as it was; undefined when that version never was or its text is gone. */
  contentAt(id: string, version: number): Promise<string | undefined>;
}

export const describeEntry = (section: Section, row: IndexedEntry | undefined): EntryMetadata => ({
  id: section.id,
  title: row?.title ?? section.title,
  version: row?.version ?? 0,
  lastAuthor: row?.last_author ?? "",
  wordCount: row?.words ?? 0,
  updatedAt: row?.updated_at ?? "",
});

/** What a version says of itself in one line. */
export function summaryOf(id: string, version: number, { approval, reverts }: Author, verb: string): string {
  if (reverts) return `Revert ${id} (version ${version}, ${reverts.to})`;
  return `${approval ? "Rewrite" : verb} ${id} (version ${version}${approval ? `, approved by ${approval.by}` : ""})`;
}

/** What a commit says about the decision behind it. */
export const approvalTrailers = ({ by, email, proposal, topic, job }: Approval) => ({
  "Approved-by": email ? `${by} <${email}>` : by,
  Topic: topic,
  Proposal: proposal,
  Job: job,
});

/** The same in the data of an event. */
export const approvalData = ({ by, email, proposal, topic, job, note }: Approval) => ({
  by,
  email,
  proposal_id: proposal,
  topic_id: topic,
  job_id: job,
  note,
});

/** As git knows an author. */
export const identityOf = (author: Author): Identity => ({
  name: author.name,
  email: author.email ?? (author.role ? `${author.role}@agents.invalid` : ""),
});
