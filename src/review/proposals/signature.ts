import { type Result, refuse } from "../../kernel/result.ts";
import type { Git } from "../../store/git/git.ts";
import type { Signer } from "../../store/git/signing.ts";
import type { Approver } from "./proposal.ts";

/** The fields of a proposal that an approval binds. */
type Approved = { id: string; kind: string; subject: string; baseSourceSha: string | null };

/** The text that an approver signs: the proposal, and by its hash the content that it writes. */
export const statementOf = ({ id, kind, subject, baseSourceSha }: Approved, content: string, by: Approver) =>
  [
    `Approve proposal ${id}`,
    "",
    `Kind: ${kind}`,
    `Subject: ${subject}`,
    ...(baseSourceSha ? [`Base: ${baseSourceSha}`] : []),
    `Content: ${content}`,
    `Approved-by: ${by.name}${by.email ? ` <${by.email}>` : ""}`,
  ].join("\n");

export type SignApproval = (statement: string, by: Approver) => Promise<Result<string>>;

/** Signs approvals of the person whose git configuration this is; nobody else's key is here. */
export const approvalSigner =
  (git: Git, signer: Signer): SignApproval =>
  async (statement, by) => {
    const person = await git.person();
    if (!person?.email || person.email !== by.email)
      return refuse(
        "refused",
        `approvals are signed here (approvals: signed), and the key of ${by.name} is not on this machine; approve in a terminal of your own`,
      );
    return signer.sign(statement, person);
  };
