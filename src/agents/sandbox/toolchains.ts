import { accessSync, constants, existsSync, readdirSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, join } from "node:path";

/** Programs under the home folder that a sandbox shows. */
export type Toolchains = {
  /** Folders, each at its own path. */
  read: string[];
  /** Folders that PATH names through a link: the real folder, and where it appears. */
  linked: { from: string; to: string }[];
  /** Files in those folders that may contain credentials. */
  hide: string[];
  /** Where version managers find their toolchains; they would look in the sandbox's own home. */
  env: Record<string, string>;
};

type Environment = Readonly<Record<string, string | undefined>>;

/** Version managers whose shims need more than the folder in PATH: the parts they need, and the variable for their home. */
const managers: Record<string, { parts: string[]; variable?: string }> = {
  ".volta": { parts: ["bin", "tools", "layout.v4"], variable: "VOLTA_HOME" },
  ".pyenv": { parts: ["bin", "shims", "versions", "libexec", "version"], variable: "PYENV_ROOT" },
  ".rbenv": { parts: ["bin", "shims", "versions", "libexec", "version"], variable: "RBENV_ROOT" },
  ".cargo": { parts: ["bin"] },
};

const mostLinks = 500;
const credentials = ["etc/npmrc", ".npmrc", "lib/node_modules/npm/npmrc", "credentials", "credentials.toml"];

/**
 * Finds the toolchains that PATH names under the home folder: nvm, fnm, volta, pyenv, rustup, Go, SDKMAN, pnpm and
 * programs in ~/.local/bin. Of a folder that is not known to be an installation only the programs are shown. The home
 * itself, and folders that contain it, never are.
 */
export function toolchainsOf(environment: Environment): Toolchains {
  const home = environment.HOME && existsSync(environment.HOME) ? realpathSync(environment.HOME) : undefined;
  const found: Toolchains = { read: [], linked: [], hide: [], env: {} };
  if (!home || home === "/") return found;
  const read = new Set<string>();
  const isInHome = (path: string) => path.startsWith(`${home}/`);

  function add(path: string): void {
    if (!existsSync(path)) return;
    read.add(path);
    for (const name of credentials) if (isFile(join(path, name))) found.hide.push(join(path, name));
  }

  for (const entry of (environment.PATH ?? "").split(":")) {
    if (!isAbsolute(entry) || entry.includes("/node_modules/") || !isReadableFolder(entry)) continue;
    const real = realpathSync(entry);
    if (!isInHome(real)) continue;
    const [first = ""] = real.slice(home.length + 1).split("/");
    const manager = managers[first];
    if (manager) {
      const root = join(home, first);
      for (const part of manager.parts) add(join(root, part));
      if (manager.variable) found.env[manager.variable] = root;
    } else {
      add(installationOf(real, home));
    }
    if (first === ".cargo") addRustup(join(home, ".rustup"), add, found.env);
    if (real !== entry) found.linked.push({ from: real, to: entry });
    for (const target of linksIn(real)) if (isInHome(target)) add(installationOf(dirname(target), home));
  }
  const all = [...read];
  // A folder inside of another one is shown with it.
  found.read = all.filter((path) => !all.some((other) => path.startsWith(`${other}/`)));
  return found;
}

/** rustup's proxies in ~/.cargo/bin start the programs of a toolchain. */
function addRustup(root: string, add: (path: string) => void, env: Record<string, string>): void {
  for (const part of ["toolchains", "settings.toml"]) add(join(root, part));
  if (existsSync(root)) env.RUSTUP_HOME = root;
}

/** Folders in which many things lie beside `bin`. */
const shared = new Set(["", ".local", ".cargo", ".config", ".cache", "go", "bin"]);
const signs = ["lib", "lib64", "libexec", "pkg", "include", "pyvenv.cfg", "release"];

/** The root of an installation with this folder of programs; the folder itself if there is none. */
function installationOf(bin: string, home: string): string {
  const root = dirname(bin);
  const isShared = root === home || !root.startsWith(`${home}/`) || shared.has(root.slice(home.length + 1));
  if (isShared || basename(bin) !== "bin") return bin;
  return signs.some((name) => existsSync(join(root, name))) ? root : bin;
}

/** The files that links in a folder of programs lead to, such as those of pipx and uv in ~/.local/bin. */
function linksIn(folder: string): string[] {
  const links = readdirSync(folder, { withFileTypes: true }).filter((item) => item.isSymbolicLink());
  return links.slice(0, mostLinks).flatMap(({ name }) => {
    const path = join(folder, name);
    return isFile(path) ? [realpathSync(path)] : [];
  });
}

/** Also through links; false for a link that leads nowhere. */
const isFile = (path: string) => existsSync(path) && statSync(path).isFile();

function isReadableFolder(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.X_OK);
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
