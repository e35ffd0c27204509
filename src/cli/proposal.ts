import { Command } from "@commander-js/extra-typings";
import type * as z from "zod";
import { requestRevision } from "../jobs/revision-operations.ts";
import { ok } from "../kernel/result.ts";
import { commentOnLine, resolveLineComment, takeChanges } from "../review/proposals/desk-operations.ts";
import { proposeEdit } from "../review/proposals/edit-operations.ts";
import {
  approveProposal,
  commentProposal,
  insertProposal,
  listProposals,
  type proposal,
  rejectProposal,
  showProposal,
} from "../review/proposals/operations.ts";
import type { Confirmation } from "./decide.ts";
import type { OutputOf } from "./output-of.ts";
import { type Common, readInput, report } from "./session.ts";
import { bold, dim, green, inertly, plural, red, table, when, yellow } from "./text.ts";

export const proposalCommand = (common: () => Common) =>
  new Command("proposal")
    .description("review and approve proposals")
    .addCommand(
      new Command("list")
        .description(listProposals.summary)
        .option("--status <status>", "open, approved, rejected or superseded (default: all)")
        .option("--topic <id>", "only proposals for this topic")
        .action(({ status, topic }) =>
          report(
            common(),
            listProposals,
            { status, topic_id: topic },
            { text: listed, json: (found) => found.proposals },
          ),
        ),
    )
    .addCommand(
      new Command("show")
        .description(showProposal.summary)
        .argument("<id>")
        .option("--cursor <cursor>", "topics_cursor of an earlier answer, for the next 100 topics")
        .action((id, { cursor }) => report(common(), showProposal, { id, cursor }, (found) => describe(found))),
    )
    .addCommand(
      new Command("open")
        .description("Propose your own text for a page. Reads it from a file or stdin.")
        .option("--topic <id>", "topic that the proposal answers")
        .option("--page <path>", "page to change; opens a topic with the message")
        .option("--message <text>", "with --page: what you changed and why")
        .requiredOption("--base <sha>", "source_sha that your text is based on, as shown by `topic show --json`")
        .option("--file <path>", "file with the whole new text; - for stdin", "-")
        .action(async ({ topic, page, message, base, file }, command) => {
          if ((topic === undefined) === (page === undefined)) command.error("error: name either --topic or --page");
          const content = (await readInput(file)).toString("utf8");
          if (page !== undefined) {
            const input = { source_path: page, topic_id: topic, message, base_sha: base, content };
            return report(
              common(),
              proposeEdit,
              input,
              (p) => `${p.id} is open for review, with topic ${p.topic_id}`,
            );
          }
          await report(
            common(),
            insertProposal,
            { topic_id: topic ?? "", base_sha: base, content },
            (p) => `${p.id} is open for review`,
          );
        }),
    )
    .addCommand(
      new Command("approve")
        .description(approveProposal.summary)
        .argument("<id>")
        .option("--note <text>", "note for the record")
        .option("--merge", "approve the merged text that `proposal show` shows, if the page changed")
        .option(
          "--onto <sha>",
          "approve only if the page is still at this source_sha, as shown by `proposal show --json`",
        )
        .option("--accept-hidden", "approve a text with hidden characters, which `proposal show` lists")
        .action((id, { note, merge, onto, acceptHidden }) =>
          report(
            common(),
            approveProposal,
            { id, note, merge, onto, accept_hidden: acceptHidden },
            (p) => (p.commit ? `${decided(p)} (commit ${p.commit.slice(0, 12)})` : decided(p)),
            confirmation("approve", id, onto),
          ),
        ),
    )
    .addCommand(
      new Command("reject")
        .description(rejectProposal.summary)
        .argument("<id>")
        .option("--note <text>", "why")
        .action((id, { note }) => report(common(), rejectProposal, { id, note }, decided, confirmation("reject", id))),
    )
    .addCommand(
      new Command("comment")
        .description(commentProposal.summary)
        .argument("<id>")
        .argument("<text...>", "the comment")
        .option("--line <n>", "comment on this line of the proposed text", Number)
        .option("--old-line <n>", "comment on this line of the text that it is based on", Number)
        .action((id, words, { line, oldLine }) => {
          const content = words.join(" ");
          if (line === undefined && oldLine === undefined)
            return report(common(), commentProposal, { id, content }, () => `comment added to ${id}`);
          const place = line === undefined ? { side: "old", line: oldLine } : { side: "new", line };
          return report(
            common(),
            commentOnLine,
            { id, content, ...place } as never,
            (made) => `comment added to line ${made.line} of ${id}`,
          );
        }),
    )
    .addCommand(
      new Command("resolve")
        .description(resolveLineComment.summary)
        .argument("<id>")
        .argument("<comment>", "number of the comment, from `proposal show`")
        .option("--reopen", "open it again")
        .action((id, comment, { reopen }) =>
          report(
            common(),
            resolveLineComment,
            { id, seq: Number(comment), resolved: !reopen },
            ({ seq, resolved_at: at }) => `comment ${seq} of ${id} is ${at === null ? "open" : "resolved"}`,
          ),
        ),
    )
    .addCommand(
      new Command("take")
        .description(takeChanges.summary)
        .argument("<id>")
        .requiredOption(
          "--changes <numbers>",
          "numbers of the changes to take, such as 1,3; `proposal show` lists them",
        )
        .option("--note <text>", "what should be different in the others; becomes a message of the topic")
        .action((id, { changes, note }) => {
          const numbers = changes.split(",").map((number) => ({ number: Number(number) }));
          return report(
            common(),
            takeChanges,
            { id, changes: numbers, note },
            (made) => `${made.id} (revision ${made.revision_number}) has your changes and is open for review`,
          );
        }),
    )
    .addCommand(
      new Command("revise")
        .description(requestRevision.summary)
        .argument("<id>")
        .argument("<text...>", "what to change")
        .action((id, words) =>
          report(common(), requestRevision, { id, content: words.join(" ") }, ({ job_id, not_started }) =>
            job_id
              ? `${id} returned; job ${job_id} writes the next revision`
              : `${id} returned with your note; no agent was started: ${not_started}`,
          ),
        ),
    );

