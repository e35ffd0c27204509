import type { Toolset, TranscriptEntry } from "../agents/runner.ts";
import { redactor } from "../kernel/redact.ts";
import { storable } from "../kernel/storable.ts";
import { ownerToken } from "../people/token-person.ts";
import { appendJobTranscript } from "../store/queries/job-transcript.ts";
import type { JobTranscriptRow } from "../store/tables.ts";
import type { JobsApp } from "./jobs-app.ts";

/** A call of one of the job's tools. Jobs record it whole, because they have no table of tool calls. */
type ToolCall = { kind: "call"; tool: string; input: string; output: string; ok: boolean; ms: number };

/** Characters of one text of an entry that are kept. */
const longestText = 100_000;
/** Entries of one job that are kept; a program can print without end. */
const mostEntries = 5000;

/**
 * Records what the agent of a job is sent, says and calls, as it happens. Nothing depends on the entries: an error is
 * logged, and the agent goes on.
 */
export function jobTranscript(app: JobsApp, job: string) {
  const redact = redactor(app.config.environment, [ownerToken(app.config.stateFolder)]);
  const waiting: JobTranscriptRow[] = [];
  let count = 0;
  let writing: Promise<void> = Promise.resolve();

  async function write(): Promise<void> {
    const some = waiting.splice(0);
    await app.db
      .write((tx) => appendJobTranscript(tx, some))
      .catch((error) => app.log.warn({ job, error: String(error) }, "transcript-not-recorded"));
  }

  function add(entry: TranscriptEntry | ToolCall): void {
    count += 1;
    if (count > mostEntries) return;
    const isLast = count === mostEntries;
    const text = `more than ${mostEntries} entries; the rest is in the log`;
    const { kind, ...data } = isLast ? { kind: "notice", text } : entry;
    const clean = JSON.stringify(data, (_, value) =>
      typeof value === "string" ? cut(redact(storable(value))) : value,
    );
    waiting.push({ job_id: job, n: count, at: app.now().toISOString(), kind, data: clean });
    if (waiting.length === 1) writing = writing.then(write);
  }

  return { add, flush: () => writing };
}

/** The same tools, whose calls become entries. */
export const recordedTools = (tools: Toolset, add: (entry: ToolCall) => void): Toolset => ({
  ...tools,
  async call(name, raw, key) {
    const begun = Date.now();
    const result = await tools.call(name, raw, key);
    const output = JSON.stringify(result.ok ? result.value : result.problem) ?? "";
    const input = JSON.stringify(raw) ?? "";
    add({ kind: "call", tool: name, input, output, ok: result.ok, ms: Date.now() - begun });
    return result;
  },
});

const cut = (text: string) =>
  text.length <= longestText ? text : `${text.slice(0, longestText)} … (cut, ${text.length} characters)`;
