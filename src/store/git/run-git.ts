import { spawn } from "node:child_process";

/**
 * The only place that starts git, but for `push.ts`, which a person's command starts with their credentials. Limits, environment and protection from the repository's own
 * configuration are decided here, for every call. Three rules keep a repository from running programs:
 *
 * 1. Only the commands listed below start, each with options that switch its programs off.
 * 2. `isolation` and `gitEnvironment` override the settings that Scriptorium never needs: hooks, monitors,
 *    signatures, editors, transports.
 * 3. Filters and merge drivers, which git needs for correct content, run as the person configured them; those
 *    of the repository's own configuration are replaced until they are allowed (`repository-programs.ts`).
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
    const child = spawn("git", [...isolation, "-C", cwd, ...withSafeOptions(args)], {
      env,
      stdio: ["pipe", "pipe", "pipe"],
    });
    const stdout: Buffer[] = [];
    let bytes = 0;
    let stderr = "";
    let exceeded: string | undefined;
    const stop = (reason: string) => {
      exceeded ??= reason;
      child.kill("SIGKILL");
    };
    const timer = setTimeout(() => stop(`timed out after ${timeoutMs / 1000} s`), timeoutMs);

    child.on("error", (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      const missing = "git is not installed; Scriptorium needs it for the history of the wiki";
      fail(error.code === "ENOENT" ? new GitError(missing, undefined, "") : error);
    });
    // Without a file descriptor for its pipes (EMFILE) there are none; the error follows.
    if (!(child.stdout as unknown)) return;
    child.stdout.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) stop(`printed more than ${maxBytes} bytes`);
      else stdout.push(chunk);
    });
    child.stderr.on("data", (chunk: Buffer) => {
      stderr = (stderr + chunk.toString("utf8")).slice(-keptStderr);
    });
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      if (signal && !exceeded) stderr = `${stderr}\n${endedBy(signal)}`.trim();
      if (exceeded) fail(new GitError(`git ${commandIn(args)} ${exceeded}`, undefined, stderr));
      else done({ code: code ?? 1, stdout: Buffer.concat(stdout), stderr });
    });
    // Git may exit before it has read all input; its exit code then says why.
    child.stdin.on("error", () => undefined);
    for (const part of input === undefined ? [] : [input].flat()) child.stdin.write(part);
    child.stdin.end();
  });
}

/** Git does not ignore the signal of a limit on the size of files (ulimit -f), as Node does. */
const endedBy = (signal: string) => (signal === "SIGXFSZ" ? "file too large" : `ended by ${signal}`);

/** The error for an exit code that the caller did not expect. */
export const failedGit = (args: string[], { code, stderr }: GitOutput) =>
  new GitError(`git ${commandIn(args)} failed (${code}): ${stderr.trim()}`, code, stderr);

/** The command among the arguments of git. */
export const commandIn = (args: string[]) => args[commandAt(args)] ?? "";

/** The position of the command: options before it and the values of -c and -C are skipped. */
const commandAt = (args: string[]) =>
  args.findIndex((arg, at) => !arg.startsWith("-") && !takesValue.has(args[at - 1] ?? ""));
const takesValue = new Set(["-c", "-C", "--git-dir", "--work-tree"]);

/** True for commands that never read the content of files, and so never run a filter or merge driver. */
export const isContentFree = (args: string[]) => contentFree.has(commandIn(args));
const contentFree = new Set([
  "config",
  "count-objects",
  "for-each-ref",
  "init",
  "rev-parse",
  "show-ref",
  "symbolic-ref",
  "update-ref",
  "version",
]);

const rawDiff = ["--no-ext-diff", "--no-textconv"];

