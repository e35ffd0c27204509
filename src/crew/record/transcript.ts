import type { TranscriptEntry } from "../../agents/runner.ts";
import { redactor } from "../../kernel/redact.ts";
import { storable } from "../../kernel/storable.ts";
import { ownerToken } from "../../people/token-person.ts";
import type { TranscriptRow } from "../../store/crew-tables.ts";
import { appendTranscript } from "../../store/queries/transcript.ts";
import type { CrewApp } from "./crew-app.ts";

/** Characters of one text of an entry that are kept. */
const longestText = 100_000;
/** Entries of one agent that are kept; a program can print without end. */
const mostEntries = 5000;

/** Removes keys, tokens and passwords of this workspace from a text. */
export const redacting = ({ config }: Pick<CrewApp, "config">, more: readonly string[] = []) =>
  redactor(config.environment, [ownerToken(config.stateFolder), ...more]);

/**
 * Records what an agent is sent, says and calls, as it happens. Entries are written in order, several at once while
 * the store is busy. Nothing depends on them: an error is logged, and the agent goes on.
 */
export function transcriptOf(app: CrewApp, run: string, context: string, secrets: readonly string[]) {
  const redact = redacting(app, secrets);
  const waiting: Omit<TranscriptRow, "run_id" | "n">[] = [];
  let count = 0;
  let writing: Promise<void> = Promise.resolve();

  async function write(): Promise<void> {
    const some = waiting.splice(0);
    await app.db
      .write((tx) => appendTranscript(tx, app.db.engine, run, some))
      .catch((error) => app.log.warn({ run, context, error: String(error) }, "transcript-not-recorded"));
  }

  function add(entry: TranscriptEntry): void {
    count += 1;
    if (count > mostEntries) return;
    const kept: TranscriptEntry =
      count < mostEntries
        ? entry
        : { kind: "notice", text: `more than ${mostEntries} entries; the rest is in the log` };
    const { kind, call = null, ...data } = kept as TranscriptEntry & { call?: string | null };
    const clean = JSON.stringify(data, (_, value) =>
      typeof value === "string" ? cut(redact(storable(value))) : value,
    );
    waiting.push({ context_id: context, at: app.now().toISOString(), kind, call_id: call, data: clean });
    if (waiting.length === 1) writing = writing.then(write);
  }

  return { add, flush: () => writing };
}

export type Transcript = ReturnType<typeof transcriptOf>;

const cut = (text: string) =>
  text.length <= longestText ? text : `${text.slice(0, longestText)} … (cut, ${text.length} characters)`;
