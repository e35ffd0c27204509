import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { temporaryFolder, testEnvironment } from "./workspace.ts";

/** Git as a person runs it, with their own configuration. */
export type Repository = {
  /** The folder of the workspace. */
  root: string;
  env: Record<string, string>;
  git(...args: string[]): string;
  /** Git in another folder. */
  gitAt(folder: string, ...args: string[]): string;
};

export type Layout = {
  name: string;
  /** Lines of the person's own git configuration. */
  config?: string;
  /** Attributes of the repository. */
  attributes?: string;
  /** Makes the repository in `home` and returns the folder of the workspace. */
  make?(home: string, git: Repository["gitAt"]): string;
  /** Brings the repository into a state, after `init`. */
  enter?(repository: Repository): void;
  /** Agents' commits wait for this, and `doctor` says so. */
  waits?: RegExp;
  /** What `doctor` recommends to end the wait. */
  leave?(repository: Repository): void;
  /** `init` refuses with this. */
  refuses?: RegExp;
  /** `doctor` and `init` say this beforehand. */
  says?: RegExp;
  /** Whether this git has it. */
  needs?(): boolean;
};

export const put = (folder: string, files: Record<string, string>) => {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
};

const guide = "# Guide\n\nfirst\n\nsecond\n";
const theirs = { "docs/guide.md": guide, "src/code.txt": "one\ntwo\n" };

/** A repository with a page, a file of code and one commit. */
function plain(folder: string, git: Repository["gitAt"], ...options: string[]): string {
  mkdirSync(folder, { recursive: true });
  git(folder, "init", "-q", "-b", "trunk", ...options);
  put(folder, theirs);
  git(folder, "add", "-A");
  git(folder, "commit", "-qm", "Begin");
  return folder;
}

const second = (git: Repository["gitAt"], root: string) => {
  git(root, "switch", "-qc", "other");
  put(root, { "src/code.txt": "other\n" });
  git(root, "commit", "-qam", "Other");
  git(root, "switch", "-q", "trunk");
  put(root, { "src/code.txt": "trunk\n" });
  git(root, "commit", "-qam", "Trunk");
};

/** Runs git where it is meant to stop with a conflict. */
const stops = (act: () => void) => {
  try {
    act();
  } catch {
    return;
  }
  throw new Error("git did not stop");
};

