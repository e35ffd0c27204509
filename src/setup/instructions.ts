import { existsSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { ok, type Result, refuse } from "../kernel/result.ts";
import type { Schema } from "../wiki/schema.ts";
import { type Change, readText } from "./change.ts";

const begin = "<!-- scriptorium:begin -->";
const end = "<!-- scriptorium:end -->";

/** The files in which agents look for instructions. */
export const instructionFiles = ["AGENTS.md", "CLAUDE.md"] as const;

/** How an agent uses this wiki: what every session needs to know, in few lines. */
export function instructions(schema: Schema, wiki: string): string {
  const has = (id: string, mode: string) =>
    schema.sections.some((section) => section.id === id && section.mode === mode);
  const log = has("decisions", "log") ? "decisions" : schema.sections.find(({ mode }) => mode === "log")?.id;
  const lines = [
    "- Start of a task: call `list_entries`, then `fetch_entry` for the entries that matter. `search` finds passages.",
    ...(log ? [`- After a decision: \`append_log\` to \`${log}\`, one line with the choice and the reason.`] : []),
    "- A page is out of date: `commit_entry` with its whole new text and the version you fetched. On `conflict`, merge and commit again.",
    ...(has("status", "snapshot")
      ? ["- End of a task: update `status` with what is done, what is open and what comes next."]
      : []),
    ...(schema.pipeline.length > 1 ? ["- End of a turn: `transfer_focus` with a summary for the next role."] : []),
    "- No MCP tools? The command `scribe` does the same: `scribe list-entries`, `scribe fetch-entry --id <id>`.",
  ];
  return [
    begin,
    "## Project memory (Scriptorium)",
    "",
    `The pages in \`${wiki}/\` are this project's memory. Read and write them with the tools of the \`scriptorium\` MCP server, not by editing the files.`,
    "",
    ...lines,
    end,
  ].join("\n");
}

/**
 * The changes that put the block into AGENTS.md, and into CLAUDE.md if it exists or Claude Code is used. CLAUDE.md
 * is left alone when it is a link to AGENTS.md or imports it: Claude Code would read the block twice.
 */
export function instructionChanges(root: string, block: string, withClaude: boolean): Result<Change[]> {
  const changes: Change[] = [];
  for (const shown of instructionFiles) {
    if (shown === "CLAUDE.md" && !withClaude && !existsSync(join(root, shown))) continue;
    const file = join(root, shown);
    const before = readText(file, shown, root);
    if (!before.ok) return before;
    const real = before.value === undefined ? file : realpathSync(file);
    if (changes.some((other) => other.file === real)) continue;
    if (shown === "CLAUDE.md" && /^@(\.\/)?AGENTS\.md\s*$/m.test(before.value ?? "")) continue;
    const after = withBlock(before.value, block, shown);
    if (!after.ok) return after;
    changes.push({ file: real, shown, inside: root, before: before.value, after: after.value });
  }
  return ok(changes.filter(({ before, after }) => before !== after));
}

function withBlock(now: string | undefined, block: string, shown: string): Result<string> {
  if (now === undefined || now.trim() === "") return ok(`${block}\n`);
  const place = findBlock(now, shown);
  if (!place.ok) return place;
  if (place.value) return ok(now.slice(0, place.value.start) + block + now.slice(place.value.end));
  return ok(`${now}${now.endsWith("\n") ? "\n" : "\n\n"}${block}\n`);
}

/** The text without the block; undefined when nothing is left. */
export function withoutBlock(now: string, shown: string): Result<string | undefined> {
  const place = findBlock(now, shown);
  if (!place.ok || !place.value) return place.ok ? ok(now) : place;
  const before = now.slice(0, place.value.start).replace(/\n\n$/, "\n");
  const after = now.slice(place.value.end).replace(/^\r?\n/, "");
  const rest = before + after;
  return ok(rest.trim() === "" ? undefined : rest);
}

function findBlock(text: string, shown: string): Result<{ start: number; end: number } | undefined> {
  const start = text.indexOf(begin);
  if (start < 0) return ok(undefined);
  const stop = text.indexOf(end, start);
  if (stop < 0)
    return refuse("invalid", `${shown} has ${begin} without ${end}; add the end or remove the block by hand`);
  return ok({ start, end: stop + end.length });
}
