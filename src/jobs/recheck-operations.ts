import * as z from "zod";
import { noAgent } from "../agents/no-agent.ts";
import { nameOf } from "../kernel/caller.ts";
import { collaborators, operation, people, writers } from "../kernel/operation.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import { placeOf } from "../review/passage-place.ts";
import { proposePage } from "../review/proposals/propose.ts";
import { anchorAt } from "../review/topics/anchor.ts";
import { speaker } from "../review/topics/operations.ts";
import type { Query } from "../store/database.ts";
import { appendEvent } from "../store/events.ts";
import {
  confirmRecheckRow,
  findRecheck,
  hasRecheckOfJob,
  insertRecheck,
  listRechecks,
  type Recheck,
} from "../store/queries/rechecks.ts";
import { pageName, passageName, verifyPassage } from "../trust/operations.ts";
import { passageShape } from "../trust/shown.ts";
import { findText, resolveEvidence, textOfRef } from "./evidence.ts";
import type { JobsApp } from "./jobs-app.ts";
import { checkRequest } from "./material.ts";

const sourcePath = z.string().max(1000).describe("Path of the page: Source path of the job");
const ref = z.string().min(6).max(1000).describe("file:<path>, source:<path> or page:<path>");
const mostLines = 400;

export const recheckPassage = operation({
  name: "recheck_passage",
  summary: "Start an agent that checks a passage against what it cites, the repository and the rest of the wiki.",
  effect: "writes",
  touches: ["job"],
  callers: collaborators,
  group: "review",
  http: { method: "post", path: "/passages/recheck" },
  input: z.object({ id: pageName, passage: passageName }),
  output: z.object({ job_id: z.string(), source_path: z.string(), passage: z.string() }),
  async run(app: JobsApp, { id, passage }, caller) {
    if (!app.config.agent) return noAgent();
    const trusted = app.config.trust.check("agents");
    if (!trusted.ok) return trusted;
    const request = await checkRequest(app, { kind: "recheck", source_path: id, passage });
    if (!request.ok) return request;
    const started = await app.jobs.start({ ...request.value, by: nameOf(caller) });
    if (!started.ok) return started;
    const { id: job_id, source_path } = started.value;
    return ok({ job_id, source_path, passage: request.value.passage ?? passage });
  },
});

export const getPassage = operation({
  name: "get_passage",
  summary: "Read the passage to check: its text, why it is doubted, what it cites, and passages that contradict it.",
  effect: "reads",
  reads: ["trust", "entry", "page", "topic"],
  callers: writers,
  group: "crew",
  audience: "job",
  http: { method: "get", path: "/passages/one" },
  input: z.object({ source_path: sourcePath, passage: passageName }),
  output: z.object({ source_path: z.string(), source_sha: z.string(), passage: passageShape }),
  async run(app: JobsApp, { source_path, passage }) {
    const place = await placeOf(app, source_path, passage);
    if (!place.ok) return place;
    const { page, text, shown } = place.value;
    return ok({ source_path: page.path, source_sha: page.blob, passage: { ...shown, text } });
  },
});

export const readEvidence = operation({
  name: "read_evidence",
  summary: "Read lines of a file of the last commit, of a source or of a page, to quote from them.",
  effect: "reads",
  reads: ["source", "page", "entry"],
  callers: writers,
  group: "crew",
  audience: "job",
  http: { method: "get", path: "/passages/evidence" },
  input: z.object({
    ref,
    from: z.int().min(1).default(1).describe("First line"),
    lines: z.int().min(1).max(mostLines).default(200).describe("Number of lines"),
  }),
  output: z.object({ ref: z.string(), from: z.int(), content: z.string(), total_lines: z.int() }),
  async run(app: JobsApp, { ref, from, lines }) {
    const text = await textOfRef(app, ref);
    if (!text.ok) return text;
    const all = text.value.split("\n");
    const content = all
      .slice(from - 1, from - 1 + lines)
      .join("\n")
      .slice(0, 40_000);
    return ok({ ref, from, content, total_lines: all.length });
  },
});

