import { join } from "node:path";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { Database, Query } from "../../store/database.ts";
import { discard, discardNoted, publish, stage } from "../../store/disk/disk.ts";
import { appendEvent } from "../../store/events.ts";
import type { Git, Identity } from "../../store/git/git.ts";
import { commitMessage, enqueue } from "../../store/git/history.ts";
import type { Recorder } from "../../store/git/recorder.ts";
import { lockEntry } from "../../store/queries/entries.ts";
import {
  type Approval,
  type Author,
  approvalData,
  approvalTrailers,
  type EntryStore,
  type Replaced,
} from "../../wiki/entry.ts";
import type { PageReader } from "../../wiki/pages/pages.ts";
import { blobOf } from "../../wiki/stores/document.ts";
import { readIfThere } from "../../wiki/stores/look.ts";
import { approvedText, nameProblem } from "./page-proposal.ts";
import type { Approver, Asked, Deed, Effect, ProposalStore, WholeProposal } from "./proposals.ts";

/**
 * A person approves a page's new text (R4):
 *
 *   intent ──▶ in one transaction: the file, its version, "approved", a queued commit ──▶ recorder ──▶ branch
 *
 * The intent is kept before the file is touched. A process that dies after the file was renamed
 * and before the transaction was committed leaves a file that says just what the intent says: the
 * next start finishes it. In every other place a crash leaves the old state or the new one.
 */
export interface PageApproval extends Effect {
  /** Finishes approvals that a crash cut off after their file was written. */
  recover(proposals: Pick<ProposalStore, "unfinished" | "carryOut">): Promise<void>;
}

type Deps = {
  db: Database;
  git: Git;
  root: string;
  pages: PageReader;
  entries: EntryStore;
  onDisk: boolean;
  recorder: Recorder;
  /** In whose name agents' texts are committed; undefined when nothing says so. */
  agent: Identity | undefined;
};

/** What a person approved: this text, in place of the one named `base`. */
type Decision = { path: string; entry: string | undefined; text: string; base: string; author: Author };

export function pageApproval(deps: Deps): PageApproval {
  const { db, root, pages, entries, recorder } = deps;

  function deedFor(decision: Decision): Deed {
    const { entry, text, base, author } = decision;
    let staged: string | undefined;
    return {
      intent: { text, blob: blobOf(text), base },
      async apply(tx, at) {
        const done = entry
          ? await entries.replace(tx, entry, text, base, author)
          : await writePage(tx, db, root, decision, at);
        if (done.ok) staged = done.value.staged;
        return done;
      },
      async settle(done) {
        if (staged) discard(staged);
        // An earlier approval of it may have died with its text staged.
        if (done && !entry) discardNoted(join(root, decision.path), noteFor(author.approval?.proposal ?? ""));
        if (done && (deps.onDisk || !entry)) await recorder.drain(5000);
      },
    };
  }

  return {
    async prepare(proposal, approver, asked) {
      const author = authorOf(deps.agent, proposal, approver, asked);
      if (!author.ok) return author;
      const page = await pages.read(proposal.subject);
      if (!page.ok) return page;
      const text = approvedText(proposal, page.value, asked);
      if (!text.ok) return text;
      const { entry, path, blob } = page.value;
      if (deps.onDisk || !entry) {
        const ready = await readyForCommit(deps, path, blob);
        if (!ready.ok) return ready;
      }
      return ok(deedFor({ path, entry: entry?.id, text: text.value, base: blob, author: author.value }));
    },

    async recover(proposals) {
      for (const { proposal, approval } of await proposals.unfinished()) {
        const { by, note, text, blob, base } = approval as { by: Approver; note?: string } & Record<string, string>;
        const path = proposal.subject;
        const entry = await pages.entryId(path);
        const isWritten = blobOf(readIfThere(join(root, path), root) ?? "") === blob;
        const author = authorOf(deps.agent, proposal, by, { note });
        if (!isWritten || !author.ok || text === undefined || base === undefined) {
          if (!entry) discardNoted(join(root, path), noteFor(proposal.id), 60_000);
          continue;
        }
        await proposals.carryOut(proposal.id, by, note, deedFor({ path, entry, text, base, author: author.value }));
      }
    },
  };
}

