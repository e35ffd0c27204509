import * as z from "zod";
import { operation, people } from "../../kernel/operation.ts";
import { ok, refuse } from "../../kernel/result.ts";
import { parseJsonOr } from "../../store/json.ts";
import { noSuch } from "../../store/no-such.ts";
import { attemptsOf } from "../../store/queries/attempts.ts";
import { hasRunningAgent, type TranscriptLine, transcriptPage } from "../../store/queries/transcript.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { redacting } from "../record/transcript.ts";

const position = z.string().regex(/^\d{1,15}$/, "expected the cursor of an earlier answer");
/** Characters of all texts of one answer. */
const longestAnswer = 4_000_000;

const entry = z.object({
  n: z.int().describe("Position in the transcript of the run"),
  at: z.string(),
  kind: z
    .enum(["sent", "said", "call", "own_call", "own_result", "steering", "notice", "retry", "printed", "ended"])
    .describe(
      "call: one of our tools; own_call, own_result: a tool of the agent's program; steering: a person's message; notice: words of the system",
    ),
  task: z.string().nullable(),
  number: z.string().nullable().describe("Number of the task in the plan"),
  attempt: z.int().nullable(),
  part: z.string(),
  agent: z.string(),
  text: z.string().describe("The prompt, what was said, or why it ended"),
  system: z.string().optional().describe("Of `sent`: the system prompt"),
  tool: z.string().optional(),
  input: z.string().optional().describe("JSON"),
  output: z.string().optional(),
  ok: z.boolean().optional(),
  ms: z.number().optional(),
  sent_by: z.string().optional().describe("Of `steering`: the person"),
  delivered: z.string().optional().describe("Of `steering`: with a turn or with the result of a tool"),
  input_tokens: z.number().nullable().optional(),
  output_tokens: z.number().nullable().optional(),
  cost_usd: z.number().nullable().optional(),
  cut: z.boolean().describe("True if a text was longer than `characters`"),
});

type Entry = z.infer<typeof entry>;

export const runTranscript = operation({
  name: "run_transcript",
  summary: "Read what the agents of a run were sent, said and called, in order, also while they work.",
  effect: "reads",
  reads: ["run", "attempt"],
  callers: people,
  group: "runs",
  http: { method: "get", path: "/runs/{id}/transcript" },
  input: z.object({
    id: z.string().max(64).describe("Id of the run, such as run-…"),
    task: z.string().max(64).optional().describe("Only this task, by its number in the plan or its id"),
    attempt: z.int().min(1).optional().describe("Only this attempt"),
    epoch: z
      .int()
      .min(1)
      .optional()
      .describe("Only the attempt of `task` with this epoch: numbers of attempts repeat after a rerun"),
    part: z
      .enum(["brief", "pm", "preamble", "worker", "qc", "reporter"])
      .optional()
      .describe("Only agents of this part: worker, qc (verifier), pm (planner) and so on"),
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
    more: z.boolean().describe("True if there may be entries after the last of these"),
    running: z.boolean().describe("True while one of these agents works"),
  }),
  async run(app: CrewApp, { id, task: wanted, attempt, epoch, part, cursor, before, limit, characters }) {
    const run = await app.runs.find(id);
    if (!run) return noSuch(app.db.read, "run", id);
    if (cursor !== undefined && before !== undefined) return refuse("invalid", "send cursor or before, not both");
    const tasks = await app.runs.tasks(id);
    const task = tasks.find(({ number, task_id }) => wanted === number || wanted === task_id)?.task_id;
    if (wanted !== undefined && task === undefined)
      return refuse(
        "not_found",
        `run ${id} has no task ${wanted}; it has ${tasks.map(({ number }) => number).join(", ")}`,
      );
    if (epoch !== undefined && task === undefined) return refuse("invalid", "epoch: name the task, too");
    const epochs = epoch === undefined ? undefined : await epochsOf(app, task ?? "", epoch);
    const of = { run: id, task, attempt, epochs, part };
    // Before the page: an agent that ends in between has written all it wrote.
    const running = await hasRunningAgent(app.db.read, of);
    const places = {
      after: cursor === undefined ? undefined : Number(cursor),
      before: before === undefined ? undefined : Number(before),
    };
    const rows = await transcriptPage(app.db.read, { ...of, ...places, limit });
    const most = Math.min(characters, Math.floor(longestAnswer / limit));
    const redact = redacting(app);
    const entries = rows.map((row) => shown(row, most, redact));
    const isFull = rows.length === limit;
    const [first, last] = [entries.at(0)?.n, entries.at(-1)?.n];
    return ok({
      id,
      entries,
      cursor: String(last ?? cursor ?? 0),
      earlier: cursor === undefined ? isFull : (first ?? 1) > 1,
      more: cursor === undefined ? before !== undefined : isFull,
      running,
    });
  },
});

/** The claims of an attempt: its worker's, and those of its verifiers until the next attempt. */
async function epochsOf({ db }: CrewApp, task: string, from: number) {
  const attempts = await attemptsOf(db.read, { task });
  return { from, to: attempts.find((one) => one.epoch > from)?.epoch };
}

function shown(row: TranscriptLine, most: number, redact: (text: string) => string): Entry {
  const data = parseJsonOr<Record<string, unknown>>(row.data, {});
  let cut = data.cut === true;
  const clip = (text: string) => {
    if (text.length <= most) return text;
    cut = true;
    return `${text.slice(0, most)} …`;
  };
  const field = (name: string) => (typeof data[name] === "string" ? clip(data[name]) : undefined);
  const about = {
    n: Number(row.n),
    at: row.at,
    kind: row.kind as Entry["kind"],
    ...{ task: row.task_id, number: row.number, attempt: row.attempt, part: row.part, agent: row.agent },
  };
  const rest = partsOf(row, data, field, (text) => clip(redact(text)));
  return { ...about, ...rest, cut };
}

type Rest = Omit<Entry, "n" | "at" | "kind" | "task" | "number" | "attempt" | "part" | "agent" | "cut">;

function partsOf(
  row: TranscriptLine,
  data: Record<string, unknown>,
  field: (name: string) => string | undefined,
  clean: (text: string) => string,
): Rest {
  switch (row.kind) {
    case "sent":
      return { text: field("prompt") ?? "", system: field("system") ?? "" };
    case "call":
      return {
        text: "",
        tool: row.tool ?? "",
        input: clean(row.input ?? ""),
        output: clean(row.output ?? ""),
        ok: row.ok === 1,
        ms: Number(row.duration_ms ?? 0),
      };
    case "own_call":
      return { text: "", tool: field("tool") ?? "", input: clean(JSON.stringify(data.input) ?? "") };
    case "own_result":
      return { text: "", output: field("output") ?? "", ok: data.ok === true };
    case "steering":
      return { text: field("content") ?? "", sent_by: field("sent_by") ?? "", delivered: field("delivered") ?? "" };
    case "ended": {
      const count = (name: string) => (typeof data[name] === "number" ? data[name] : null);
      return {
        text: [field("reason"), field("error")].filter(Boolean).join(": "),
        ...{ input_tokens: count("input_tokens"), output_tokens: count("output_tokens"), cost_usd: count("cost_usd") },
      };
    }
    default:
      return { text: field("text") ?? "" };
  }
}
