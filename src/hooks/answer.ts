import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createInterface } from "node:readline";
import * as z from "zod";
import { newTurn } from "../kernel/caller.ts";
import { preferTrusted } from "../search/trusted.ts";
import { openHandoffs } from "../store/queries/handoffs.ts";
import type { WikiApp } from "../wiki/wiki-app.ts";
import { type CatalogueEntry, catalogueText } from "./catalogue.ts";
import { recalledText } from "./recalled.ts";
import { relevant } from "./relevance.ts";
import { hashOf, sessionState } from "./session-state.ts";
import { readTranscript } from "./transcript.ts";

export type HookEvent = "session-start" | "user-prompt" | "stop" | "pre-compact";

/** What clients write on stdin; Claude Code and Codex use the same names. */
export const hookInput = z.looseObject({
  session_id: z.string().max(500).default(""),
  transcript_path: z.string().nullish(),
  source: z.string().optional(),
  prompt: z.string().optional(),
  stop_hook_active: z.boolean().optional(),
});
export type HookInput = z.infer<typeof hookInput>;

/** The text for stdout; undefined when there is nothing to say. */
export const answerHook = (app: WikiApp, event: HookEvent, input: HookInput): Promise<string | undefined> =>
  answers[event](app, input);

const answers: Record<HookEvent, (app: WikiApp, input: HookInput) => Promise<string | undefined>> = {
  "session-start": startSession,
  "user-prompt": recallForPrompt,
  stop: askToRecord,
  "pre-compact": instructCompaction,
};

async function startSession(app: WikiApp, { session_id, source }: HookInput): Promise<string | undefined> {
  const state = sessionState(app.config.stateFolder, session_id);
  // What was added before is no longer in the conversation.
  if (source === "compact" || source === "clear") state.write({ ...state.read(), recalled: [] });
  const tokens = app.config.session.start_tokens;
  const schema = await app.schema();
  if (tokens === 0 || !schema.ok) return undefined;
  const sections = new Map(schema.value.sections.map((section) => [section.id, section]));
  const entries = (await app.entries.list()).flatMap(
    ({ id, version, wordCount: words, updatedAt }): CatalogueEntry[] => {
      const section = sections.get(id);
      if (!section) return [];
      const { mode, writable_by: writableBy, summary = section.description } = section;
      return [{ id, mode, version, words, writableBy, summary, updatedAt: words > 0 ? updatedAt : "" }];
    },
  );
  const handoffs = await openHandoffs(app.db.read);
  const afterCompaction = source === "compact" && app.config.session.ask_to_record;
  return addContext(
    "SessionStart",
    catalogueText({ wiki: app.config.wiki, entries, handoffs, afterCompaction }, tokens),
  );
}

const candidates = 12;
const longestQuery = 2000;
const catchUpMs = 100;

async function recallForPrompt(app: WikiApp, { session_id, prompt = "" }: HookInput): Promise<string | undefined> {
  const tokens = app.config.session.recall_tokens;
  // A command has its own instructions.
  if (tokens === 0 || prompt.trim() === "" || prompt.startsWith("/")) return undefined;
  const query = prompt.slice(0, longestQuery);
  const { hits } = await app.search.find.passages(query, {
    // Entries only: they are written under the schema's rules, sources and pages can be anybody's text.
    scope: app.search.scope({ kind: "agent", role: "", turn: newTurn() }, { kinds: ["entry"] }),
    limit: candidates,
    without: ["meaning", "links"],
    catchUpMs,
  });
  const state = sessionState(app.config.stateFolder, session_id);
  const before = state.read();
  const seen = new Set(before.recalled);
  const { hits: trusted } = await preferTrusted(app, relevant(query, hits));
  // A session gets these passages unasked: withdrawn ones would only mislead it.
  const fresh = trusted
    .filter(({ trust }) => trust !== "withdrawn")
    .filter((hit) => !seen.has(hashOf(`${hit.id} ${hit.body}`)));
  const { text, shown } = recalledText(fresh, tokens);
  if (text === "") return undefined;
  const recalled = shown.map((hit) => hashOf(`${hit.id} ${hit.body}`));
  state.write({ ...before, recalled: [...before.recalled, ...recalled] });
  return addContext("UserPromptSubmit", text);
}

const largestTranscript = 64 * 1024 * 1024;

async function askToRecord(app: WikiApp, input: HookInput): Promise<string | undefined> {
  const { session_id, transcript_path, stop_hook_active } = input;
  if (stop_hook_active || !app.config.session.ask_to_record || !transcript_path) return undefined;
  const state = sessionState(app.config.stateFolder, session_id);
  const before = state.read();
  if (before.asked || (await stat(transcript_path)).size > largestTranscript) return undefined;
  const { root, wiki } = app.config;
  const lines: string[] = [];
  for await (const line of createInterface({ input: createReadStream(transcript_path) })) lines.push(line);
  const { changedFiles, wroteMemory, askedToRemember } = readTranscript(lines, { root, wiki });
  if (wroteMemory || !(changedFiles || askedToRemember)) return undefined;
  state.write({ ...before, asked: true });
  const did = changedFiles ? "changed files" : "was asked to remember something";
  return JSON.stringify({ decision: "block", reason: reminder(did, await logsOf(app)) });
}

const logsOf = async (app: WikiApp) => {
  const schema = await app.schema();
  return schema.ok ? schema.value.sections.filter(({ mode }) => mode === "log").map(({ id }) => id) : [];
};

const reminder = (did: string, logs: string[]) =>
  `This session ${did} and recorded nothing in the shared memory of this repository. ` +
  "If it made a decision, found a cause or learned a rule that later sessions need, record it now in one line: " +
  `append_log${logs.length > 0 ? ` (${logs.slice(0, 5).join(", ")})` : ""}, or commit_entry for an entry that is out of date. ` +
  "If there is nothing of that kind, end your turn without comment. You are asked once per session.";

/** Claude Code adds what this hook prints to the instructions for the summary. */
async function instructCompaction(app: WikiApp): Promise<string | undefined> {
  if (!app.config.session.ask_to_record) return undefined;
  return (
    'End the summary with a list named "Not recorded yet": decisions with their reasons, causes of problems and rules from the person ' +
    "that this session did not write to the shared memory (append_log, commit_entry). Leave the list out if there is nothing."
  );
}

const addContext = (hookEventName: string, additionalContext: string) =>
  JSON.stringify({ hookSpecificOutput: { hookEventName, additionalContext } });
