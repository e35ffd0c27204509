import { existsSync, mkdtempSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { Sandbox, SandboxAccess } from "./access.ts";
import { withRlimits } from "./rlimits.ts";

const program = "/usr/bin/sandbox-exec";

/** The sandbox of macOS. Its policy is that of Linux; it is not tested on a Mac. */
export function seatbeltSandbox(): Result<Sandbox> {
  if (existsSync(program)) return ok(seatbelt);
  return refuse(
    "refused",
    `agents and their commands run in the sandbox of macOS, but ${program} does not exist; set \`sandbox: none\` in the crew and agent blocks of scriptorium.yaml to run without a sandbox`,
  );
}

const seatbelt: Sandbox = {
  name: "seatbelt",
  hasOwnLoopback: false,
  home: undefined,
  wrap(argv, access) {
    const home = realpathSync(mkdtempSync(join(tmpdir(), "scriptorium-home-")));
    return {
      command: program,
      args: ["-p", seatbeltProfile(access, home), ...withRlimits(argv)],
      env: { ...access.env, HOME: home, TMPDIR: home },
      temporary: [home],
    };
  },
};

/** Programs and libraries of the system, and files for verifying certificates. */
const system = [
  ...["/usr", "/bin", "/sbin", "/opt", "/System", "/Library/Apple", "/Library/Developer", "/Library/Frameworks"],
  ...["/private/etc/ssl", "/private/etc/localtime", "/private/var/db/timezone", "/private/var/db/dyld"],
];
const devices = ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/dtracehelper"];
/** Users, certificates and notifications, without which programs of the system do not start. */
const services = [
  "com.apple.system.opendirectoryd.libinfo",
  "com.apple.system.notification_center",
  "com.apple.system.logger",
  "com.apple.trustd.agent",
  "com.apple.SecurityServer",
];

/** A Seatbelt profile: all is denied, later rules override earlier ones. */
export function seatbeltProfile(access: SandboxAccess, home: string): string {
  const { folder, write, hide = [], read = [], own = [], ports = [] } = access;
  const readable = [...system, folder, home, ...read, ...own.map(({ from }) => from)].map(realPath);
  const writable = [home, ...(write ? [folder] : []), ...own.map(({ from }) => from)].map(realPath);
  const subpaths = (paths: readonly string[]) => paths.map((path) => `(subpath ${quoted(path)})`).join(" ");
  const literals = (paths: readonly string[]) => paths.map((path) => `(literal ${quoted(path)})`).join(" ");
  const sockets = read.map((path) => `(remote unix-socket (path-literal ${quoted(realPath(path))}))`);
  return [
    "(version 1)",
    "(deny default)",
    "(allow process-fork)",
    `(allow process-exec* ${subpaths(readable)})`,
    "(allow signal (target same-sandbox))",
    "(allow sysctl-read)",
    `(allow mach-lookup ${services.map((name) => `(global-name ${quoted(name)})`).join(" ")})`,
    `(allow file-read-metadata ${literals(ancestors(readable))})`,
    `(allow file-read* (literal "/") ${subpaths(readable)} ${literals(devices)})`,
    `(allow file-write* ${subpaths(writable)} ${literals(devices)})`,
    // Hidden folders may contain files that are to be read.
    ...hide.map((path) => `(deny file-read* file-write* ${subpaths([realPath(path)])})`),
    ...(hide.length > 0 && read.length > 0 ? [`(allow file-read* ${subpaths(read.map(realPath))})`] : []),
    `(deny file-write* ${subpaths([join(realPath(folder), ".git")])})`,
    ...(sockets.length > 0 ? [`(allow network-outbound ${sockets.join(" ")})`] : []),
    ...ports.flatMap((port) => [
      `(allow network-bind (local ip "localhost:${port}"))`,
      `(allow network-inbound (local ip "localhost:${port}"))`,
      `(allow network-outbound (remote ip "localhost:${port}"))`,
    ]),
    "",
  ].join("\n");
}

/** Rules apply to real paths: /tmp is a link to /private/tmp. */
const realPath = (path: string) => (existsSync(path) ? realpathSync(path) : path);

/** Programs look at the folders on the way to a file. */
function ancestors(paths: readonly string[]): string[] {
  const found = new Set<string>();
  for (const path of paths) for (let at = dirname(path); at !== "/"; at = dirname(at)) found.add(at);
  return [...found].sort();
}

const quoted = (text: string) => `"${text.replace(/[\\"]/g, "\\$&")}"`;
