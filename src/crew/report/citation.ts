import { posix } from "node:path";
import * as z from "zod";
import { operation, people } from "../../kernel/operation.ts";
import { hasText, linesOfQuote } from "../../kernel/quote.ts";
import { ok, refuse } from "../../kernel/result.ts";
import type { Evidence } from "../../store/crew-tables.ts";
import { noSuch } from "../../store/no-such.ts";
import { type Attempt, attemptsOf } from "../../store/queries/attempts.ts";
import { findToolCall } from "../../store/queries/contexts.ts";
import { checksOf, verdictsOf } from "../../store/queries/verdicts.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { redacting } from "../record/transcript.ts";
import { citedPaths, placeOf, rangeOf, textsOf, withLines } from "../rules/evidence.ts";
import { attemptName, chooseAttempt } from "./attempt-diff.ts";

export const showCitation = operation({
  name: "show_citation",
  summary:
    "Show the place that the evidence of a verdict cites: lines of a file, a tool's answer, a check or the output.",
  effect: "reads",
  reads: ["task", "attempt"],
  callers: people,
  group: "tasks",
  http: { method: "get", path: "/tasks/{id}/citation" },
  input: z.object({
    id: z.string().max(64).describe("Id of the task"),
    attempt: attemptName.describe("The attempt that was verified: its number, or number-epoch after a rerun"),
    verdict: z.int().min(1).default(1).describe("Which verdict of the attempt, from 1"),
    item: z.int().min(1).describe("Which item of its evidence, from 1"),
  }),
  output: z.object({
    place: z.string().describe("What is cited, such as file src/a.ts:12"),
    first_line: z.int().describe("Number of the first line of `lines`"),
    lines: z.array(z.string()).describe("The cited lines with some before and after them"),
    cited: z
      .object({ from: z.int(), to: z.int() })
      .nullable()
      .describe("Lines that have the quote; null if it is not there"),
    note: z.string().nullable().describe("Why there is nothing to show, or no line is marked"),
  }),
  async run(app: CrewApp, { id, attempt: name, verdict: which, item: number }) {
    const attempts = await attemptsOf(app.db.read, { task: id });
    if (attempts.length === 0) return noSuch(app.db.read, "task", id);
    const found = chooseAttempt(id, attempts, name);
    if (!found.ok) return found;
    const attempt = found.value;
    const verdicts = (await verdictsOf(app.db.read, { task: id })).filter(({ epoch }) => epoch === attempt.epoch);
    const item = verdicts[which - 1]?.evidence[number - 1];
    if (!item) return refuse("not_found", `verdict ${which} of attempt ${name} has no evidence ${number}`);
    const { text, label, lines, missing } = await sourceOf(app, attempt, item);
    const place = label ?? placeOf(item);
    if (text === undefined) return ok({ place, first_line: 1, lines: [], cited: null, note: missing ?? null });
    const quoted = linesOfQuote(text, item.quote);
    const at = quoted ?? (lines ? rangeOf(lines) : undefined);
    const all = redacting(app)(text).split("\n");
    const from = Math.max(0, (at?.from ?? 1) - 1 - around);
    const shown = all.slice(from, Math.min((at?.to ?? 1) + around, from + mostLines));
    return ok({
      place,
      first_line: from + 1,
      lines: shown.map((line) => (line.length > longestLine ? `${line.slice(0, longestLine)} …` : line)),
      cited: at ?? null,
      note: quoted ? null : item.absent ? "cited because the quote is not here" : "the quote is not here",
    });
  },
});

const around = 5;
const mostLines = 60;
const longestLine = 2000;
const largestFile = 2_000_000;

type Source = { text?: string | undefined; label?: string; lines?: string; missing?: string };

async function sourceOf(app: CrewApp, attempt: Attempt, item: Evidence): Promise<Source> {
  if (item.from === "output") return { text: attempt.output ?? undefined, missing: "the attempt has no output" };
  if (item.from === "check") {
    const criterion = item.ref === "" ? item.criterion : Number(item.ref);
    const check = (await checksOf(app.db.read, attempt.task_id, attempt.epoch)).find(
      (one) => one.criterion === criterion,
    );
    return { text: check?.detail, label: `check of criterion ${criterion}`, missing: "the check is not on record" };
  }
  if (item.from === "call") {
    const call = await findToolCall(app.db.read, attempt.task_id, item.ref);
    if (!call) return { missing: "the call is not on record" };
    const texts = textsOf(call.output);
    const text = texts.slice(1).find((one) => hasText(one, item.quote)) ?? texts[0];
    return { text, label: `answer of ${call.name}` };
  }
  return fileOf(app, attempt, item);
}

async function fileOf({ git, packs }: CrewApp, { run_id, commit_id }: Attempt, item: Evidence): Promise<Source> {
  await packs.bringAttempts(run_id, [{ commit_id }]);
  if (commit_id === null || !(await git.commitAt(commit_id)))
    return { missing: "git no longer has the files of this attempt" };
  const { prefix } = await git.place();
  for (const path of citedPaths([item])) {
    const name = `${commit_id}:${posix.join(prefix, path)}`;
    const size = Number((await git.maybe(["cat-file", "-s", name])) ?? Number.NaN);
    if (Number.isNaN(size)) continue;
    if (size > largestFile) return { missing: `${path} has ${size} bytes, too many to show` };
    const content = await git.maybe(["cat-file", "blob", name]);
    const lines = item.lines || (path === item.ref ? "" : (withLines(item.ref)?.[1] ?? ""));
    if (content !== undefined) return { text: content, label: `${path}${lines ? `:${lines}` : ""}`, lines };
  }
  if (item.absent && item.quote.trim() !== "")
    return { missing: `cited as absent from ${item.ref || "all files"} of the delivered commit` };
  return { missing: `${item.ref || "the file"} is not at the delivered commit` };
}
