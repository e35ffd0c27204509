import { Command, Option } from "@commander-js/extra-typings";
import { confirmRecheck, listRechecksOf, recheckPassage } from "../jobs/recheck-operations.ts";
import type { Caller } from "../kernel/caller.ts";
import { ok } from "../kernel/result.ts";
import { disputePassage } from "../review/dispute-operations.ts";
import { mergePassages } from "../review/merge-operations.ts";
import { listDuplicates } from "../trust/duplicate-operations.ts";
import { getTrust, listTrust, passageOf, verifyPassage } from "../trust/operations.ts";
import { trustStates } from "../trust/state.ts";
import type { Confirmation } from "./decide.ts";
import { startHere } from "./job.ts";
import type { OutputOf } from "./output-of.ts";
import { type Common, report, withApp } from "./session.ts";
import { bold, dim, inertly, when } from "./text.ts";

export const trustCommand = (common: () => Common) =>
  new Command("trust")
    .description("see which passages can be relied on, and verify or dispute them")
    .addCommand(
      new Command("show")
        .description(getTrust.summary)
        .argument("<page>", "id of an entry or path of a page")
        .addOption(stateOption())
        .action((id, { state }) => report(common(), getTrust, { id, states: state && [state], limit: 500 }, shown)),
    )
    .addCommand(
      new Command("list")
        .description(listTrust.summary)
        .argument("[under]", "only this entry or folder of entries")
        .addOption(stateOption())
        .option("--limit <n>", "maximum number of passages", Number)
        .option("--cursor <cursor>", "the next page; the last line of a full list names it")
        .action((under, { state, limit, cursor }) =>
          report(common(), listTrust, { under, states: state && [state], limit: limit ?? 50, cursor }, listed),
        ),
    )
    .addCommand(
      new Command("verify")
        .description(verifyPassage.summary)
        .argument("<page>", "id of an entry or path of a page")
        .argument("<passage>", "id of the passage, as shown by `trust show`")
        .option("--note <text>", "what you checked it against")
        .option("--until <day>", "the day from which it must be checked again, such as 2027-01-31")
        .action((id, passage, { note, until }) =>
          report(
            common(),
            verifyPassage,
            { id, passage, note, stale_after: until },
            ({ source_path, passage }) => `verified ${passage.passage} of ${source_path}`,
            verifying(id, passage),
          ),
        ),
    )
    .addCommand(
      new Command("dispute")
        .description(disputePassage.summary)
        .argument("<page>", "id of an entry or path of a page")
        .argument("<passage>", "id of the passage, as shown by `trust show`")
        .requiredOption("--why <text>", "what is wrong, and how you know")
        .action((id, passage, { why }) =>
          report(
            common(),
            disputePassage,
            { id, passage, why },
            ({ source_path, topic_id }) => `disputed a passage of ${source_path} in topic ${topic_id}`,
          ),
        ),
    )
    .addCommand(
      new Command("duplicates")
        .description(listDuplicates.summary)
        .argument("[under]", "only groups with a passage of this entry or folder of entries")
        .option("--similarity <share>", "share of common three-word sequences, 0.3 to 1", Number)
        .option("--seconds <n>", "time limit", Number)
        .option("--limit <n>", "maximum number of groups", Number)
        .action((under, { similarity, seconds, limit }) =>
          report(
            common(),
            listDuplicates,
            { under, similarity: similarity ?? 0.6, seconds: seconds ?? 20, limit: limit ?? 50 },
            duplicated,
          ),
        ),
    )
    .addCommand(
      new Command("merge")
        .description(mergePassages.summary)
        .argument("<page>", "page of the passage to keep")
        .argument("<passage>", "passage to keep")
        .requiredOption("--remove <page#passage...>", "passages that it replaces, such as docs/deploy.md#4bdZ64sM")
        .option("--message <text>", "why, for the person who decides")
        .action((id, passage, { remove, message }) =>
          report(
            common(),
            mergePassages,
            { keep: { id, passage }, remove: remove.map(namedPassage), message },
            ({ proposals }) =>
              proposals.map((one) => `proposal ${one.id} for ${one.source_path}, topic ${one.topic_id}`).join("\n"),
          ),
        ),
    )
    .addCommand(
      new Command("recheck")
        .description(recheckPassage.summary)
        .argument("<page>", "id of an entry or path of a page")
        .argument("<passage>", "id of the passage, as shown by `trust show`")
        .option("--wait", "wait until the job ends; exit code 0 only if it succeeded")
        .action((id, passage, { wait }) =>
          withApp(common(), async (app) => {
            const once = app.idempotency.once(common().idempotencyKey);
            const start = (caller: Caller) => recheckPassage.perform(app, { id, passage }, caller, once);
            await startHere(app, common(), start, wait ?? false);
          }),
        ),
    )
    .addCommand(
      new Command("rechecks")
        .description(listRechecksOf.summary)
        .argument("[page]", "id of an entry or path of a page")
        .option("--limit <n>", "maximum number", Number)
        .action((id, { limit }) => report(common(), listRechecksOf, { id, limit: limit ?? 50 }, rechecked)),
    )
    .addCommand(
      new Command("confirm")
        .description(confirmRecheck.summary)
        .argument("<recheck>", "id of the recheck, as shown by `trust rechecks`")
        .action((id) =>
          report(
            common(),
            confirmRecheck,
            { id },
            ({ source_path, passage }) => `verified ${passage} of ${source_path}`,
            confirming(id),
          ),
        ),
    );

