/** The entry point of the bundle that `scriptorium` and `scribe` load; see load-commands.ts. */
export type Commands = {
  runScriptorium(argv: string[]): Promise<void>;
  runScribe(argv: string[]): Promise<void>;
};

export const runScriptorium: Commands["runScriptorium"] = async (argv) =>
  (await import("./cli/program.ts")).runScriptorium(argv);

export const runScribe: Commands["runScribe"] = async (argv) => (await import("./cli/scribe.ts")).runScribe(argv);
