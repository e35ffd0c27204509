import { AsyncLocalStorage } from "node:async_hooks";
import type { Readable, Writable } from "node:stream";
import { ancestors, type ProcessInfo } from "../agents/ancestors.ts";
import { type Environment, environment } from "../config/environment.ts";
import { printable } from "./text.ts";

/** The streams, environment, folder and exit code of one command. */
export type Shell = {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly env: Environment;
  readonly cwd: string;
  /** The processes that this command descends from, nearest first. */
  ancestors(): Promise<readonly ProcessInfo[]>;
  exitCode: number;
};

/** The shell of this process. */
const processShell: Shell = {
  // Getters: opening stdin has side effects, and scribe is started often.
  get stdin() {
    return process.stdin;
  },
  get stdout() {
    return process.stdout;
  },
  get stderr() {
    return process.stderr;
  },
  get env() {
    return environment();
  },
  get cwd() {
    return process.cwd();
  },
  ancestors: () => ancestors(),
  get exitCode() {
    return Number(process.exitCode ?? 0);
  },
  set exitCode(code) {
    process.exitCode = code;
  },
};

const current = new AsyncLocalStorage<Shell>();

/** The shell of the command that is running: one process may run several at once. */
export const shell = (): Shell => current.getStore() ?? processShell;

/** The secret of the caller's claim from the environment: an argument would show in the list of processes. */
export function claimSecret(): { secret?: string } {
  const secret = shell().env.SCRIPTORIUM_CLAIM_SECRET;
  return secret ? { secret } : {};
}

export const runInShell = <T>(own: Shell | undefined, work: () => Promise<T>): Promise<T> =>
  own ? current.run(own, work) : work();

/** Ends the process of the command at once, with work still in progress; a command inside another process just returns. */
export function endProcess(): void {
  if (!current.getStore()) process.exit(processShell.exitCode);
}

/** Every command prints through these two, so that none can print hidden characters or control sequences. */
export const writeOut = (text: string): boolean => shell().stdout.write(printable(text));
export const writeErr = (text: string): boolean => shell().stderr.write(printable(text));

/** For what concerns every command, such as a broken schema.yaml; results and problems are printed as before. */
export const warn = (text: string): boolean => writeErr(`warning: ${text}\n`);