/** The commands that Scriptorium runs, with the options that keep each from running programs. */
const commands: Record<string, string[]> = {
  add: [],
  bundle: [],
  "cat-file": [],
  "check-attr": [],
  "check-ignore": [],
  checkout: ["--no-recurse-submodules"],
  "checkout-index": [],
  commit: ["--no-verify", "--no-gpg-sign"],
  "commit-tree": [],
  config: [],
  diff: [...rawDiff, "--no-color", "--submodule=short", "--ignore-submodules=dirty"],
  "diff-files": rawDiff,
  "diff-index": rawDiff,
  "diff-tree": rawDiff,
  "fast-import": [],
  "count-objects": [],
  "for-each-ref": [],
  grep: ["--no-textconv", "--no-color"],
  "hash-object": [],
  "index-pack": [],
  init: [],
  log: [...rawDiff, "--no-color", "--no-show-signature"],
  "ls-files": [],
  "ls-tree": [],
  "merge-base": [],
  "merge-tree": [],
  mktree: [],
  "pack-objects": [],
  "read-tree": [],
  reset: [],
  gc: [],
  "rev-list": [],
  "rev-parse": [],
  rm: [],
  "show-ref": [],
  // Git would start itself in every submodule, under the configuration of that repository.
  status: ["--ignore-submodules=dirty"],
  "symbolic-ref": [],
  "update-index": [],
  "update-ref": [],
  version: [],
  worktree: [],
  "write-tree": [],
};

function withSafeOptions(args: string[]): string[] {
  const at = commandAt(args);
  const options = commands[args[at] ?? ""];
  if (!options) throw new Error(`git ${args[at]} is not in the list of git commands in run-git.ts`);
  return [...args.slice(0, at + 1), ...options, ...args.slice(at + 1)];
}

/** Overrides configuration that would run programs, reach the network, lose writes or change what git prints. */
const isolation = [
  ["core.hooksPath", "/dev/null"],
  ["core.fsmonitor", "false"],
  ["core.editor", ":"],
  ["core.pager", "cat"],
  ["core.askPass", ""],
  ["core.sshCommand", "false"],
  ["credential.helper", ""],
  ["protocol.allow", "never"],
  ["protocol.ext.allow", "never"],
  ["log.showSignature", "false"],
  ["commit.gpgSign", "false"],
  ["tag.gpgSign", "false"],
  ["submodule.recurse", "false"],
  ["status.submoduleSummary", "false"],
  // A folder of the work tree that looks like a bare repository must not become the repository.
  ["safe.bareRepository", "explicit"],
  ["core.protectNTFS", "true"],
  ["core.protectHFS", "true"],
  ["gc.auto", "0"],
  ["maintenance.auto", "false"],
  ["core.fsync", "all"],
  ["core.fsyncMethod", "batch"],
  // A changed file must not pass as unchanged because its size and modification time are the same.
  ["core.trustctime", "true"],
  ["core.checkStat", "default"],
  ["core.safecrlf", "false"],
  ["core.quotePath", "false"],
  ["i18n.commitEncoding", "UTF-8"],
  ["i18n.logOutputEncoding", "UTF-8"],
].flatMap(([key, value]) => ["-c", `${key}=${value}`]);

const inherited =
  /^(PATH|HOME|USER|LANG|LC_\w+|TMPDIR|XDG_CONFIG_HOME|GIT_CONFIG_GLOBAL|GIT_CONFIG_SYSTEM|GIT_CONFIG_NOSYSTEM)$/;

/**
 * Passes on a few variables only: other inherited GIT_* would redirect git to another repository, index or
 * program. The files of the person's own configuration are the ones that their own git reads.
 */
export function gitEnvironment(environment: Record<string, string | undefined>): Record<string, string> {
  const passed = Object.entries(environment).filter(
    (pair): pair is [string, string] => pair[1] !== undefined && inherited.test(pair[0]),
  );
  return { ...Object.fromEntries(passed), ...offline, LC_ALL: "C" };
}

/** Git gets its objects from this machine and its answers from nobody. */
const offline = {
  GIT_ALLOW_PROTOCOL: "none",
  GIT_NO_LAZY_FETCH: "1",
  // History is what was recorded, also where a person has replaced objects to see another one.
  GIT_NO_REPLACE_OBJECTS: "1",
  GIT_GRAFT_FILE: "/dev/null",
  GIT_TERMINAL_PROMPT: "0",
  GIT_ASKPASS: "",
  GIT_EDITOR: ":",
  GIT_PAGER: "cat",
  GIT_OPTIONAL_LOCKS: "0",
};
