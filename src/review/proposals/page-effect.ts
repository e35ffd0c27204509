import { dirname, join } from "node:path";
import { removeHidden } from "../../kernel/hidden.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { Threads } from "../../kernel/threads/threads.ts";
import { advisoryLock } from "../../store/advisory-lock.ts";
import type { Database, Query } from "../../store/database.ts";
import { readIfThere } from "../../store/disk/disk.ts";
import { appendEvent } from "../../store/events.ts";
import { blobOf, formatOf, isBlob } from "../../store/git/blob.ts";
import { branchRef, ownBookBranch } from "../../store/git/book-branch.ts";
import type { BookBranch } from "../../store/git/branch.ts";
import type { Git, Identity } from "../../store/git/git.ts";
import { commitMessage, enqueue } from "../../store/git/history.ts";
import type { Recorder } from "../../store/git/recorder.ts";
import type { Publications, Stage } from "../../store/publications.ts";
import { type Approval, type Author, approvalData, approvalTrailers, type EntryStore } from "../../wiki/entry.ts";
import { mergeLinesTask } from "../../wiki/merge/merge-task.ts";
import type { Page, PageReader } from "../../wiki/pages/pages.ts";
import { readyForCommit } from "../../wiki/pages/ready-for-commit.ts";
import type { Effect } from "./approve.ts";
import { hiddenRefusal } from "./hidden-text.ts";
import { impactInput, impactTask } from "./impact.ts";
import { approvedText, nameProblem, needsMerge } from "./page-proposal.ts";
import type { Approver, WholeProposal } from "./proposal.ts";

type Deps = {
  db: Database;
  git: Git;
  publications: Publications;
  root: string;
  pages: PageReader;
  entries: EntryStore;
  onDisk: boolean;
  recorder: Recorder;
  /** The branch of entries, if they have one of their own. */
  book: BookBranch | undefined;
  threads: Threads;
  /** The author of commits of agents' texts; undefined when scriptorium.yaml names none. */
  agent(): Identity | undefined;
};

/** Replaces the text named `base` of a page. */
type PagePlan = {
  path: string;
  /** The id of the entry that the page is; undefined for other pages. */
  entry: string | undefined;
  text: string;
  base: string;
  author: Author & { approval: Approval };
};

/**
 * Approves a new text of a page (R4). One transaction stages the file and writes its version, "approved" and the
 * queued commit; the file is published after it. At every point a crash leaves the old state or the new one.
 */
export function pageEffect(deps: Deps): Effect<PagePlan> {
  const { pages, entries, publications, recorder } = deps;

  return {
    async prepare(proposal, approver, options) {
      const author = authorOf(deps.agent(), proposal, approver, options.note);
      if (!author.ok) return author;
      const page = await pages.read(proposal.subject);
      if (!page.ok) return page;
      const { entry, path, blob } = page.value;
      // On a branch of its own an entry has no uncommitted changes: a person's edits are committed there as well.
      const isFile = !entry || (deps.onDisk && !(await isBooked(deps)));
      // Before the text: a merge with changes that are not committed would be refused as well.
      const ready = isFile ? await readyForCommit(deps, path, Buffer.from(page.value.text), "approve") : ok(undefined);
      if (!ready.ok) return ready;
      const merged = await mergedText(deps.threads, proposal, page.value);
      if (!merged.ok) return merged;
      const text = approvedText(proposal, page.value, options, merged.value);
      if (!text.ok) return text;
      const seen = options.acceptHidden ? ok(true) : await checkHidden(deps.threads, proposal, page.value);
      if (!seen.ok) return seen;
      return ok({ path, entry: entry?.id, text: text.value, base: blob, author: onTopOf(author.value, ready.value) });
    },

    content: ({ text, base }) => blobOf(text, formatOf(base)),

    publish: {
      isNeeded: ({ entry }) => entry !== undefined && entries.publish !== undefined,
      write: async ({ entry, text, base, author }) =>
        entry && entries.publish ? entries.publish(entry, text, base, author) : ok(true),
      intent: ({ text, base }) => ({ text, base }),
      async resume(proposal, approver, { note, text, base }) {
        const path = proposal.subject;
        const entry = await pages.entryId(path);
        if (!entry || !(await entries.isPublished?.(entry, proposal.id))) return undefined;
        const author = authorOf(deps.agent(), proposal, approver, typeof note === "string" ? note : undefined);
        if (!author.ok || typeof text !== "string" || typeof base !== "string") return undefined;
        return { path, entry, text, base, author: author.value };
      },
    },

    apply: (tx, plan, at, stage) =>
      plan.entry
        ? entries.replace(tx, stage, plan.entry, plan.text, plan.base, plan.author)
        : writePage(tx, stage, deps, plan, at),

    async settle({ path, entry }, committed) {
      if (committed && !entry) await publications.sweep(join(deps.root, dirname(path)), { recursive: false });
      if (committed && (deps.onDisk || !entry)) await recorder.drain(5000);
    },
  };
}

