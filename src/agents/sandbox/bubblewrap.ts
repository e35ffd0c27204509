import { execFile } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { findProgram } from "../program.ts";
import type { PrivateRepository, Sandbox } from "./access.ts";
import { withRlimits } from "./rlimits.ts";
import { seccompFilter } from "./seccomp.ts";
import { type Toolchains, toolchainsOf } from "./toolchains.ts";

/** The first version with --disable-userns and --size. */
const oldest: [number, number] = [0, 8];
const home = "/tmp/home";
const mebibyte = 1024 * 1024;

/** The sandbox of Linux; a refusal where bubblewrap is missing, too old or cannot start. */
export async function bubblewrapSandbox(environment: Record<string, string | undefined>): Promise<Result<Sandbox>> {
  const program = findProgram("bwrap", environment.PATH ?? "", "/");
  if (!program) return refuse("refused", `${needed}, which is not installed; ${wayOut}`);
  const run = (args: string[]) => promisify(execFile)(program, args, { env: {}, timeout: 10_000 });
  try {
    const version = /(\d{1,6})\.(\d{1,6})/.exec((await run(["--version"])).stdout) ?? [];
    if (isOlder([Number(version[1]), Number(version[2])])) {
      return refuse("refused", `${needed}, version ${oldest.join(".")} or newer; this is ${version[0]}; ${wayOut}`);
    }
    await run([...namespaces, "--unshare-net", ...machine, "true"]);
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    return refuse("refused", `${needed}, which cannot start here (${stderr?.trim() || message}); ${wayOut}`);
  }
  return ok(bubblewrap(program, toolchainsOf(environment)));
}

const isOlder = ([major, minor]: [number, number]) => major < oldest[0] || (major === oldest[0] && minor < oldest[1]);

const needed = "agents and their commands run in the sandbox bubblewrap";
const wayOut =
  "install it (Debian: apt install bubblewrap), or set `sandbox: none` in the crew and agent blocks of scriptorium.yaml to run without a sandbox";

/**
 * The same for every user, root included: no capability, no further user namespace. The user has another id than
 * root, because programs treat root differently.
 */
const user = 1000;
const namespaces = [
  ...["--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"],
  ...["--uid", String(user), "--gid", String(user), "--hostname", "sandbox", "--cap-drop", "ALL", "--disable-userns"],
  ...["--die-with-parent", "--new-session"],
];

const readOnly = (path: string) => ["--ro-bind-try", path, path];

const programFolders = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt"];
/** Visible anyway. A mount on a link in there, such as /usr/bin/npm, would fail. */
const isProgramFile = (path: string) => programFolders.some((folder) => path.startsWith(`${folder}/`));

/** The machine's programs, and files for verifying certificates. No home, no other folder or process. */
const machine = [
  ...programFolders.flatMap(readOnly),
  ...["alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime"].flatMap((name) =>
    readOnly(`/etc/${name}`),
  ),
  ...["ssl", "ca-certificates", "pki"].flatMap((name) => readOnly(`/etc/${name}`)),
  ...["--proc", "/proc"],
  ...["--dev", "/dev"],
];

/** Outside, a process of root owns these; file permissions alone would let it write the host's settings (S1). */
const kernelSettings = ["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/mtrr"];
const kernelSecrets = ["acpi", "asound", "kcore", "keys", "latency_stats", "sched_debug", "scsi", "timer_list"];

function coveredProc(): string[] {
  const masked = kernelSecrets.map((name) => `/proc/${name}`).filter((path) => existsSync(path));
  const isFolder = (path: string) => statSync(path).isDirectory();
  return [
    ...kernelSettings.flatMap(readOnly),
    ...masked.flatMap((path) =>
      isFolder(path) ? ["--tmpfs", path, "--remount-ro", path] : ["--ro-bind", "/dev/null", path],
    ),
  ];
}

/** Small files that programs expect; the machine's own would name its other users and hosts. */
const files = {
  passwd: `agent:x:${user}:${user}:agent:${home}:/bin/sh\n`,
  group: `agent:x:${user}:\n`,
  hosts: "127.0.0.1 localhost\n::1 localhost\n",
  "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
};

/**
 * Links first: a folder that lies below one of them must not be covered by it. A hidden file is empty; /dev/null in its
 * place could not be opened.
 */
const toolchainMounts = ({ read, linked, hide }: Toolchains, input: (content: string) => string) => [
  ...linked.flatMap(({ from, to }) => ["--ro-bind-try", from, to]),
  ...read.flatMap(readOnly),
  ...hide.flatMap((path) => ["--ro-bind-data", input(""), path]),
];

const privateGit = "/git";
/** In a workspace below the top of its checkout, `.git` is on another mount than the files. */
const acrossMounts = { GIT_DISCOVERY_ACROSS_FILESYSTEM: "1" };

/**
 * A worktree's `.git` file names the person's repository, which is not reachable here. In its place comes one that
 * names the agent's own; in both cases read-only, so that it cannot be redirected.
 */
const gitFile = (
  folder: string,
  repository: PrivateRepository | undefined,
  input: (content: string) => string,
): string[] =>
  repository
    ? [
        ...["--bind", repository.gitDir, privateGit],
        ...["--perms", "0444", "--ro-bind-data", input(`gitdir: ${privateGit}\n`), join(repository.top, ".git")],
      ]
    : readOnly(join(folder, ".git"));

const bubblewrap = (program: string, toolchains: Toolchains): Sandbox => ({
  name: "bubblewrap",
  hasOwnLoopback: true,
  home,
  wrap(argv, { folder, write, hide = [], read = [], own = [], repository, limits, env }) {
    const inputs: Buffer[] = [];
    const input = (content: Buffer | string) => {
      inputs.push(Buffer.from(content));
      return String(2 + inputs.length);
    };
    const filter = seccompFilter();
    const memory = String(limits.memory_mb * mebibyte);
    const isWithin = (path: string) => path.startsWith(`${folder}/`);
    const args = [
      ...namespaces,
      ...(filter ? ["--seccomp", input(filter)] : []),
      ...machine,
      ...coveredProc(),
      ...["--size", memory, "--tmpfs", "/dev/shm", "--size", memory, "--tmpfs", "/tmp", "--dir", home],
      ...Object.entries(files).flatMap(([name, text]) => [
        ...["--perms", "0444", "--ro-bind-data", input(text), `/etc/${name}`],
      ]),
      // Host loopback and abstract sockets belong to the machine's network: there is no mode that shares it (S2, S12).
      "--unshare-net",
      ...toolchainMounts(toolchains, input),
      ...read.filter((path) => !isWithin(path) && !isProgramFile(path)).flatMap(readOnly),
      ...[write ? "--bind" : "--ro-bind", folder, folder],
      ...gitFile(folder, repository, input),
      ...hide.flatMap((path) => ["--tmpfs", path]),
      ...read.filter(isWithin).flatMap(readOnly),
      ...own.flatMap(({ from, to }) => ["--bind-try", from, to]),
      ...[...hide, "/dev", "/"].flatMap((path) => ["--remount-ro", path]),
      ...["--chdir", folder],
    ];
    return {
      command: program,
      args: [...args, "--info-fd", String(3 + inputs.length), "--", ...withRlimits(argv, limits)],
      // Not as arguments: every user of the machine can read those.
      env: { ...toolchains.env, ...env, ...(repository ? acrossMounts : {}), HOME: home, TMPDIR: "/tmp" },
      inputs,
      watched: { limits, folder },
    };
  },
});
