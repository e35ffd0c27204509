import { type Patience, runProcess } from "./process.ts";
import type { Ended } from "./runner.ts";
import type { Place, Sandbox } from "./sandbox.ts";

export type Ran = {
  exitCode: number | null;
  ended: Ended;
  /** The beginning and the end of what it printed on stdout, then on stderr. */
  output: string;
  error?: string;
  durationMs: number;
};

type Options = { run: string; wallMs: number; signal: AbortSignal; mostCharacters?: number };

const impatience: Patience = { interruptMs: 300, terminateMs: 700 };

/** Runs one command in its place, to its end or to the end of its time. What it prints is kept within bounds. */
export async function runBounded(
  sandbox: Sandbox,
  argv: readonly [string, ...string[]],
  place: Place,
  { run, wallMs, signal, mostCharacters = 20_000 }: Options,
): Promise<Ran> {
  const printed = ends(mostCharacters);
  const decoder = new TextDecoder();
  const wrapped = sandbox.wrap(argv, place);
  const { exitCode, ended, errorTail, error, durationMs } = await runProcess(
    {
      ...wrapped,
      run,
      cwd: place.folder,
      input: "",
      limits: { wallMs },
      onOutput: (chunk) => printed.add(decoder.decode(chunk, { stream: true })),
      patience: impatience,
    },
    signal,
  );
  const output = [printed.text(), errorTail].filter((part) => part !== "").join("\n");
  return { exitCode, ended, output, durationMs, ...(error ? { error } : {}) };
}

/** A text of which only the first and the last part are kept. */
function ends(most: number) {
  let first = "";
  let last = "";
  let length = 0;
  const half = Math.floor(most / 2);
  return {
    add(text: string) {
      length += text.length;
      const room = half - first.length;
      first += text.slice(0, Math.max(0, room));
      last = (last + text.slice(Math.max(0, room))).slice(-half);
    },
    text: () =>
      length <= first.length + last.length ? first + last : `${first}\n… (cut, ${length} characters in all)\n${last}`,
  };
}
