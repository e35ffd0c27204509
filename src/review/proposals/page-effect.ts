import { join } from "node:path";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { advisoryLock } from "../../store/advisory-lock.ts";
import type { Database, Query } from "../../store/database.ts";
import { discard, discardNoted } from "../../store/disk/disk.ts";
import { appendEvent } from "../../store/events.ts";
import { blobOf } from "../../store/git/blob.ts";
import type { Git, Identity } from "../../store/git/git.ts";
import { commitMessage, enqueue } from "../../store/git/history.ts";
import type { Recorder } from "../../store/git/recorder.ts";
import {
  type Approval,
  type Author,
  approvalData,
  approvalTrailers,
  type EntryStore,
  type Replaced,
} from "../../wiki/entry.ts";
import type { PageReader } from "../../wiki/pages/pages.ts";
import { readIfThere } from "../../wiki/stores/look.ts";
import { replaceBlob } from "../../wiki/stores/replace-blob.ts";
import type { Effect } from "./approve.ts";
import { approvedText, nameProblem } from "./page-proposal.ts";
import type { Approver, WholeProposal } from "./proposal.ts";

type Deps = {
  db: Database;
  git: Git;
  root: string;
  pages: PageReader;
  entries: EntryStore;
  onDisk: boolean;
  recorder: Recorder;
  /** The author of commits of agents' texts; undefined when scriptorium.yaml names none. */
  agent: Identity | undefined;
};

/** Replaces the text named `base` of a page. */
type PagePlan = {
  path: string;
  /** The id of the entry that the page is; undefined for other pages. */
  entry: string | undefined;
  text: string;
  base: string;
  author: Author & { approval: Approval };
  /** The temporary name of the new file, to be removed once the transaction is over. */
  staged?: string | undefined;
};

/**
 * Approves a new text of a page (R4). One transaction writes the file, its version, "approved" and the
 * queued commit. The intent is saved before the file is touched: a process that dies after the rename and
 * before the commit leaves a file that equals the intent, and the next start finishes the approval. At
 * every other point a crash leaves the old state or the new one.
 */
export function pageEffect(deps: Deps): Effect<PagePlan> {
  const { db, root, pages, entries, recorder } = deps;

  return {
    async prepare(proposal, approver, options) {
      const author = authorOf(deps.agent, proposal, approver, options.note);
      if (!author.ok) return author;
      const page = await pages.read(proposal.subject);
      if (!page.ok) return page;
      const text = approvedText(proposal, page.value, options);
      if (!text.ok) return text;
      const { entry, path, blob } = page.value;
      if (deps.onDisk || !entry) {
        const ready = await readyForCommit(deps, path, blob);
        if (!ready.ok) return ready;
      }
      return ok({ path, entry: entry?.id, text: text.value, base: blob, author: author.value });
    },

    content: ({ text }) => blobOf(text),

    intent: ({ text, base }) => ({ text, blob: blobOf(text), base }),

    async apply(tx, plan, at) {
      const { entry, text, base, author } = plan;
      const done = entry
        ? await entries.replace(tx, entry, text, base, author)
        : await writePage(tx, db, root, plan, at);
      if (done.ok) plan.staged = done.value.staged;
      return done;
    },

    async settle({ path, entry, author, staged }, committed) {
      if (staged) discard(staged);
      // A crash may have interrupted an earlier approval of this proposal after its text was staged.
      if (committed && !entry) discardNoted(join(root, path), noteFor(author.approval.proposal));
      if (committed && (deps.onDisk || !entry)) await recorder.drain(5000);
    },

    async resume(proposal, approver, { note, text, blob, base }) {
      const path = proposal.subject;
      const entry = await pages.entryId(path);
      const isWritten = blobOf(readIfThere(join(root, path), root) ?? "") === blob;
      const author = authorOf(deps.agent, proposal, approver, typeof note === "string" ? note : undefined);
      if (isWritten && author.ok && typeof text === "string" && typeof base === "string")
        return { path, entry, text, base, author: author.value };
      if (!entry) discardNoted(join(root, path), noteFor(proposal.id), 60_000);
      return undefined;
    },
  };
}

