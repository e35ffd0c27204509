import { parseJsonOr } from "../../store/json.ts";
import type { RecordedCall } from "./evidence.ts";

/** A command that an agent ran, and its exit code; null if it was stopped. */
export type RanCommand = { command: string; exit: number | null };

const longest = 200;

export const commandsOf = (calls: readonly RecordedCall[]): RanCommand[] =>
  calls
    .filter(({ name, ok }) => name === "run_command" && ok)
    .map(({ input, output }) => {
      const { run } = parseJsonOr<{ run?: unknown }>(input, {});
      const command = Array.isArray(run) ? run.join(" ") : input;
      return { command: command.replaceAll(/\s+/g, " ").slice(0, longest), exit: exitOf(output) };
    });

/** The answer may be cut in the record; the exit code comes first in it. */
function exitOf(output: string): number | null {
  const [, code] = /"exit":(-?\d+)/.exec(output) ?? [];
  return code === undefined ? null : Number(code);
}

const saysSuccess =
  /\b(tests?|suite|specs?|build|lint(er)?|type ?checks?|compil\w+)\b[^.\n]{0,60}\b(pass(es|ed|ing)?|green|succe\w+|clean(ly)?)\b|\b(pass(es|ed|ing)|green)\b[^.\n]{0,30}\b(tests?|suite|specs?)\b/i;

/** The worker's words that its commands do not support, whether it listed them as statements or not. */
export const unsupportedWords = (output: string, commands: readonly RanCommand[]): string[] => {
  const [words] = saysSuccess.exec(output) ?? [];
  if (words === undefined || commands.some(({ exit }) => exit === 0)) return [];
  return [`"${words}" (no command of this attempt ended with exit code 0)`];
};
