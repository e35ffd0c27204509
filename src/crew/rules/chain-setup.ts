import type { Section, Trouble } from "./chain-text.ts";
import { commandText, parsed, quoted, words } from "./chain-words.ts";
import type { Setup } from "./plan.ts";

const line = new RegExp(`^(?:run (${words})|input (${quoted}))$`, "s");

/** One line for each command, then one for each file that decides whether they must run again. */
export const setupLines = (setup: Setup | undefined): string[] =>
  setup === undefined
    ? []
    : [
        ...(setup.run.length === 0 ? ["- none"] : []),
        ...setup.run.map((command) => `- run ${commandText(command)}`),
        ...setup.inputs.map((path) => `- input ${JSON.stringify(path)}`),
      ];

export function readSetup({ body, line: heading }: Section, trouble: Trouble): { run: unknown[]; inputs: unknown[] } {
  const setup: { run: unknown[]; inputs: unknown[] } = { run: [], inputs: [] };
  let isNone = false;
  for (const { line: at, text } of body) {
    if (text.trim() === "") continue;
    if (/^[-*] none$/.test(text.trim())) {
      isNone = true;
      continue;
    }
    const found = line.exec(/^[-*] (.*)$/s.exec(text)?.[1]?.trim() ?? "");
    const [list, value] = found?.[1]
      ? (["run", parsed(found[1])] as const)
      : (["inputs", parsed(found?.[2] ?? "")] as const);
    if (!found || value === undefined) {
      trouble.add(at, 'expected - run ["npm", "ci"], - input "package-lock.json" or - none');
      continue;
    }
    trouble.at(`setup.${list}.${setup[list].length}`, at);
    setup[list].push(value);
  }
  if (isNone === setup.run.length > 0)
    trouble.add(
      heading,
      isNone ? "expected commands, or - none, not both" : "expected at least one command, or - none",
    );
  return setup;
}
