import { spawn } from "node:child_process";

/**
 * The only place that starts git. Limits, environment and protection from the repository's own
 * configuration are decided here, for every call.
 */

export type GitOutput = { code: number; stdout: Buffer; stderr: string };
export type GitInput = string | Buffer | (string | Buffer)[];

type Options = {
  cwd: string;
  /** From `gitEnvironment`. */
  env: Record<string, string>;
  input?: GitInput | undefined;
  timeoutMs?: number;
  maxBytes?: number;
};

/** A git command that failed, could not be started or exceeded a limit. */
export class GitError extends Error {
  constructor(
    message: string,
    /** Undefined when git did not exit by itself. */
    readonly code: number | undefined,
    readonly stderr: string,
  ) {
    super(message);
    this.name = "GitError";
  }
}

const defaultTimeoutMs = 10 * 60_000;
const defaultMaxBytes = 512 * 1024 * 1024;
const keptStderr = 64 * 1024;

/** Runs git to its end and returns its output, whatever the exit code. */
export function runGit(args: string[], options: Options): Promise<GitOutput> {
  const { cwd, env, input, timeoutMs = defaultTimeoutMs, maxBytes = defaultMaxBytes } = options;
  return new Promise((done, fail) => {
    const child = spawn("git", [...isolation, "-C", cwd, ...args], { env, stdio: ["pipe", "pipe", "pipe"] });
    const stdout: Buffer[] = [];
    let bytes = 0;
    let stderr = "";
    let exceeded: string | undefined;
    const stop = (reason: string) => {
      exceeded ??= reason;
      child.kill("SIGKILL");
    };
    const timer = setTimeout(() => stop(`timed out after ${timeoutMs / 1000} s`), timeoutMs);

    child.stdout.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) stop(`printed more than ${maxBytes} bytes`);
      else stdout.push(chunk);
    });
    child.stderr.on("data", (chunk: Buffer) => {
      stderr = (stderr + chunk.toString("utf8")).slice(-keptStderr);
    });
    child.on("error", (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      const missing = "git is not installed; Scriptorium needs it for the history of the wiki";
      fail(error.code === "ENOENT" ? new GitError(missing, undefined, "") : error);
    });
    child.on("close", (code) => {
      clearTimeout(timer);
      if (exceeded) fail(new GitError(`git ${nameOf(args)} ${exceeded}`, undefined, stderr));
      else done({ code: code ?? 1, stdout: Buffer.concat(stdout), stderr });
    });
    // Git may exit before it has read all input; its exit code then says why.
    child.stdin.on("error", () => undefined);
    for (const part of input === undefined ? [] : [input].flat()) child.stdin.write(part);
    child.stdin.end();
  });
}

/** The error for an exit code that the caller did not expect. */
export const failedGit = (args: string[], { code, stderr }: GitOutput) =>
  new GitError(`git ${nameOf(args)} failed (${code}): ${stderr.trim()}`, code, stderr);

/** The subcommand: options before it and the values of -c and -C are skipped. */
const nameOf = (args: string[]) =>
  args.find((arg, at) => !arg.startsWith("-") && !takesValue.has(args[at - 1] ?? "")) ?? "";
const takesValue = new Set(["-c", "-C", "--git-dir", "--work-tree"]);

/** Overrides configuration of the repository that would run programs, reach the network or lose writes. */
const isolation = [
  ["core.hooksPath", "/dev/null"],
  ["core.fsmonitor", "false"],
  ["protocol.ext.allow", "never"],
  ["gc.auto", "0"],
  ["core.fsync", "all"],
  ["core.fsyncMethod", "batch"],
  ["core.quotePath", "false"],
].flatMap(([key, value]) => ["-c", `${key}=${value}`]);

const inherited = /^(PATH|HOME|USER|LANG|LC_\w+|TMPDIR|XDG_CONFIG_HOME)$/;

/** Passes on a few variables only: inherited GIT_* would redirect git to another repository, index or program. */
export function gitEnvironment(environment: Record<string, string | undefined>): Record<string, string> {
  const passed = Object.entries(environment).filter(
    (pair): pair is [string, string] => pair[1] !== undefined && inherited.test(pair[0]),
  );
  return { ...Object.fromEntries(passed), GIT_TERMINAL_PROMPT: "0", GIT_OPTIONAL_LOCKS: "0", LC_ALL: "C" };
}