export const searchEvidence = operation({
  name: "search_evidence",
  summary: "Find lines with a text in the files of the last commit, the sources and the pages.",
  effect: "reads",
  reads: ["source", "page", "entry"],
  callers: writers,
  group: "crew",
  audience: "job",
  http: { method: "get", path: "/passages/evidence/search" },
  input: z.object({
    text: z.string().trim().min(2).max(200).describe("Words of one line, such as the name of a setting"),
  }),
  output: z.object({
    hits: z.array(z.object({ ref: z.string(), line: z.int(), text: z.string() })),
    more: z.boolean().describe("Whether there are more lines; search for a longer text"),
  }),
  run: async (app: JobsApp, { text }) => ok(await findText(app, text)),
});

const evidence = z
  .array(z.object({ ref, quote: z.string().min(1).max(2000).describe("Words copied from it, exactly") }))
  .max(20);
const resolved = z.array(z.object({ ref: z.string(), quote: z.string(), line: z.int(), says: z.string() }));

export const reportRecheck = operation({
  name: "report_recheck",
  summary: "Report what you found about the passage of your job, with quotes that prove it.",
  guidance:
    "holds: everything in the passage is backed by the evidence; a person confirms it. wrong: send `replacement`, the corrected passage; it becomes a proposal. unclear: say what is missing. Each quote is looked up; one that is not there is refused.",
  effect: "writes",
  touches: ["trust", "topic", "proposal", "job"],
  callers: writers,
  group: "crew",
  audience: "job",
  http: { method: "post", path: "/passages/reports" },
  input: z.object({
    source_path: sourcePath,
    passage: passageName,
    outcome: z.enum(["holds", "wrong", "unclear"]),
    note: z.string().trim().min(1, "say what you checked").max(4000).describe("What you checked, and what you found"),
    evidence: evidence.describe("Quotes with their places; required for holds and wrong"),
    replacement: z.string().max(20_000).optional().describe("For wrong: the corrected passage, in markdown"),
  }),
  output: z.object({
    recheck_id: z.string(),
    topic_id: z.string().nullable(),
    proposal_id: z.string().nullable(),
    evidence: resolved,
  }),
  async run(app: JobsApp, { source_path, passage, outcome, note, evidence, replacement }, caller) {
    const job = caller.kind === "agent" ? caller.job : undefined;
    if (job === undefined)
      return refuse("denied", "only the agent of a job of kind recheck reports; a person verifies with verify_passage");
    const place = await placeOf(app, source_path, passage);
    if (!place.ok) return place;
    const { subject, hash, text, page, at } = place.value;
    if (outcome !== "unclear" && evidence.length === 0)
      return refuse("invalid", `evidence: missing; ${outcome} needs at least one quote`);
    if ((outcome === "wrong") !== (replacement !== undefined) && page.entry?.mode !== "log")
      return refuse("invalid", "replacement: send it with the outcome wrong, and with no other");
    if (replacement !== undefined && page.entry?.mode === "log")
      return refuse("invalid", "replacement: lines of a log do not change; report without it, a person is asked");
    const found = evidence.length === 0 ? ok([]) : await resolveEvidence(app, page.path, evidence);
    if (!found.ok) return found;
    const recheck: Recheck = {
      ...{ id: app.newId("rc"), job_id: job, subject, hash, text: text.slice(0, 2000), outcome, note },
      ...{ evidence: found.value, topic_id: null, at: app.now().toISOString(), confirmed_by: null, confirmed_at: null },
    };
    const save = (tx: Query, topic: string | null) => saveRecheck(tx, { ...recheck, topic_id: topic });
    if (outcome === "holds") {
      const saved = await app.db.write((tx) => save(tx, null));
      return saved.ok
        ? ok({ recheck_id: recheck.id, topic_id: null, proposal_id: null, evidence: found.value })
        : saved;
    }
    const kind = replacement === undefined ? "question" : "change";
    const anchor = anchorAt(page.text, at, at + text.length, page.blob);
    const words = { page, kind, text: messageOf(recheck), anchor, mentions: [] } as const;
    const topic = app.topics.begin(words, speaker(caller));
    const open = async (tx: Query) => {
      await topic.save(tx);
      const saved = await save(tx, topic.topic.id);
      if (!saved.ok) throw new Error(saved.problem.message);
    };
    const answer = { recheck_id: recheck.id, topic_id: topic.topic.id, evidence: found.value };
    const known = await isFirst(app.db.read, job);
    if (!known.ok) return known;
    if (replacement === undefined) {
      await app.db.write(open);
      return ok({ ...answer, proposal_id: null });
    }
    const corrected = page.text.slice(0, at) + replacement.trim() + page.text.slice(at + text.length);
    const asked = { baseSha: page.blob, text: corrected };
    const made = await proposePage(app, topic.topic, asked, caller, { openTopic: open });
    return made.ok ? ok({ ...answer, proposal_id: made.value.id }) : made;
  },
});

