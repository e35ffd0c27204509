import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ok } from "../../kernel/result.ts";
import { type ConfigFolder, inSandbox } from "../agent-sandbox.ts";
import { knownProgram, loginHosts } from "../known-programs.ts";
import { type AgentNetwork, openNetwork } from "../network/agent-network.ts";
import { type ModelAccess, modelAccess } from "../network/model-server.ts";
import { type Control, type Invocation, runProcess, type StopTimeouts } from "../process.ts";
import { checkProgram } from "../program.ts";
import { type EndReason, type Runner, type RunResult, type RunSpec, unknownUsage } from "../runner.ts";
import type { SandboxPolicy } from "../sandbox.ts";
import type { Listener } from "./listener.ts";
import { transcriptReader } from "./transcript.ts";

/** The command line of a program. `env` has only variables beyond those of the run: keys are added by `programRunner`. */
type Prepared = Omit<Invocation, "env"> & Partial<Pick<Invocation, "env">>;

/** How to start one kind of agent program, and how to read its output. */
export type Program = {
  name: string;
  /** The program that it starts: a name on PATH or a path. */
  bin: string;
  /** `keep` writes a file outside the agent's folder, for the duration of the run, and returns its path. */
  prepare(spec: RunSpec, keep: (name: string, text: string) => Promise<string>): Promise<Prepared>;
  /** Files that it needs inside a sandbox too, such as a login. */
  config?: ConfigFolder;
  /** Its model servers, if it does not take them from the usual variables. */
  modelAccess?(env: Record<string, string>, relay: string): Promise<ModelAccess>;
  /** The budget limits that stop it while it works. */
  enforces?: Runner["enforces"];
  listener?(limits: RunSpec["limits"], onRetry?: RunSpec["onRetry"]): Listener;
  stopTimeouts?: StopTimeouts;
};

export function programRunner(program: Program): Runner {
  return {
    name: program.name,
    ...(program.enforces ? { enforces: program.enforces } : {}),
    check: ({ env, cwd }) => checkProgram(program.bin, env, cwd),
    async run(spec, signal) {
      const folder = await mkdtemp(join(tmpdir(), "scriptorium-run-"));
      let network: ProgramNetwork | undefined;
      try {
        const keep = async (name: string, text: string) => {
          const file = join(folder, name);
          await writeFile(file, text, { mode: 0o600 });
          return file;
        };
        const policy = spec.sandboxPolicy;
        network = policy && (await networkFor(program, spec, policy, folder));
        const { env, ...command } = await program.prepare(spec, keep);
        const prepared = {
          ...command,
          args: [...(network?.args ?? []), ...command.args],
          env: { ...(network?.env ?? spec.env), ...env },
        };
        const invocation =
          policy && network
            ? inSandbox(prepared, spec, policy, { kept: folder, config: network.config, network })
            : ok(prepared);
        if (!invocation.ok) return notStarted(invocation.problem.message);
        const listener = program.listener?.(spec.limits, spec.onRetry);
        const transcript = spec.onEntry && transcriptReader(program.name, spec.mcp?.name);
        const onLine = (line: string, control: Control) => {
          listener?.line(line, control);
          for (const entry of transcript?.line(line) ?? []) spec.onEntry?.(entry);
        };
        const result = await runProcess(
          {
            ...invocation.value,
            run: spec.id,
            cwd: spec.cwd,
            limits: spec.limits,
            ...(spec.logFile ? { logFile: spec.logFile } : {}),
            onLine,
            ...(program.stopTimeouts ? { stopTimeouts: program.stopTimeouts } : {}),
          },
          signal,
        );
        for (const entry of transcript?.end() ?? []) spec.onEntry?.(entry);
        const summary = listener?.summary() ?? { usage: unknownUsage, costUsd: null };
        const { error, hasBegun: _, ...rest } = summary;
        const reason = result.error ?? error;
        const itself = howEnded(summary);
        const ended = result.ended === "exit" ? itself : result.ended;
        const destinations = (await network?.close()) ?? null;
        return { ...result, ...rest, ended, destinations, ...(reason ? { error: reason } : {}) };
      } finally {
        await network?.close();
        await rm(folder, { recursive: true, force: true });
      }
    },
  };
}

function howEnded({ reached, outage, hasBegun = true }: ReturnType<Listener["summary"]>): EndReason {
  if (reached) return "limit";
  if (outage && (hasBegun || outage === "passes")) return "outage";
  return hasBegun ? "exit" : "spawn-error";
}

export const notStarted = (error: string): RunResult => ({
  exitCode: null,
  errorTail: error,
  error,
  ended: "spawn-error",
  usage: unknownUsage,
  costUsd: null,
  durationMs: 0,
  destinations: null,
});

type ProgramNetwork = AgentNetwork & { config: ConfigFolder | undefined };

/** A program with a key gets its model through the relay and no login; one with a login reaches the hosts of its API. */
async function networkFor(
  program: Program,
  { env }: RunSpec,
  { network: policy, sandbox }: SandboxPolicy,
  folder: string,
): Promise<ProgramNetwork> {
  const login = knownProgram(program.bin)?.login;
  const access = async (relay: string) => (program.modelAccess ?? modelAccess)(env, relay);
  const network = await openNetwork({ policy, sandbox, folder, env, access, loginHosts: loginHosts(login, env) });
  const isShared = (file: string) => network.needsLogin || file !== login?.folder?.file;
  const config = program.config && { ...program.config, files: program.config.files.filter(isShared) };
  return { ...network, config };
}

/**
 * Any command line, started without a shell. `{prompt}`, `{prompt_file}`, `{cwd}`, `{model}` and `{mcp_config}` are
 * substituted in its arguments; the prompt is also written to stdin.
 */
export const commandRunner = (argv: readonly string[], stopTimeouts?: StopTimeouts): Runner =>
  programRunner({
    name: "command",
    bin: argv[0] ?? "",
    async prepare(spec, keep) {
      const uses = (word: string) => argv.some((part) => part.includes(`{${word}}`));
      const prompt = wholePrompt(spec);
      const values: Record<string, string> = {
        prompt,
        cwd: spec.cwd,
        model: spec.model ?? "",
        prompt_file: uses("prompt_file") ? await keep("prompt.md", prompt) : "",
        mcp_config: uses("mcp_config") ? await keep("mcp.json", mcpConfig(spec)) : "",
      };
      const [command = "", ...args] = argv.map((part) =>
        part.replace(/\{(prompt|prompt_file|cwd|model|mcp_config)\}/g, (_, word: string) => values[word] ?? ""),
      );
      return { command, args, input: prompt };
    },
    ...(stopTimeouts ? { stopTimeouts } : {}),
  });

export const wholePrompt = (spec: RunSpec) => (spec.system ? `${spec.system}\n\n${spec.prompt}` : spec.prompt);

/** The run's MCP server in the configuration format that most clients read. */
export const mcpConfig = ({ mcp }: RunSpec) =>
  JSON.stringify({
    mcpServers: mcp ? { [mcp.name]: { command: mcp.command, args: mcp.args, env: mcp.env } } : {},
  });