/** A page that is no entry: its file, and the commit that will follow. */
async function writePage(
  tx: Query,
  db: Database,
  root: string,
  { path, text, base, author }: Decision,
  at: string,
): Promise<Result<Pick<Replaced, "staged">>> {
  const approval = author.approval as Approval;
  await lockEntry(tx, db.engine, `page:${path}`);
  const file = join(root, path);
  const bytes = Buffer.from(text);
  const held = readIfThere(file, root);
  const isThere = held?.equals(bytes) ?? false;
  const changed = refuse("conflict", `${path} changed while you approved; look at it again`);
  if (!isThere && (!held || blobOf(held) !== base)) return changed;
  const staged = isThere ? undefined : stage(file, bytes, root, noteFor(approval.proposal));
  if (staged && !publish(staged, file, held, root)) {
    discard(staged);
    return changed;
  }
  await enqueue(tx, {
    path,
    blob: blobOf(bytes),
    base,
    content: bytes,
    appended: false,
    author: { name: author.name, email: author.email ?? "" },
    byPerson: false,
    message: commitMessage(`Rewrite ${path}, approved by ${approval.by}`, approvalTrailers(approval), approval.note),
    at,
    onlyOnBase: true,
  });
  const data = { source_sha: blobOf(bytes), base_source_sha: base, approval: approvalData(approval) };
  await appendEvent(tx, { at, actor: author.name, kind: "page-written", subject: `page:${path}`, data });
  return ok(staged ? { staged } : {});
}

const noteFor = (proposal: string) => `proposal ${proposal}`;

/** The agent is the author of what it proposed, a person of theirs; the approver stands in a trailer. */
function authorOf(
  agent: Identity | undefined,
  proposal: WholeProposal,
  approver: Approver,
  { note }: Asked,
): Result<Author> {
  const email = typeof proposal.data.email === "string" ? proposal.data.email : "";
  const author = proposal.proposedBy === null ? agent : { name: proposal.proposedBy, email };
  if (!author) {
    return refuse(
      "invalid",
      "scriptorium.yaml does not say in whose name agents' texts are committed; add to it: agent: { author_name: …, author_email: … }",
    );
  }
  const forged = nameProblem(author) ?? nameProblem(approver);
  if (forged) return refuse("invalid", forged);
  const { topicId: topic, jobId: job } = proposal;
  const by = { by: approver.name, ...(approver.email ? { email: approver.email } : {}) };
  const approval = { ...by, proposal: proposal.id, topic, job, ...(note ? { note } : {}) };
  return ok({ name: author.name, email: author.email, approval });
}

/** The page must be as the branch has it: what a person has not committed is not ours to commit. */
async function readyForCommit({ git, recorder }: Deps, path: string, blob: string): Promise<Result<true>> {
  const busy = await git.underWay();
  if (busy) return refuse("conflict", `${busy} is under way in this repository; finish it, then approve`);
  const head = await git.head();
  if (!head.branch) return refuse("conflict", "HEAD is detached; check out a branch, then approve");
  if (!head.commit) {
    const name = head.branch.replace("refs/heads/", "");
    return refuse("conflict", `the branch ${name} has no commit yet; make a first one, then approve`);
  }
  const waits = await recorder.drain(5000);
  if (waits) return refuse("conflict", `git cannot take a commit now: ${waits}; try again`);
  const [atHead, staged] = await Promise.all([
    git.maybe(["rev-parse", "-q", "--verify", `HEAD:./${path}`]),
    git.text(["ls-files", "-s", "-z", "--", `:(literal)${path}`]),
  ]);
  if (!atHead) return refuse("conflict", `${path} is not committed yet; commit it, then approve`);
  if (atHead !== blob) {
    return refuse("conflict", `${path} has changes that are not committed; commit or stash them, then approve`, {
      uncommitted: true,
    });
  }
  if (!staged.startsWith(`100644 ${atHead} 0\t`) && !staged.startsWith(`100755 ${atHead} 0\t`)) {
    return refuse(
      "conflict",
      `${path} has staged changes that are not committed; commit or unstage them, then approve`,
      {
        uncommitted: true,
      },
    );
  }
  return ok(true);
}

/** The commit on the person's branch that an approval made, once it is there. */
export async function approvalCommit(git: Git, path: string, proposal: string): Promise<string | null> {
  const format = "--format=%H %(trailers:key=Proposal,valueonly,separator=%x20)";
  const found = await git.maybe(["log", "-1", format, "HEAD", "--", `:(literal)${path}`]);
  const [commit, ...named] = found?.split(" ") ?? [];
  return commit && named.includes(proposal) ? commit : null;
}