/** Refuses new lines with characters that the diff shows only as code points. */
async function checkHidden(threads: Threads, proposal: WholeProposal, page: Page): Promise<Result<unknown>> {
  if (removeHidden(proposal.text) === proposal.text) return ok(true);
  const impact = await threads.run(impactTask, impactInput(proposal, page));
  if (!impact.ok) return impact;
  const hidden = impact.value.hidden.map(({ line, characters }) => ({ where: `line ${line}`, characters }));
  return hidden.length > 0 ? hiddenRefusal(proposal.id, hidden) : ok(true);
}

async function mergedText(threads: Threads, proposal: WholeProposal, page: Page): Promise<Result<string | undefined>> {
  if (!needsMerge(proposal, page)) return ok(undefined);
  return threads.run(mergeLinesTask, { base: proposal.baseText, theirs: page.text, yours: proposal.text });
}

/** Writes a page that is not an entry, and queues its commit. */
async function writePage(
  tx: Query,
  stage: Stage,
  { db, root, publications }: Deps,
  { path, text, base, author }: PagePlan,
  at: string,
): Promise<Result<true>> {
  const { approval } = author;
  await advisoryLock(tx, db.engine, `page:${path}`);
  const bytes = Buffer.from(text);
  const blob = blobOf(bytes, formatOf(base));
  const held = readIfThere(join(root, path), root);
  const found = isBlob(held ?? "", base) ? { bytes: held } : await publications.latest(path, tx);
  if (!found || !isBlob(found.bytes ?? "", base))
    return refuse("conflict", `${path} changed during the approval; review the proposal again`);
  await enqueue(tx, {
    path,
    blob,
    content: bytes,
    base,
    author: { name: author.name, email: author.email ?? "" },
    message: commitMessage(`Rewrite ${path}, approved by ${approval.by}`, approvalTrailers(approval), approval.note),
    at,
    onlyOn: approval.on,
    file: stage(path, bytes, found.bytes),
  });
  const data = { source_sha: blob, base_source_sha: base, approval: approvalData(approval) };
  await appendEvent(tx, { at, actor: author.name, kind: "page-written", subject: `page:${path}`, data });
  return ok(true);
}

const onTopOf = (author: PagePlan["author"], on: string | undefined): PagePlan["author"] => ({
  ...author,
  approval: { ...author.approval, ...(on ? { on } : {}) },
});

/** The author of agents' commits when the proposal was made. */
function authorIn({ author }: Record<string, unknown>): Identity | undefined {
  const { name, email } = (author ?? {}) as Partial<Identity>;
  return name && email ? { name, email } : undefined;
}

/** The commit's author is whoever proposed the text; a trailer names the approver. */
function authorOf(
  agent: Identity | undefined,
  proposal: WholeProposal,
  approver: Approver,
  note: string | undefined,
): Result<PagePlan["author"]> {
  const email = typeof proposal.data.email === "string" ? proposal.data.email : "";
  const author =
    proposal.proposedBy === null ? (agent ?? authorIn(proposal.data)) : { name: proposal.proposedBy, email };
  if (!author) {
    return refuse(
      "invalid",
      "scriptorium.yaml does not name the author of agents' commits; set up an agent in the settings of the web application, or add: agent: { author_name: …, author_email: … }",
    );
  }
  const forged = nameProblem(author) ?? nameProblem(approver);
  if (forged) return refuse("invalid", forged);
  const { topicId: topic, jobId: job } = proposal;
  const by = { by: approver.name, ...(approver.email ? { email: approver.email } : {}) };
  const approval = { ...by, proposal: proposal.id, topic, job, ...(note ? { note } : {}) };
  return ok({ name: author.name, email: author.email, approval });
}

/** Whether entries are committed to a branch that is not checked out. */
const isBooked = async ({ git, book }: Pick<Deps, "git" | "book">) =>
  book !== undefined && (await git.head()).branch !== branchRef(await ownBookBranch(git, book.setting));

/** The commit that an approval made, on the person's branch or the wiki's; null until the recorder has written it. */
export async function approvalCommit(
  git: Git,
  path: string,
  proposal: string,
  bookBranch: string | undefined,
): Promise<string | null> {
  for (const revision of ["HEAD", ...(bookBranch ? [branchRef(await ownBookBranch(git, bookBranch))] : [])]) {
    const found = await git.lastTrailers(["Proposal"], revision, "--", `:(literal)${path}`);
    if (found?.values[0]?.split(" ").includes(proposal)) return found.commit;
  }
  return null;
}
