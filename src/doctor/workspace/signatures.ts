import type { CrewApp } from "../../crew/record/crew-app.ts";
import { wholeProposal } from "../../review/proposals/proposal.ts";
import { sectionContent } from "../../review/proposals/section-effect.ts";
import { statementOf } from "../../review/proposals/signature.ts";
import { branchRef, ownBookBranch } from "../../store/git/book-branch.ts";
import { gitSigner, type Signer } from "../../store/git/signing.ts";
import { approvedProposals, type FullProposal } from "../../store/queries/proposals.ts";
import { type Finding, findingsOf } from "../finding.ts";

const mostChecked = 200;

/** Verifies the signatures of approvals, and of their commits. */
export async function checkSignatures(app: CrewApp): Promise<Finding[]> {
  const { ok, warning, problem } = findingsOf("wiki", "approvals");
  const approved = await approvedProposals(app.db.read, mostChecked);
  const isRequired = app.config.approvals === "signed";
  const signed = approved.filter(({ signature }) => signature !== null);
  if (!isRequired && signed.length === 0) return [];
  const signer = gitSigner(app.config.root, app.config.environment);
  const checked = await Promise.all(
    signed.map(async (row) => ({ id: row.id, wrong: await complaint(app, signer, row) })),
  );
  const wrong = checked.filter((one) => one.wrong !== undefined);
  const missing = isRequired ? approved.length - signed.length : 0;
  return [
    ...wrong.map(({ id, wrong: why }) => problem(`proposal ${id}: ${why}`, `scriptorium proposal show ${id}`)),
    ...(missing > 0 ? [warning(`${missing} of the last ${approved.length} approvals are not signed`)] : []),
    ...(wrong.length === 0 ? [ok(`${signed.length} signed approvals, all valid`)] : []),
  ];
}

/** The reason why a signed approval cannot be relied on. */
async function complaint(app: CrewApp, signer: Signer, row: FullProposal): Promise<string | undefined> {
  const { state, signer: by, text } = await signer.verify(row.signature ?? "");
  if (state === "unknown signer")
    return "the key of its signature is not known; add it to gpg.ssh.allowedSignersFile or to your GPG keyring";
  if (state !== "good") return `its signature is ${state}`;
  const email = /^Approved-by: .* <(.+)>$/m.exec(text)?.[1];
  if (email === undefined || !by.includes(email)) return `it was signed by ${by}, not by ${email ?? "its approver"}`;
  const proposal = wholeProposal(row);
  // The content of a page is what was approved, also if two changes were merged.
  const content = row.kind === "page" ? contentIn(text) : sectionContent(row.data);
  if (text !== statementOf(proposal, content, { name: row.decided_by ?? "", email }))
    return "its signature is for another approval";
  return row.kind === "page" ? commitComplaint(app, signer, row, content) : undefined;
}

const contentIn = (statement: string) => /^Content: (.+)$/m.exec(statement)?.[1] ?? "";

async function commitComplaint(
  { git, config }: CrewApp,
  signer: Signer,
  { id, subject }: FullProposal,
  content: string,
) {
  const book = config.bookBranch && (await git.commitAt(branchRef(await ownBookBranch(git, config.bookBranch))));
  const revisions = ["HEAD", ...(book ? [book] : [])];
  const commit = await git.lastCommit(`--grep=^Proposal: ${id}$`, ...revisions, "--", `:(literal)${subject}`);
  // The branch may have been rewritten, or the page may not be on it.
  if (!commit) return undefined;
  if ((await git.maybe(["rev-parse", `${commit}:./${subject}`])) !== content)
    return `its commit ${commit.slice(0, 12)} has another text`;
  const { state } = await signer.verifyCommit(commit);
  return state === "good" ? undefined : `the signature of its commit ${commit.slice(0, 12)} is ${state}`;
}
