import * as z from "zod";
import { collaborators, operation } from "../kernel/operation.ts";
import { ok, refuse } from "../kernel/result.ts";
import { parseJsonOr } from "../store/json.ts";
import { noSuch } from "../store/no-such.ts";
import { jobTranscriptPage } from "../store/queries/job-transcript.ts";
import type { JobsApp } from "./jobs-app.ts";

const position = z.string().regex(/^\d{1,15}$/, "expected the cursor of an earlier answer");
/** Characters of all texts of one answer. */
const longestAnswer = 4_000_000;

const entry = z.object({
  n: z.int().describe("Position in the transcript of the job"),
  at: z.string(),
  kind: z
    .enum(["sent", "said", "call", "own_call", "own_result", "steering", "notice", "retry", "printed", "ended"])
    .describe(
      "call: one of our tools; own_call, own_result: a tool of the agent's program; notice: words of the system",
    ),
  text: z.string().describe("The prompt, what was said, or why it ended"),
  system: z.string().optional().describe("Of `sent`: the system prompt"),
  tool: z.string().optional(),
  input: z.string().optional().describe("JSON"),
  output: z.string().optional(),
  ok: z.boolean().optional(),
  ms: z.number().optional(),
  output_tokens: z.number().nullable().optional(),
  cost_usd: z.number().nullable().optional(),
  cut: z.boolean().describe("True if a text was longer than `characters`"),
});

type Entry = z.infer<typeof entry>;

export const jobTranscript = operation({
  name: "job_transcript",
  summary: "Read what the agent of a job was sent, said and called, in order, also while it works.",
  effect: "reads",
  reads: ["job"],
  callers: collaborators,
  group: "review",
  http: { method: "get", path: "/agent/jobs/{id}/transcript" },
  input: z.object({
    id: z.string().max(64).describe("Id of the job"),
    cursor: position.optional().describe("Entries after this one; 0 for the first. Without it, the last entries"),
    before: position.optional().describe("The last entries before this position"),
    limit: z.int().min(1).max(200).default(50).describe("Maximum number of entries"),
    characters: z.int().min(100).max(100_000).default(8000).describe("Maximum length of one text"),
  }),
  output: z.object({
    id: z.string(),
    entries: z.array(entry),
    cursor: z.string().describe("Pass it to get the entries that follow"),
    earlier: z.boolean().describe("True if there may be entries before the first of these"),
    running: z.boolean().describe("True while the job is queued or running"),
  }),
  async run(app: JobsApp, { id, cursor, before, limit, characters }) {
    // Before the page: a job that ends in between has written all it wrote.
    const job = await app.jobs.find(id);
    if (!job) return noSuch(app.db.read, "job", id);
    if (cursor !== undefined && before !== undefined) return refuse("invalid", "send cursor or before, not both");
    const rows = await jobTranscriptPage(app.db.read, {
      job: id,
      after: cursor === undefined ? undefined : Number(cursor),
      before: before === undefined ? undefined : Number(before),
      limit,
    });
    const most = Math.min(characters, Math.floor(longestAnswer / limit));
    const entries = rows.map((row) => shown(row, most));
    const [first, last] = [entries.at(0)?.n, entries.at(-1)?.n];
    return ok({
      id,
      entries,
      cursor: String(last ?? cursor ?? 0),
      earlier: (first ?? 1) > 1,
      running: job.status === "queued" || job.status === "running",
    });
  },
});

function shown(row: { n: number; at: string; kind: string; data: string }, most: number): Entry {
  const data = parseJsonOr<Record<string, unknown>>(row.data, {});
  let cut = data.cut === true;
  const field = (name: string): string | undefined => {
    const value = data[name];
    if (value === undefined || value === null) return undefined;
    const text = typeof value === "string" ? value : JSON.stringify(value);
    if (text.length <= most) return text;
    cut = true;
    return `${text.slice(0, most)} …`;
  };
  const one = (name: "system" | "tool" | "input" | "output") => {
    const text = field(name);
    return text === undefined ? {} : { [name]: text };
  };
  const number = (name: string) => (typeof data[name] === "number" ? { [name]: data[name] } : {});
  const reason = [field("reason"), field("error")].filter(Boolean).join(": ");
  const rest = {
    text: field("prompt") ?? field("text") ?? field("content") ?? reason,
    ...{ ...one("system"), ...one("tool"), ...one("input"), ...one("output") },
    ...(typeof data.ok === "boolean" ? { ok: data.ok } : {}),
    ...{ ...number("ms"), ...number("output_tokens"), ...number("cost_usd") },
  };
  return { n: Number(row.n), at: row.at, kind: row.kind as Entry["kind"], ...rest, cut };
}
