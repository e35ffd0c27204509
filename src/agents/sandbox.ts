import { execFile } from "node:child_process";
import { join } from "node:path";
import { ok, type Result, refuse } from "../kernel/result.ts";
import type { NetworkPolicy } from "./network/policy.ts";
import { findProgram } from "./program.ts";

/** The folder a program runs in and what it can reach; the rest of the machine does not exist for it. */
export type SandboxAccess = {
  folder: string;
  /** False makes the folder read-only. */
  write: boolean;
  /** Further readable folders and files. */
  read?: readonly string[];
  /** Writable files, and their paths inside. */
  own?: readonly { from: string; to: string }[];
  env: Record<string, string>;
};

/** The home inside a sandbox: empty at first, deleted afterwards. */
export const sandboxHome = "/tmp/home";

export interface Sandbox {
  readonly name: "bubblewrap" | "none";
  /** The command line that runs `argv` inside. */
  wrap(
    argv: readonly [string, ...string[]],
    access: SandboxAccess,
  ): { command: string; args: string[]; env: Record<string, string> };
}

/**
 * Agents are confined by the operating system, not by prompts (T32, T33). Running without a sandbox has to be
 * configured by a person; it is never a fallback.
 */
export async function findSandbox(
  mode: "bubblewrap" | "none",
  environment: Record<string, string | undefined>,
): Promise<Result<Sandbox>> {
  if (mode === "none") return ok(noSandbox);
  const program = findProgram("bwrap", environment.PATH ?? "", "/");
  if (!program) return refuse("refused", `${needed}, which is not installed; ${wayOut}`);
  const failure = await new Promise<string | undefined>((done) =>
    execFile(program, [...isolation, "true"], { env: {}, timeout: 10_000 }, (error, _out, stderr) =>
      done(error ? stderr.trim() || error.message : undefined),
    ),
  );
  if (failure !== undefined) return refuse("refused", `${needed}, which cannot start here (${failure}); ${wayOut}`);
  return ok(bubblewrap(program));
}

const needed = "agents and their commands run in the sandbox bubblewrap";
const wayOut =
  "install it (Debian: apt install bubblewrap), or set `crew: {sandbox: none}` in scriptorium.yaml to run without a sandbox";

/** The machine's programs, read-only; no home, no other folder or process, no network. */
const isolation = [
  "--unshare-all",
  "--die-with-parent",
  "--new-session",
  ...["/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt"].flatMap((folder) => ["--ro-bind-try", folder, folder]),
  ...["alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime"].flatMap((name) => [
    "--ro-bind-try",
    `/etc/${name}`,
    `/etc/${name}`,
  ]),
  ...["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--dir", sandboxHome, "--clearenv"],
];

const bubblewrap = (program: string): Sandbox => ({
  name: "bubblewrap",
  wrap(argv, { folder, write, read = [], own = [], env }) {
    const args = [
      ...isolation,
      ...read.flatMap((path) => ["--ro-bind-try", path, path]),
      ...[write ? "--bind" : "--ro-bind", folder, folder],
      // A worktree's `.git` file names its repository, which is not reachable here; read-only, so that it cannot be redirected.
      ...["--ro-bind-try", join(folder, ".git"), join(folder, ".git")],
      ...own.flatMap(({ from, to }) => ["--bind-try", from, to]),
      ...["--chdir", folder],
      ...Object.entries({ ...env, HOME: sandboxHome, TMPDIR: "/tmp" }).flatMap(([name, value]) => [
        "--setenv",
        name,
        value,
      ]),
      "--",
      ...withLimits(argv, processLimit),
    ];
    return { command: program, args, env: {} };
  },
});

const noSandbox: Sandbox = {
  name: "none",
  wrap(argv, { env }) {
    const [command = "", ...args] = withLimits(argv);
    return { command, args, env };
  },
};

/** Resource limits: files of 1 GiB, no core dumps, 1024 open files. */
const withLimits = (argv: readonly string[], more = "") => [
  "/bin/sh",
  "-c",
  `ulimit -c 0; ulimit -f 2097152; ulimit -n 1024; ${more}exec "$@"`,
  "sh",
  ...argv,
];

/**
 * Stops fork bombs (T7); not enforced for root. Only inside a sandbox, which has its own count: outside, the limit
 * would count all processes of the user. The option's letter differs between shells.
 */
const processLimit = ["p", "u"]
  .map((letter) => `(ulimit -${letter} 1024) 2>/dev/null && ulimit -${letter} 1024; `)
  .join("");

/** The access of an agent that runs as a program. */
export type SandboxPolicy = {
  sandbox: Sandbox;
  /** Whether it may change its folder; a verifier may not. */
  write: boolean;
  network: NetworkPolicy;
  /** Further folders and files that it can read. */
  read: readonly string[];
  /** Writable files, such as a login; those in the home are mapped into the sandbox's home. */
  own: readonly string[];
};