async function isFirst(tx: Query, job: string): Promise<Result<true>> {
  return (await hasRecheckOfJob(tx, job)) ? refuse("conflict", `job ${job} has reported already; end now`) : ok(true);
}

async function saveRecheck(tx: Query, recheck: Recheck): Promise<Result<true>> {
  const first = await isFirst(tx, recheck.job_id);
  if (!first.ok) return first;
  const { id, job_id, subject, hash, text, outcome, note, topic_id, at } = recheck;
  await insertRecheck(tx, recheck);
  const data = { passage: hash, text: text.slice(0, 200), recheck_id: id, job_id, outcome, note, topic_id };
  await appendEvent(tx, { at, actor: "agent", kind: "passage-rechecked", subject, data });
  return ok(true);
}

const messageOf = ({ outcome, note, evidence }: Recheck): string =>
  [
    outcome === "wrong"
      ? "An agent checked this passage and found it wrong."
      : "An agent checked this passage and could not tell.",
    note,
    ...(evidence.length === 0
      ? []
      : [evidence.map(({ ref, line, quote }) => `- \`${ref}:${line}\`: ${quote.replaceAll(/\s+/g, " ")}`).join("\n")]),
  ].join("\n\n");

const shownRecheck = z.object({
  id: z.string(),
  job_id: z.string(),
  source_path: z.string(),
  passage: z.string(),
  text: z.string(),
  outcome: z.enum(["holds", "wrong", "unclear"]),
  note: z.string(),
  evidence: resolved,
  topic_id: z.string().nullable().describe("With the corrected text, or the question to people"),
  at: z.string(),
  confirmed_by: z.string().nullable(),
  confirmed_at: z.string().nullable(),
});

const show = (app: JobsApp, { subject, hash, ...row }: Recheck): z.output<typeof shownRecheck> => ({
  ...row,
  source_path: app.trust.pathOf(subject),
  passage: hash,
});

export const listRechecksOf = operation({
  name: "list_rechecks",
  summary: "List what agents found when they checked passages, newest first.",
  effect: "reads",
  reads: ["trust", "job"],
  callers: people,
  group: "review",
  http: { method: "get", path: "/passages/rechecks" },
  input: z.object({
    id: pageName.optional(),
    limit: z.int().min(1).max(200).default(50).describe("Maximum number of rechecks"),
  }),
  output: z.object({ rechecks: z.array(shownRecheck) }),
  async run(app: JobsApp, { id, limit }) {
    const page = id === undefined ? undefined : await app.trust.page(id);
    if (page && !page.ok) return page;
    const rows = await listRechecks(app.db.read, page?.value.subject, limit);
    return ok({ rechecks: rows.map((row) => show(app, row)) });
  },
});

export const confirmRecheck = operation({
  name: "confirm_recheck",
  summary: "Verify a passage that an agent checked and found to hold.",
  effect: "writes",
  touches: ["trust", "entry"],
  callers: collaborators,
  group: "review",
  http: { method: "post", path: "/passages/rechecks/{id}/confirm" },
  decision: true,
  input: z.object({ id: z.string().max(64).describe("Id of the recheck, such as rc-…") }),
  output: shownRecheck,
  async run(app: JobsApp, { id }, caller) {
    const found = await findRecheck(app.db.read, id);
    if (!found) return refuse("not_found", `recheck ${id} does not exist; list_rechecks shows what there is`);
    if (found.outcome !== "holds")
      return refuse(
        "conflict",
        `recheck ${id} found the passage ${found.outcome}; only one that holds can be confirmed`,
      );
    const by = nameOf(caller);
    const at = app.now().toISOString();
    const wanted = {
      id: app.trust.pathOf(found.subject),
      passage: found.hash,
      note: `recheck ${id}: ${found.note}`.slice(0, 2000),
    };
    const verified = await verifyPassage.perform(app, wanted, caller);
    if (!verified.ok) return verified;
    if (!(await app.db.write((tx) => confirmRecheckRow(tx, id, by, at))))
      return refuse("conflict", `recheck ${id} was confirmed already`);
    return ok(show(app, { ...found, confirmed_by: by, confirmed_at: at }));
  },
});
