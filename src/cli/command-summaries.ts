import { commandNames, loadCommand } from "./commands.ts";

/** What the help of the program says about each command. The build replaces this module by its value: scripts/build-constants.mjs. */
export const summaries: Record<string, string> = Object.fromEntries(
  await Promise.all(commandNames.map(async (name) => [name, (await loadCommand(name, () => ({}))).description()])),
);