const supports = (...options: string[]) => {
  try {
    execFileSync("git", ["init", "-q", ...options, join(temporaryFolder(), "try")], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
};

/** An ext4 file system whose root ignores case, mounted below a folder; undefined where that is not possible. */
function casefolded(home: string): string | undefined {
  const [image, folder] = [join(home, "image"), join(home, "casefold")];
  const quiet = { stdio: "ignore" } as const;
  try {
    mkdirSync(folder);
    execFileSync("truncate", ["-s", "64M", image], quiet);
    execFileSync("mkfs.ext4", ["-q", "-O", "casefold", "-E", "encoding=utf8", image], quiet);
    execFileSync("mount", ["-o", "loop", image, folder], quiet);
  } catch {
    return undefined;
  }
  onTestFinished(() => void execFileSync("umount", [folder], quiet));
  mkdirSync(join(folder, "inside"));
  execFileSync("chattr", ["+F", join(folder, "inside")], quiet);
  return join(folder, "inside");
}

const rot13 = "tr a-zA-Z n-za-mN-ZA-M";
const failingHook = "#!/bin/sh\necho a hook ran >&2\nexit 1\n";
const hooks = ["pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-index-change", "pre-auto-gc"];

export const layouts: Layout[] = [
  { name: "plain" },
  {
    name: "linked worktree",
    make(home, git) {
      const main = plain(join(home, "main"), git);
      git(main, "worktree", "add", "-q", "-b", "side", join(home, "side"));
      return join(home, "side");
    },
  },
  {
    name: "bare repository with a worktree",
    make(home, git) {
      const seed = plain(join(home, "seed"), git);
      git(home, "clone", "-q", "--bare", seed, "bare.git");
      git(join(home, "bare.git"), "worktree", "add", "-q", join(home, "work"), "trunk");
      return join(home, "work");
    },
  },
  {
    name: "submodule",
    make(home, git) {
      const inner = plain(join(home, "inner"), git);
      const outer = plain(join(home, "outer"), git);
      git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", inner, "inner");
      git(outer, "commit", "-qm", "Add a submodule");
      return join(outer, "inner");
    },
  },
  {
    name: "workspace below the top, with spaces and accents in its path",
    make(home, git) {
      const top = plain(join(home, "größer repo"), git);
      const folder = join(top, "teams/blaue gruppe");
      put(folder, theirs);
      git(top, "add", "-A");
      git(top, "commit", "-qm", "Add a team");
      return folder;
    },
  },
  { name: "core.autocrlf=true", config: "[core]\n\tautocrlf = true\n" },
  { name: "eol=crlf", attributes: "*.md text eol=crlf\n" },
  { name: "text=auto", attributes: "* text=auto\n" },
  {
    name: "clean and smudge filter of the person",
    attributes: "*.md filter=rot\n",
    config: `[filter "rot"]\n\tclean = ${rot13}\n\tsmudge = ${rot13}\n\trequired = true\n`,
  },
  {
    name: "filter that stores pointers, as LFS does",
    attributes: "*.md filter=pointer\n",
    config: "pointer",
  },
  { name: "sha256 objects", make: (home, git) => plain(join(home, "work"), git, "--object-format=sha256") },
  {
    name: "reftable",
    needs: () => supports("--ref-format=reftable"),
    make: (home, git) => plain(join(home, "work"), git, "--ref-format=reftable"),
  },
  {
    name: "executable pages",
    enter({ root, git }) {
      for (const path of ["docs/guide.md", "wiki/status.md", "wiki/decisions.md"]) chmodSync(join(root, path), 0o755);
      git("commit", "-qam", "Make pages executable");
    },
  },
  {
    name: "core.fileMode=false with executable files",
    enter({ root, git }) {
      git("config", "core.fileMode", "false");
      for (const path of ["docs/guide.md", "wiki/status.md"]) chmodSync(join(root, path), 0o755);
    },
  },
  {
    name: "sparse checkout with the wiki",
    make(home, git) {
      const work = plain(join(home, "work"), git);
      git(work, "sparse-checkout", "set", "docs", "src", "wiki", "sources");
      return work;
    },
  },
  {
    name: "sparse index",
    make(home, git) {
      const work = plain(join(home, "work"), git);
      put(work, { "far/away/file.txt": "far\n" });
      git(work, "add", "-A", "--sparse");
      git(work, "commit", "-qm", "Far");
      git(work, "sparse-checkout", "set", "--cone", "--sparse-index", "docs", "src", "wiki", "sources");
      return work;
    },
  },
  {
    name: "partial clone",
    make(home, git) {
      const origin = plain(join(home, "origin"), git);
      put(origin, { "docs/guide.md": `${guide}\nthird\n` });
      git(origin, "commit", "-qam", "More");
      put(origin, { "docs/guide.md": guide });
      git(origin, "commit", "-qam", "Less");
      git(origin, "config", "uploadpack.allowFilter", "true");
      git(home, "clone", "-q", "--filter=blob:none", `file://${origin}`, "work");
      return join(home, "work");
    },
  },
  {
    name: "shallow clone",
    make(home, git) {
      const origin = plain(join(home, "origin"), git);
      put(origin, { "src/code.txt": "later\n" });
      git(origin, "commit", "-qam", "Later");
      git(home, "clone", "-q", "--depth=1", `file://${origin}`, "work");
      return join(home, "work");
    },
  },
  { name: "commit.gpgsign with an SSH key", config: "signing", says: /commit\.gpgsign is on.*not signed/ },
  {
    name: "failing hooks",
    enter({ root, git }) {
      put(join(root, ".git/hooks"), Object.fromEntries(hooks.map((name) => [name, failingHook])));
      for (const name of hooks) chmodSync(join(root, ".git/hooks", name), 0o755);
      git("config", "core.hooksPath", join(root, ".git/hooks"));
    },
    leave: ({ git }) => void git("config", "core.hooksPath", "/dev/null"),
  },
  { name: "core.ignorecase", config: "[core]\n\tignoreCase = true\n" },
  {
    name: "core.precomposeUnicode and core.quotePath",
    config: "[core]\n\tquotePath = true\n\tprecomposeUnicode = true\n",
  },
  {
    name: "core.fsmonitor and core.untrackedCache",
    config: "[core]\n\tfsmonitor = false\n\tuntrackedCache = true\n",
    enter: ({ git }) => void git("config", "core.fsmonitor", "/nonexistent/monitor"),
    leave: ({ git }) => void git("config", "core.fsmonitor", "false"),
  },
  {
    name: "extensions.worktreeConfig",
    make(home, git) {
      const main = plain(join(home, "main"), git);
      git(main, "config", "extensions.worktreeConfig", "true");
      git(main, "worktree", "add", "-q", "-b", "side", join(home, "side"));
      git(join(home, "side"), "config", "--worktree", "core.autocrlf", "true");
      return join(home, "side");
    },
  },
  {
    name: "a path with a leading dash, quotes, accents and shell characters, reached through a symbolic link",
    make(home, git) {
      plain(join(home, `-a 'b' "c" größer $d \`e\``), git);
      symlinkSync(`-a 'b' "c" größer $d \`e\``, join(home, "link"));
      return join(home, "link");
    },
  },
  {
    name: "replaced commits and grafts, also of our history",
    enter({ root, git }) {
      put(root, { ".git/info/grafts": `${git("rev-parse", "HEAD~1")}\n` });
      git("replace", "--graft", "HEAD");
      git("replace", "--graft", "refs/scriptorium/history");
    },
    leave: ({ root }) => void execFileSync("rm", [join(root, ".git/info/grafts")]),
  },
  {
    name: "branches and tags that are called like our refs",
    make(home, git) {
      const work = plain(join(home, "work"), git);
      for (const name of ["scriptorium", "refs/scriptorium/history"]) git(work, "branch", name);
      for (const name of ["HEAD", "history", "refs/scriptorium/history"]) git(work, "tag", name);
      return work;
    },
  },
  {
    name: "settings that change messages, listings, permissions and the index",
    config: [
      "[merge]\n\tconflictStyle = zdiff3\n[i18n]\n\tcommitEncoding = ISO-8859-1\n\tlogOutputEncoding = ISO-8859-1\n",
      "[status]\n\tshowUntrackedFiles = no\n\trelativePaths = false\n[diff]\n\tnoprefix = true\n\trenames = copies\n",
      "[core]\n\tsharedRepository = group\n\tcommentChar = %\n\tabbrev = 4\n\tlogAllRefUpdates = always\n",
      "[commit]\n\tcleanup = scissors\n[fetch]\n\tprune = true\n[log]\n\tdate = relative\n\tfollow = true\n",
      "[feature]\n\tmanyFiles = true\n[index]\n\tversion = 4\n",
    ].join(""),
  },
  { name: "split index", config: "[core]\n\tsplitIndex = true\n" },
  { name: "index version 4 and feature.manyFiles", config: "[feature]\n\tmanyFiles = true\n" },
  {
    name: "git's folder elsewhere, with core.worktree",
    make(home, git) {
      const work = plain(join(home, "work"), git, `--separate-git-dir=${join(home, "elsewhere.git")}`);
      git(work, "config", "core.worktree", work);
      return work;
    },
  },
  {
    name: "a worktree whose .git names its folder by a relative path",
    make(home, git) {
      const main = plain(join(home, "main"), git);
      git(main, "worktree", "add", "-q", "-b", "side", join(home, "side"));
      writeFileSync(join(home, "side/.git"), "gitdir: ../main/.git/worktrees/side\n");
      return join(home, "side");
    },
  },
  {
    name: "objects in another repository, by alternates",
    make(home, git) {
      plain(join(home, "origin"), git);
      git(home, "clone", "-q", "--shared", "origin", "work");
      return join(home, "work");
    },
  },
  {
    name: "branches and tags that are called like our folders and files",
    make(home, git) {
      const work = plain(join(home, "work"), git);
      for (const name of ["wiki", "sources", "docs/guide.md"]) {
        git(work, "branch", name);
        git(work, "tag", name);
      }
      return work;
    },
  },
  {
    name: "pages whose names differ in their Unicode form only",
    make(home, git) {
      const work = plain(join(home, "work"), git);
      put(work, { "docs/caf\u00e9.md": "# NFC\n", "docs/cafe\u0301.md": "# NFD\n" });
      git(work, "add", "-A");
      git(work, "commit", "-qm", "Add twins");
      return work;
    },
  },
  {
    name: "packed refs, no reflogs, and gc after every command of the person",
    config: "[core]\n\tlogAllRefUpdates = false\n[gc]\n\tauto = 1\n\tautoDetach = false\n\tpruneExpire = now\n",
    enter: ({ git }) => void git("pack-refs", "--all"),
  },
  {
    name: "a submodule beside the wiki that has changes of its own",
    config: "[status]\n\tsubmoduleSummary = true\n[submodule]\n\trecurse = true\n[diff]\n\tignoreSubmodules = dirty\n",
    make(home, git) {
      const inner = plain(join(home, "inner"), git);
      const outer = plain(join(home, "outer"), git);
      git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", inner, "vendor");
      git(outer, "commit", "-qm", "Add a submodule");
      put(outer, { "vendor/src/code.txt": "changed there\n" });
      return outer;
    },
  },
  {
    name: "a folder that ignores case",
    needs: () => casefolded(temporaryFolder()) !== undefined,
    make(home, git) {
      const folder = casefolded(home) ?? home;
      const work = plain(join(folder, "Work"), git);
      git(work, "mv", "docs/guide.md", "docs/Guide.md");
      git(work, "mv", "docs/Guide.md", "docs/guide.md");
      return join(folder, "work");
    },
  },
  {
    name: "no commit yet",
    make(home, git) {
      const work = join(home, "work");
      mkdirSync(work);
      git(work, "init", "-q", "-b", "trunk");
      put(work, theirs);
      return work;
    },
  },
  {
    name: "detached HEAD",
    enter: ({ git }) => void git("checkout", "-q", "--detach"),
    waits: /HEAD is detached/,
    leave: ({ git }) => void git("switch", "-qc", "again"),
  },
  {
    name: "a rebase in progress",
    enter({ root, gitAt }) {
      second(gitAt, root);
      stops(() => gitAt(root, "rebase", "-q", "other"));
    },
    waits: /a rebase is in progress/,
    leave({ root, git }) {
      put(root, { "src/code.txt": "rebased\n" });
      git("commit", "-qam", "Resolve");
      git("rebase", "--continue");
    },
  },
  {
    name: "a merge in progress",
    enter({ root, gitAt }) {
      second(gitAt, root);
      stops(() => gitAt(root, "merge", "-q", "other"));
    },
    waits: /a merge is in progress/,
    leave({ root, git }) {
      put(root, { "src/code.txt": "merged\n" });
      git("add", "src/code.txt");
      git("commit", "-qm", "Merge");
    },
  },
  {
    name: "a cherry-pick in progress",
    enter({ root, gitAt }) {
      second(gitAt, root);
      stops(() => gitAt(root, "cherry-pick", "other"));
    },
    waits: /a cherry-pick is in progress/,
    leave({ root, git }) {
      put(root, { "src/code.txt": "picked\n" });
      git("add", "src/code.txt");
      git("commit", "-qm", "Pick");
    },
  },
  {
    name: "a bisect in progress",
    enter({ git }) {
      git("bisect", "start");
    },
    waits: /a bisect is in progress/,
    leave: ({ git }) => void git("bisect", "reset"),
  },
  {
    name: "a stale index.lock",
    enter: ({ root }) => put(root, { ".git/index.lock": "" }),
    waits: /the git index is locked.*index\.lock/,
    leave: ({ root }) => void execFileSync("rm", [join(root, ".git/index.lock")]),
  },
];

/** Makes the repository of a layout, with the person's configuration in a file of its own. */
export function repositoryOf(layout: Layout): Repository {
  const home = temporaryFolder();
  const own = join(home, "gitconfig");
  writeFileSync(own, `[user]\n\tname = Ada Lovelace\n\temail = ada@example.org\n${configOf(layout, home)}`);
  const env = { ...testEnvironment(), HOME: home, GIT_CONFIG_GLOBAL: own, GIT_CONFIG_NOSYSTEM: "1" };
  const gitAt = (folder: string, ...args: string[]) =>
    execFileSync("git", args, { cwd: folder, env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
  const root = layout.make?.(home, gitAt) ?? plain(join(home, "work"), gitAt);
  const git = (...args: string[]) => gitAt(root, ...args);
  if (layout.attributes) {
    put(root, { ".gitattributes": layout.attributes });
    git("add", "-A");
    git("add", "--renormalize", ".");
    git("commit", "-qm", "Add attributes");
    git("rm", "-rq", "--cached", ".");
    git("reset", "-q", "--hard");
  }
  return { root, env, git, gitAt };
}

function configOf({ config = "" }: Layout, home: string): string {
  if (config === "pointer") return pointerFilter(home);
  return config === "signing" ? signing(home) : config;
}

/** Keeps the content in a store beside git, and a pointer in git. */
function pointerFilter(home: string): string {
  const store = join(home, "large");
  mkdirSync(store);
  const script = join(home, "pointer.sh");
  writeFileSync(
    script,
    `#!/bin/sh\nif [ "$1" = clean ]; then f=$(mktemp); cat > $f; n=$(sha256sum < $f | cut -c1-64); mv $f ${store}/$n; echo "pointer $n"\nelse read -r _ n; cat ${store}/$n; fi\n`,
  );
  chmodSync(script, 0o755);
  return `[filter "pointer"]\n\tclean = ${script} clean\n\tsmudge = ${script} smudge\n\trequired = true\n`;
}

function signing(home: string): string {
  execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", join(home, "key")]);
  return `[commit]\n\tgpgSign = true\n[gpg]\n\tformat = ssh\n[user]\n\tsigningKey = ${join(home, "key.pub")}\n`;
}
