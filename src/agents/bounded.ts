import { storable } from "../kernel/storable.ts";
import { runProcess, type StopTimeouts } from "./process.ts";
import type { EndReason } from "./runner.ts";
import type { Sandbox, SandboxAccess } from "./sandbox/access.ts";

export type CommandResult = {
  exitCode: number | null;
  ended: EndReason;
  /** The beginning and end of stdout, then the end of stderr. */
  output: string;
  /** The end of stderr. */
  errorTail: string;
  error?: string;
  durationMs: number;
};

type Options = {
  run: string;
  wallMs: number;
  signal: AbortSignal;
  maxCharacters?: number;
  /** Gets the whole output, stdout and stderr as they come. */
  logFile?: string;
};

const stopTimeouts: StopTimeouts = { interruptMs: 300, terminateMs: 700 };

/** Runs one command in a sandbox with a time limit; keeps at most `maxCharacters` of its output. */
export async function runBounded(
  sandbox: Sandbox,
  argv: readonly [string, ...string[]],
  access: SandboxAccess,
  { run, wallMs, signal, maxCharacters = 20_000, logFile }: Options,
): Promise<CommandResult> {
  const printed = headAndTail(maxCharacters);
  const decoder = new TextDecoder();
  const wrapped = sandbox.wrap(argv, access);
  const { exitCode, ended, errorTail, error, durationMs } = await runProcess(
    {
      ...wrapped,
      run,
      cwd: access.folder,
      input: "",
      limits: { wallMs },
      ...(logFile ? { logFile } : {}),
      onOutput: (chunk) => printed.add(decoder.decode(chunk, { stream: true })),
      stopTimeouts,
    },
    signal,
  );
  const output = storable([printed.text(), errorTail].filter((part) => part !== "").join("\n"));
  return { exitCode, ended, output, errorTail: storable(errorTail), durationMs, ...(error ? { error } : {}) };
}

/** Collects a text, keeping only its first and last part. */
function headAndTail(max: number) {
  let first = "";
  let last = "";
  let length = 0;
  const half = Math.floor(max / 2);
  return {
    add(text: string) {
      length += text.length;
      const room = half - first.length;
      first += text.slice(0, Math.max(0, room));
      last = (last + text.slice(Math.max(0, room))).slice(-half);
    },
    text: () =>
      length <= first.length + last.length
        ? first + last
        : `${first}\n… (truncated, ${length} characters in total)\n${last}`,
  };
}
