import type { Section, Trouble } from "./chain-text.ts";
import { commandText, parsed, quoted, words } from "./chain-words.ts";
import type { Check, Criterion } from "./plan.ts";

const program = new RegExp(String.raw`^run (${words})(?: exits (\d{1,3}))?(?: prints (${quoted}))?$`, "s");
const assertion = new RegExp(`^file (${quoted}) (?:(exists|is absent)|(contains|lacks) (${quoted}))$`, "s");

const forms =
  'expected run ["npm", "test"], or file "src/main.ts" with exists, is absent, contains "words" or lacks "words"';

/** One numbered line each, and below it how a program can tell. Values are JSON, so that any text fits. */
export const criteriaLines = (criteria: Criterion[]): string[] =>
  criteria.flatMap(({ criterion, check }, i) => [
    `${i + 1}. ${criterion}`,
    ...(check ? [`   - ${checkLine(check)}`] : []),
  ]);

/** A check in words, as the plan's file has it. */
export function checkLine(check: Check): string {
  if ("run" in check) {
    const exits = check.exits === 0 ? "" : ` exits ${check.exits}`;
    const prints = check.prints === undefined ? "" : ` prints ${JSON.stringify(check.prints)}`;
    return `run ${commandText(check.run)}${exits}${prints}`;
  }
  const file = `file ${JSON.stringify(check.file)}`;
  if ("contains" in check) return `${file} contains ${JSON.stringify(check.contains)}`;
  if ("lacks" in check) return `${file} lacks ${JSON.stringify(check.lacks)}`;
  return `${file} ${check.exists ? "exists" : "is absent"}`;
}

export function readCriteria({ body }: Section, path: string, trouble: Trouble): unknown[] {
  const criteria: { criterion: string; check?: unknown }[] = [];
  for (const { line, text } of body) {
    if (text.trim() === "") continue;
    const item = /^(?:\d+\.|[-*]) (.*)$/s.exec(text);
    const below = /^\s+[-*] (.*)$/s.exec(text);
    const last = criteria.at(-1);
    if (item) {
      trouble.at(`${path}.${criteria.length}`, line);
      criteria.push({ criterion: item[1] ?? "" });
    } else if (!below || !last) {
      trouble.add(line, "expected a criterion: one line that starts with its number and a full stop");
    } else if (last.check !== undefined) {
      trouble.add(line, "a criterion has one check; add another criterion for the second check");
    } else {
      last.check = readCheck(below[1] ?? "");
      if (last.check === undefined) trouble.add(line, forms);
    }
  }
  return criteria;
}

function readCheck(text: string): unknown {
  const ran = program.exec(text.trim());
  const run = ran && parsed(ran[1] ?? "");
  if (ran && run) return { run, exits: Number(ran[2] ?? 0), ...(ran[3] ? { prints: parsed(ran[3]) } : {}) };
  const found = assertion.exec(text.trim());
  if (!found) return undefined;
  const file = parsed(found[1] ?? "");
  return found[2] ? { file, exists: found[2] === "exists" } : { file, [found[3] ?? ""]: parsed(found[4] ?? "") };
}
