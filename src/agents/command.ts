import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ok } from "../kernel/result.ts";
import { type Control, type Invocation, type Patience, runProcess } from "./process.ts";
import { type Runner, type RunResult, type RunSpec, type Usage, unknownUsage } from "./runner.ts";
import { type OwnFolder, walled } from "./walls.ts";

/** How to start one kind of program for a run, and how to read what it says of itself. */
export type Program = {
  name: string;
  /** `keep` puts a file beside the run, out of the agent's own folder, and gives its path. */
  prepare(spec: RunSpec, keep: (name: string, text: string) => Promise<string>): Promise<Invocation>;
  /** What it keeps of itself between its runs and needs inside walls, such as a login. */
  own?: OwnFolder;
  listener?(limits: RunSpec["limits"]): Listener;
  patience?: Patience;
};

/** Reads a program's own account, line by line. For logs, limits and the record of what was used; never for meaning. */
export type Listener = {
  line(text: string, control: Control): void;
  summary(): { usage: Usage; costUsd: number | null; error?: string };
};

/** Runs a program once for each run. */
export function programRunner(program: Program): Runner {
  return {
    name: program.name,
    async run(spec, signal) {
      const folder = await mkdtemp(join(tmpdir(), "scriptorium-run-"));
      try {
        const keep = async (name: string, text: string) => {
          const file = join(folder, name);
          await writeFile(file, text, { mode: 0o600 });
          return file;
        };
        const prepared = await program.prepare(spec, keep);
        const { walls } = spec;
        const within = walls ? walled(prepared, spec, walls, { kept: folder, folder: program.own }) : ok(prepared);
        if (!within.ok) return notStarted(within.problem.message);
        const listener = program.listener?.(spec.limits);
        const ran = await runProcess(
          {
            ...within.value,
            run: spec.id,
            cwd: spec.cwd,
            limits: spec.limits,
            ...(spec.logFile ? { logFile: spec.logFile } : {}),
            ...(listener ? { onLine: listener.line } : {}),
            ...(program.patience ? { patience: program.patience } : {}),
          },
          signal,
        );
        const { usage, costUsd, error } = listener?.summary() ?? { usage: unknownUsage, costUsd: null };
        const reason = ran.error ?? error;
        return { ...ran, usage, costUsd, ...(reason ? { error: reason } : {}) };
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
  };
}

export const notStarted = (error: string): RunResult => ({
  exitCode: null,
  errorTail: error,
  error,
  ended: "spawn-error",
  usage: unknownUsage,
  costUsd: null,
  durationMs: 0,
});

/**
 * Any command line: `{prompt}`, `{prompt_file}`, `{cwd}`, `{model}` and `{mcp_config}` in an argument
 * stand for what they say; the prompt comes on stdin as well. There is no shell in between.
 */
export const commandRunner = (argv: readonly string[], patience?: Patience): Runner =>
  programRunner({
    name: "command",
    async prepare(spec, keep) {
      const asks = (word: string) => argv.some((part) => part.includes(`{${word}}`));
      const prompt = wholePrompt(spec);
      const values: Record<string, string> = {
        prompt,
        cwd: spec.cwd,
        model: spec.model ?? "",
        prompt_file: asks("prompt_file") ? await keep("prompt.md", prompt) : "",
        mcp_config: asks("mcp_config") ? await keep("mcp.json", mcpConfig(spec)) : "",
      };
      const [command = "", ...args] = argv.map((part) =>
        part.replace(/\{(prompt|prompt_file|cwd|model|mcp_config)\}/g, (_, word: string) => values[word] ?? ""),
      );
      return { command, args, env: spec.env, input: prompt };
    },
    ...(patience ? { patience } : {}),
  });

export const wholePrompt = (spec: RunSpec) => (spec.system ? `${spec.system}\n\n${spec.prompt}` : spec.prompt);

/** The one server an agent is given, in the form that most clients read. */
export const mcpConfig = ({ mcp }: RunSpec) =>
  JSON.stringify({
    mcpServers: mcp ? { [mcp.name]: { command: mcp.command, args: mcp.args, env: mcp.env } } : {},
  });
