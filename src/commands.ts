import type { AgentCall } from "./agent-call.ts";
import type { Result } from "./kernel/result.ts";

/** The entry point of the bundle of all commands; see load-commands.ts. */
export type Commands = {
  runScriptorium(argv: string[]): Promise<void>;
  /** A call of `scribe` that no server answers. */
  performHere(root: string, call: AgentCall): Promise<Result<unknown>>;
};

export const runScriptorium: Commands["runScriptorium"] = async (argv) =>
  (await import("./cli/program.ts")).runScriptorium(argv);

export const performHere: Commands["performHere"] = async (root, call) =>
  (await import("./cli/scribe.ts")).performHere(root, call);
