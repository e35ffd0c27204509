import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

const root = new URL("../../", import.meta.url).pathname;

export type Packed = { tarball: string; bytes: number; unpackedBytes: number; files: string[] };

/** The tarball as it would be published. */
export function pack(folder: string): Packed {
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder];
  const [made] = JSON.parse(execFileSync("npm", args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", 2] }));
  return {
    tarball: join(folder, made.filename),
    bytes: made.size,
    unpackedBytes: made.unpackedSize,
    files: made.files.map(({ path }: { path: string }) => path),
  };
}

/**
 * A machine with this Node, npm and git on the PATH and nothing else: no compiler and no Python. npm
 * runs offline with an empty cache and without install scripts.
 */
export function bareMachine(node: string) {
  const home = mkdtempSync(join(tmpdir(), "scriptorium-machine-"));
  const bin = join(home, "bin");
  mkdirSync(bin);
  symlinkSync(node, join(bin, "node"));
  // npm starts `sh` for the command of npx; git needs nothing else.
  for (const name of ["npm", "npx", "git", "sh"]) symlinkSync(onPath(name), join(bin, name));
  writeFileSync(join(home, ".gitconfig"), "[user]\n\tname = Ada Lovelace\n\temail = ada@example.org\n");
  const env = {
    PATH: bin,
    HOME: home,
    LANG: "C.UTF-8",
    npm_config_offline: "true",
    npm_config_ignore_scripts: "true",
    npm_config_audit: "false",
    npm_config_fund: "false",
    npm_config_update_notifier: "false",
    npm_config_userconfig: join(home, ".npmrc"),
  };
  return {
    home,
    env,
    folder(name: string): string {
      const folder = join(home, name);
      mkdirSync(folder);
      return folder;
    },
    start: (command: string, args: string[], cwd: string) => spawn(command, args, { cwd, env }),
    run(command: string, args: string[], cwd: string, input = ""): Promise<Ran> {
      return new Promise((done, fail) => {
        const child = spawn(command, args, { cwd, env });
        let [stdout, stderr] = ["", ""];
        child.stdout.on("data", (chunk) => (stdout += chunk));
        child.stderr.on("data", (chunk) => (stderr += chunk));
        child.on("error", fail);
        child.on("close", (code) => done({ code, stdout, stderr }));
        child.stdin.end(input);
      });
    },
  };
}

type Ran = { code: number | null; stdout: string; stderr: string };

/** The packages that an installation brought, by name. */
export function installedPackages(folder: string): string[] {
  const lock = JSON.parse(readFileSync(join(folder, "node_modules/.package-lock.json"), "utf8"));
  return Object.keys(lock.packages).map((path) => path.replace(/^.*node_modules\//, ""));
}

function onPath(name: string): string {
  const found = (process.env.PATH ?? "")
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((file) => existsSync(file));
  if (!found) throw new Error(`${name} is not on the PATH`);
  return found;
}
