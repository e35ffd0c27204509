import * as z from "zod";
import { parseJsonOr } from "../store/json.ts";
import type { CitedSourceRow, PassageDecisionRow, PassageTrustRow } from "../store/trust-tables.ts";
import type { Ref } from "./refs.ts";
import { type Cause, causeText } from "./rule.ts";
import { type Counts, type TrustState, trustStates } from "./state.ts";

/** A passage with its trust, as operations answer it. */

export const stateShape = z.enum(trustStates);
export const countsShape = z
  .object(
    Object.fromEntries(trustStates.map((state) => [state, z.int().optional()])) as Record<
      TrustState,
      z.ZodOptional<z.ZodInt>
    >,
  )
  .describe("Number of passages in each state; states without passages are left out");

const causeShape = z.object({
  kind: z.enum([
    "text_changed",
    "source_changed",
    "source_gone",
    "overturned",
    "reverted",
    "contradicted",
    "disputed",
    "stale_after",
  ]),
  text: z.string().describe("The cause in words"),
  at: z.string(),
  by: z.string().optional().describe("Who caused it"),
  ref: z.string().optional().describe("The cited source, with its lines"),
  other_path: z.string().optional().describe("The page of the passage that contradicts it"),
  other_passage: z.string().optional().describe("The passage that contradicts it, or that it replaced"),
  topic_id: z.string().optional(),
});

export const passageShape = z.object({
  passage: z.string().describe("Id of the passage within its page"),
  line: z.int().describe("Its first line in the page; 0 in lists"),
  heading: z.string(),
  text: z.string().describe("The passage, cut if it is long"),
  state: stateShape,
  since: z.string(),
  causes: z.array(causeShape).describe("Why it is no longer verified, newest first"),
  lost: stateShape.nullable().describe("The verified state that it had"),
  writer: z.object({
    by: z.string(),
    how: z
      .enum(["agent", "person", "approval", "edit", "git"])
      .describe(
        "agent: in a role; person: signed in; approval: a proposal that a person approved; edit: the file was edited; git: a git command or a revert",
      ),
    role: z.string().nullable(),
    run: z.string().nullable(),
    task: z.string().nullable(),
    version: z.int(),
    at: z.string(),
  }),
  verified_by: z.string().nullable().describe("The person, or the verifier of a task"),
  verified_at: z.string().nullable(),
  stale_after: z.string().nullable(),
  sources: z.array(
    z.object({
      ref: z.string().describe("source:<path> or file:<path>"),
      lines: z.string().describe("Empty: all of it"),
      state: z
        .enum(["same", "changed", "gone", "not_checked"])
        .describe("Compared with what it said when the passage was verified; not_checked if it was never verified"),
    }),
  ),
  topics: z.array(z.string()).describe("Open topics in which it is disputed or asked about"),
});

export type ShownPassage = z.output<typeof passageShape>;

type About = {
  line?: number;
  longest: number;
  cited: CitedSourceRow[];
  decisions: PassageDecisionRow[];
  openTopics: ReadonlySet<string>;
  pathOf(subject: string): string;
};

export function shownPassage(row: PassageTrustRow, about: About): ShownPassage {
  const { line = 0, longest, cited, decisions, openTopics, pathOf } = about;
  const own = decisions.filter(({ subject, hash }) => subject === row.subject && hash === row.hash);
  return {
    passage: row.hash,
    line,
    heading: row.heading,
    text: cut(row.text, longest),
    state: row.state as TrustState,
    since: row.since,
    causes: parseJsonOr<Cause[]>(row.causes, []).map((cause) => shownCause(cause, pathOf)),
    lost: row.lost as TrustState | null,
    writer: {
      by: row.author,
      how: row.how,
      role: row.role,
      run: row.run,
      task: row.task,
      version: row.version,
      at: row.written_at,
    },
    verified_by: row.verified_by,
    verified_at: row.verified_at,
    stale_after: row.stale_after,
    sources: parseJsonOr<Ref[]>(row.refs, []).map(({ ref, lines }) => {
      const known = cited.find(
        (one) => one.subject === row.subject && one.hash === row.hash && one.ref === ref && one.lines === lines,
      );
      return { ref, lines, state: known ? (known.trouble ?? "same") : "not_checked" };
    }),
    topics: [...new Set(own.flatMap(({ topic_id }) => (topic_id && openTopics.has(topic_id) ? topic_id : [])))],
  };
}

function shownCause(cause: Cause, pathOf: (subject: string) => string): ShownPassage["causes"][number] {
  return {
    kind: cause.kind,
    text: causeText(cause),
    at: cause.at,
    ...("by" in cause ? { by: cause.by } : {}),
    ...("ref" in cause ? { ref: cause.ref } : {}),
    ...("subject" in cause ? { other_path: pathOf(cause.subject) } : {}),
    ...("passage" in cause ? { other_passage: cause.passage } : {}),
    ...("topic_id" in cause && cause.topic_id ? { topic_id: cause.topic_id } : {}),
  };
}

export const cut = (text: string, longest: number) =>
  text.length > longest ? `${text.slice(0, longest - 1).replace(/[\ud800-\udbff]$/, "")}…` : text;

export const parseCounts = (counts: string): Counts => parseJsonOr<Counts>(counts, {});