/** Writes a page that is not an entry, and queues its commit. */
async function writePage(
  tx: Query,
  db: Database,
  root: string,
  { path, text, base, author }: PagePlan,
  at: string,
): Promise<Result<Pick<Replaced, "staged">>> {
  const { approval } = author;
  await advisoryLock(tx, db.engine, `page:${path}`);
  const bytes = Buffer.from(text);
  const written = replaceBlob(join(root, path), bytes, base, root, noteFor(approval.proposal));
  if (!written) return refuse("conflict", `${path} changed during the approval; review the proposal again`);
  await enqueue(tx, {
    path,
    content: bytes,
    base,
    author: { name: author.name, email: author.email ?? "" },
    message: commitMessage(`Rewrite ${path}, approved by ${approval.by}`, approvalTrailers(approval), approval.note),
    at,
    onlyOnBase: true,
  });
  const data = { source_sha: blobOf(bytes), base_source_sha: base, approval: approvalData(approval) };
  await appendEvent(tx, { at, actor: author.name, kind: "page-written", subject: `page:${path}`, data });
  return ok(written);
}

const noteFor = (proposal: string) => `proposal ${proposal}`;

/** The commit's author is whoever proposed the text; a trailer names the approver. */
function authorOf(
  agent: Identity | undefined,
  proposal: WholeProposal,
  approver: Approver,
  note: string | undefined,
): Result<PagePlan["author"]> {
  const email = typeof proposal.data.email === "string" ? proposal.data.email : "";
  const author = proposal.proposedBy === null ? agent : { name: proposal.proposedBy, email };
  if (!author) {
    return refuse(
      "invalid",
      "scriptorium.yaml does not name the author of agents' commits; add: agent: { author_name: …, author_email: … }",
    );
  }
  const forged = nameProblem(author) ?? nameProblem(approver);
  if (forged) return refuse("invalid", forged);
  const { topicId: topic, jobId: job } = proposal;
  const by = { by: approver.name, ...(approver.email ? { email: approver.email } : {}) };
  const approval = { ...by, proposal: proposal.id, topic, job, ...(note ? { note } : {}) };
  return ok({ name: author.name, email: author.email, approval });
}

/** The page must equal the branch's: an approval must not commit a person's uncommitted changes. */
async function readyForCommit({ git, recorder }: Deps, path: string, blob: string): Promise<Result<true>> {
  const busy = await git.underWay();
  if (busy) return refuse("conflict", `${busy} is in progress in this repository; finish it, then approve`);
  const head = await git.head();
  if (!head.branch) return refuse("conflict", "HEAD is detached; check out a branch, then approve");
  if (!head.commit) {
    const name = head.branch.replace("refs/heads/", "");
    return refuse("conflict", `the branch ${name} has no commits; make the first one, then approve`);
  }
  const waits = await recorder.drain(5000);
  if (waits) return refuse("conflict", `git cannot commit now: ${waits}; try again`);
  const [atHead, staged] = await Promise.all([git.blobAtHead(path), git.stagedAt(path)]);
  if (!atHead) return refuse("conflict", `${path} is not committed yet; commit it, then approve`);
  if (atHead !== blob) {
    return refuse("conflict", `${path} has uncommitted changes; commit or stash them, then approve`, {
      uncommitted: true,
    });
  }
  if (staged !== `100644 ${atHead} 0` && staged !== `100755 ${atHead} 0`) {
    return refuse("conflict", `${path} has staged changes; commit or unstage them, then approve`, {
      uncommitted: true,
    });
  }
  return ok(true);
}

/** The commit on the person's branch that an approval made; null until the recorder has written it. */
export async function approvalCommit(git: Git, path: string, proposal: string): Promise<string | null> {
  const found = await git.lastTrailers(["Proposal"], "HEAD", "--", `:(literal)${path}`);
  return found?.values[0]?.split(" ").includes(proposal) ? found.commit : null;
}