/** A longer diff would move the warnings above it off the screen. */
const mostDiffLines = 40;

/** Approves exactly what was shown: another change of the page since then is a conflict. */
const confirmation = (word: "approve" | "reject", id: string, onto?: string): Confirmation => ({
  word,
  async preview(app, person) {
    const found = await showProposal.perform(app, { id }, person);
    if (!found.ok) return found;
    const { impact } = found.value;
    const seen = word === "approve" && impact?.source_sha && onto === undefined ? { onto: impact.source_sha } : {};
    return ok({ text: describe(inertly(found.value), mostDiffLines), pin: seen });
  },
});

type Proposal = z.infer<typeof proposal>;

const decided = (p: Proposal) => `${p.status} ${p.id}: ${p.kind} ${p.subject}`;

function listed({ proposals }: { proposals: Proposal[] }): string {
  if (proposals.length === 0) return "no open proposals";
  return table([
    ["id", "status", "kind", "subject", "from", "at"],
    ...proposals.map((p) => [
      p.id,
      p.status,
      p.revision_number === null ? p.kind : `${p.kind}, revision ${p.revision_number}`,
      p.subject,
      p.proposed_by ?? "agent",
      when(p.created_at),
    ]),
  ]);
}

type Shown = OutputOf<typeof showProposal>;

