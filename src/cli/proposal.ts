import { Command } from "@commander-js/extra-typings";
import { approveProposal, listProposals, rejectProposal, showProposal } from "../review/operations.ts";
import type { Proposal } from "../review/proposals.ts";
import { type Common, report } from "./session.ts";
import { bold, table, when } from "./text.ts";

export const proposalCommand = (common: () => Common) =>
  new Command("proposal")
    .description("decide what agents may not decide")
    .addCommand(
      new Command("list")
        .description(listProposals.summary)
        .option("--status <status>", "open, approved or rejected; all if left out")
        .action(({ status }) =>
          report(common(), listProposals, { status }, { text: listed, json: (found) => found.proposals }),
        ),
    )
    .addCommand(
      new Command("show")
        .description(showProposal.summary)
        .argument("<id>")
        .action((id) => report(common(), showProposal, { id }, describe)),
    )
    .addCommand(
      new Command("approve")
        .description(approveProposal.summary)
        .argument("<id>")
        .option("--note <text>", "what you want to say with it")
        .action((id, { note }) =>
          report(common(), approveProposal, { id, note }, (p) => `approved ${p.id}: ${p.kind} ${p.subject}`),
        ),
    )
    .addCommand(
      new Command("reject")
        .description(rejectProposal.summary)
        .argument("<id>")
        .option("--note <text>", "why")
        .action((id, { note }) =>
          report(common(), rejectProposal, { id, note }, (p) => `rejected ${p.id}: ${p.kind} ${p.subject}`),
        ),
    );

function listed({ proposals }: { proposals: Proposal[] }): string {
  if (proposals.length === 0) return "nothing waits for you";
  return table([
    ["id", "status", "kind", "subject", "from", "at"],
    ...proposals.map((p) => [p.id, p.status, p.kind, p.subject, p.proposedBy ?? "agent", when(p.createdAt)]),
  ]);
}

const describe = (p: Proposal) =>
  [
    bold(`${p.kind} ${p.subject}`),
    `${p.id}, ${p.status}, from ${p.proposedBy ?? "the agent"} at ${when(p.createdAt)}`,
    ...(p.decidedBy
      ? [`${p.status} by ${p.decidedBy} at ${when(p.decidedAt ?? "")}${p.note ? `: ${p.note}` : ""}`]
      : []),
    ...Object.entries(p.data).map(
      ([key, value]) => `  ${key}: ${Array.isArray(value) ? value.join(", ") : String(value)}`,
    ),
  ].join("\n");
