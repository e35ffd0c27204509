import { execFile } from "node:child_process";
import { join } from "node:path";
import { ok, type Result, refuse } from "../kernel/result.ts";
import { findProgram } from "./program.ts";

/** Where a program runs and what it can reach from there; everything else of the machine is not there for it. */
export type Place = {
  folder: string;
  /** Without it the folder can be read and not changed. */
  write: boolean;
  /** Further folders and files that can be read. */
  read?: readonly string[];
  /** Files that it can read and change, and where it finds them. */
  own?: readonly { from: string; to: string }[];
  network?: boolean;
  env: Record<string, string>;
};

/** The home of whatever runs in a sandbox: empty at first, and gone afterwards. */
export const homeInside = "/tmp/home";

export interface Sandbox {
  readonly name: "bubblewrap" | "none";
  /** The command line that runs this one in its place. */
  wrap(
    argv: readonly [string, ...string[]],
    place: Place,
  ): { command: string; args: string[]; env: Record<string, string> };
}

/**
 * The boundary is the operating system's: prompts and promises are none (T32, T33). Running without
 * one is a choice that a person writes into the configuration, never what happens by itself.
 */
export async function findSandbox(
  mode: "bubblewrap" | "none",
  environment: Record<string, string | undefined>,
): Promise<Result<Sandbox>> {
  if (mode === "none") return ok(noSandbox);
  const program = findProgram("bwrap", environment.PATH ?? "", "/");
  if (!program) return refuse("refused", `${needed}, and it is not installed; ${wayOut}`);
  const works = await new Promise<string | undefined>((done) =>
    execFile(program, [...walls, "true"], { env: {}, timeout: 10_000 }, (error, _out, stderr) =>
      done(error ? stderr.trim() || error.message : undefined),
    ),
  );
  if (works !== undefined) return refuse("refused", `${needed}, and it cannot start here (${works}); ${wayOut}`);
  return ok(bubblewrap(program));
}

const needed = "agents, and what they write, are run in bubblewrap";
const wayOut =
  "install it (on Debian: apt install bubblewrap), or write `crew: {sandbox: none}` into scriptorium.yaml to run without a sandbox";

/** The programs of the machine, to be read; no home, no other folder, no other process, no network. */
const walls = [
  "--unshare-all",
  "--die-with-parent",
  "--new-session",
  ...["/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt"].flatMap((folder) => ["--ro-bind-try", folder, folder]),
  ...["alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime"].flatMap((name) => [
    "--ro-bind-try",
    `/etc/${name}`,
    `/etc/${name}`,
  ]),
  ...["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--dir", homeInside, "--clearenv"],
];

/** What look-ups of hosts and users and certificates need; only there for who may use the network. */
const forNetwork = ["resolv.conf", "hosts", "nsswitch.conf", "passwd", "group", "ssl", "ca-certificates"].flatMap(
  (name) => ["--ro-bind-try", `/etc/${name}`, `/etc/${name}`],
);

const bubblewrap = (program: string): Sandbox => ({
  name: "bubblewrap",
  wrap(argv, { folder, write, read = [], own = [], network, env }) {
    const args = [
      ...walls,
      ...(network ? ["--share-net", ...forNetwork] : []),
      ...read.flatMap((path) => ["--ro-bind-try", path, path]),
      ...[write ? "--bind" : "--ro-bind", folder, folder],
      // A worktree's link to its repository leads nowhere from in here, and cannot be bent.
      ...["--ro-bind-try", join(folder, ".git"), join(folder, ".git")],
      ...own.flatMap(({ from, to }) => ["--bind-try", from, to]),
      ...["--chdir", folder],
      ...Object.entries({ ...env, HOME: homeInside, TMPDIR: "/tmp" }).flatMap(([name, value]) => [
        "--setenv",
        name,
        value,
      ]),
      "--",
      ...bounded(argv, fewProcesses),
    ];
    return { command: program, args, env: {} };
  },
});

const noSandbox: Sandbox = {
  name: "none",
  wrap(argv, { env }) {
    const [command = "", ...args] = bounded(argv);
    return { command, args, env };
  },
};

/** No file over a gibibyte, no core dump, no more open files than a program needs. */
const bounded = (argv: readonly string[], more = "") => [
  "/bin/sh",
  "-c",
  `ulimit -c 0; ulimit -f 2097152; ulimit -n 1024; ${more}exec "$@"`,
  "sh",
  ...argv,
];

/**
 * What forks without end comes to an end (T7); root's processes are not counted. Only where the sandbox
 * counts its own: outside it, the limit is on all that the user runs. Shells differ in the letter.
 */
const fewProcesses = ["p", "u"]
  .map((letter) => `(ulimit -${letter} 1024) 2>/dev/null && ulimit -${letter} 1024; `)
  .join("");

/** The walls around an agent that is a program of its own. */
export type Walls = {
  sandbox: Sandbox;
  /** Whether it may change its folder; one that verifies may not. */
  write: boolean;
  /** Its way to its model. Whatever else is on the network can be reached as well. */
  network: boolean;
  /** Further folders and files that it can read. */
  read: readonly string[];
  /** Files of its own that it can change, such as a login; those of the home are found in the new one. */
  own: readonly string[];
};