const describe = (p: Shown, mostLines = Number.POSITIVE_INFINITY) =>
  [
    bold(`${p.kind} ${p.subject}`),
    `${p.id}, ${p.status}, from ${p.proposed_by ?? "the agent"} at ${when(p.created_at)}`,
    ...(p.topic_id
      ? [`revision ${p.revision_number} for topic ${p.topic_id}${p.job_id ? `, by job ${p.job_id}` : ""}`]
      : []),
    ...(p.decided_by
      ? [`${p.status} by ${p.decided_by} at ${when(p.decided_at ?? "")}${p.note ? `: ${p.note}` : ""}`]
      : []),
    ...(typeof p.data.renamed_from === "string"
      ? [yellow(`the page was renamed from ${p.data.renamed_from} after this was proposed`)]
      : []),
    ...(p.kind === "page" ? [] : Object.entries(p.data).map(field)),
    ...p.comments.map(
      (c) => `${c.author} at ${when(c.at)}${c.wants_revision ? ", requesting a revision" : ""}: ${c.content}`,
    ),
    ...p.line_comments.map(
      ({ seq, author, at, side, place, line, revision_number, content, resolved_at: resolved }) =>
        `${seq}. ${author} at ${when(at)} on ${side === "old" ? "old line" : "line"} ${place ?? `${line} of revision ${revision_number}`}: ${content}${resolved === null ? "" : " (resolved)"}`,
    ),
    ...(p.impact ? foreseen(p.id, p.impact) : []),
    ...(p.impact ? shownDiff(p.id, p.impact, mostLines) : []),
  ].join("\n");

const field = ([key, value]: [string, unknown]) =>
  `  ${key}: ${Array.isArray(value) ? value.join(", ") : String(value)}`;

/** The effect of approving: warnings, then the change. */
function foreseen(id: string, impact: NonNullable<Shown["impact"]>): string[] {
  const { merge, hidden, topic_counts: counts, topics_cursor: cursor } = impact;
  const affected = counts.orphaned + counts.needs_review + counts.moved;
  const moved = merge?.clean
    ? "the page changed since; the two changes merge cleanly: approve the text below with --merge"
    : "the page changed since, in the same lines; request a revision with: scriptorium proposal revise";
  return [
    ...(impact.base_moved ? [yellow(whyMoved(impact, moved))] : []),
    ...impact.topics.filter(({ to }) => to !== "anchored").map(told),
    ...(cursor && !cursor.startsWith("anchored/")
      ? [
          `${plural(affected, "topic")} would move or be lost; see more with: scriptorium proposal show ${id} --cursor ${cursor}`,
        ]
      : []),
    ...hidden.map(({ line, characters }) => red(`line ${line} contains hidden characters: ${characters}`)),
    `${plural(impact.added, "line")} added, ${impact.removed} removed`,
    ...(impact.changes.length > 1
      ? [`changes: ${impact.changes.map(({ number, line }) => `${number} (line ${line})`).join(", ")}`]
      : []),
  ];
}

function whyMoved({ source_sha, uncommitted }: NonNullable<Shown["impact"]>, moved: string): string {
  if (source_sha === null) return "the page was deleted";
  return uncommitted ? "the page has uncommitted changes; commit or stash them, then review the proposal again" : moved;
}

function shownDiff(id: string, impact: NonNullable<Shown["impact"]>, mostLines: number): string[] {
  const { merge, diff: own, omitted_lines: omitted } = impact;
  const diff = merge?.diff ?? own;
  const lines = diff.split("\n").length;
  return lines > mostLines
    ? [`read the diff (${lines} lines) with: scriptorium proposal show ${id}`]
    : ["", coloured(diff), ...(omitted > 0 ? [yellow(`${plural(omitted, "line")} of the diff are left out`)] : [])];
}

const becomes = {
  anchored: "stays",
  moved: "moves with its passage",
  "needs-review": "needs review: its passage is uncertain",
  orphaned: "loses its passage",
};

const told = ({ id, quote, to }: NonNullable<Shown["impact"]>["topics"][number]) => {
  const line = `topic ${id} ${becomes[to]}: ${JSON.stringify(quote.slice(0, 80))}`;
  return to === "moved" ? line : yellow(line);
};

const coloured = (diff: string) =>
  diff
    .split("\n")
    .map((line) =>
      line.startsWith("+") ? green(line) : line.startsWith("-") ? red(line) : line.startsWith("@@") ? dim(line) : line,
    )
    .join("\n");