const namedPassage = (text: string) => ({
  id: text.slice(0, Math.max(0, text.lastIndexOf("#"))),
  passage: text.slice(text.lastIndexOf("#") + 1),
});

function duplicated({ groups, compared, complete }: OutputOf<typeof listDuplicates>): string {
  const lines = groups.flatMap(({ kind, similarity, passages, omitted }) => [
    bold(`${kind === "same" ? "nearly the same" : "contradicting"} (${Math.round(similarity * 100)} %)`),
    ...passages.map(
      ({ source_path, passage, text }) =>
        `  ${source_path}#${passage.slice(0, 8)}  ${text.replaceAll(/\s+/g, " ").slice(0, 80)}`,
    ),
    ...more(omitted),
  ]);
  const end = complete ? "" : "; the list is not complete: raise --seconds or --limit";
  return [...lines, dim(`${compared} passages compared${end}`)].join("\n");
}

const confirming = (id: string): Confirmation => ({
  word: "verify",
  async preview(app, person) {
    const found = await listRechecksOf.perform(app, { limit: 200 }, person);
    if (!found.ok) return found;
    const recheck = found.value.rechecks.find((one) => one.id === id);
    return ok({ text: recheck ? inertly(rechecked({ rechecks: [recheck] })) : id });
  },
});

function rechecked({ rechecks }: OutputOf<typeof listRechecksOf>): string {
  if (rechecks.length === 0) return "no rechecks; start one with: scriptorium trust recheck <page> <passage>";
  return rechecks
    .map(({ id, outcome, source_path, passage, text, note, evidence, at, confirmed_by }) =>
      [
        `${bold(id)}  ${when(at)}  ${outcome}${confirmed_by === null ? "" : `, confirmed by ${confirmed_by}`}  ${source_path}  ${passage.slice(0, 8)}`,
        `       ${text.replaceAll(/\s+/g, " ").slice(0, 100)}`,
        `       ${note}`,
        ...evidence.map(({ ref, line, quote }) => dim(`       ${ref}:${line}  ${quote.replaceAll(/\s+/g, " ")}`)),
      ].join("\n"),
    )
    .join("\n");
}

const stateOption = () => new Option("--state <state>", "only passages in this state").choices(trustStates);

/** Verifies exactly the text that is shown. */
const verifying = (id: string, passage: string): Confirmation => ({
  word: "verify",
  async preview(app) {
    const found = await passageOf(app, id, passage);
    if (!found.ok) return found;
    const { path, hash, text } = found.value;
    return ok({ text: `${path}:\n\n${inertly(text)}\n`, pin: { passage: hash } });
  },
});

type Page = OutputOf<typeof getTrust>;
type List = OutputOf<typeof listTrust>;

const words = (state: string) => state.replaceAll("_", " ");

function shown({ source_path, counts, passages, omitted }: Page): string {
  const numbers = Object.entries(counts).map(([state, count]) => `${count} ${words(state)}`);
  const lines = passages.flatMap((one) => [`${String(one.line).padStart(5)}  ${line(one)}`, ...because(one)]);
  return [bold(`${source_path}: ${numbers.join(", ") || "no passages"}`), ...lines, ...more(omitted)].join("\n");
}

const more = (omitted: number) => (omitted > 0 ? [dim(`${omitted} more`)] : []);

function listed({ passages, cursor }: List): string {
  if (passages.length === 0) return "nothing to check again";
  const lines = passages.flatMap((one) => [`${when(one.since)}  ${one.source_path}  ${line(one)}`, ...because(one)]);
  return [...lines, ...(cursor ? [dim(`more: --cursor ${cursor}`)] : [])].join("\n");
}

const line = ({ passage, state, text, verified_by }: Page["passages"][number]) =>
  `${passage.slice(0, 8)}  ${words(state)}${verified_by && state.startsWith("verified") ? ` (${verified_by})` : ""}  ${text.replaceAll(/\s+/g, " ").slice(0, 80)}`;

const because = ({ causes }: Page["passages"][number]) =>
  causes.map(({ text, at }) => `       ${dim(`${text}, ${when(at)}`)}`);
