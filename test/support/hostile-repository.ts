import { execFileSync } from "node:child_process";
import { appendFileSync, chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gitIn, temporaryFolder } from "./workspace.ts";

/** Where a repository can define its programs. */
export const places = [
  "in .git/config",
  "in an included file",
  "in a file included for worktrees only",
  "in config.worktree",
] as const;
export type TrapPlace = (typeof places)[number];

/** The name of every driver; an option `-c filter.tr=ap.clean=` would set another key. */
export const driver = "tr=ap";

/**
 * Every configuration key of git that names a program, `*` for a name of the repository's choice. The test of
 * completeness compares them with the keys that the installed git knows.
 */
export const programKeys = [
  ...["core.fsmonitor", "core.sshCommand", "core.editor", "core.pager", "core.askPass", "core.gitProxy"],
  ...["core.alternateRefsCommand", "core.hooksPath", "credential.helper", "credential.*.helper", "diff.external"],
  ...["diff.*.command", "diff.*.textconv", "filter.*.clean", "filter.*.smudge", "filter.*.process"],
  ...["merge.*.driver", "gpg.program", "gpg.openpgp.program", "gpg.ssh.program", "gpg.x509.program"],
  ...["gpg.ssh.defaultKeyCommand", "uploadpack.packObjectsHook", "sequence.editor", "difftool.*.cmd"],
  ...["difftool.*.path", "mergetool.*.cmd", "mergetool.*.path", "guitool.*.cmd", "man.*.cmd", "man.*.path"],
  ...["browser.*.cmd", "browser.*.path", "help.browser", "web.browser", "instaweb.browser", "instaweb.httpd"],
  ...["interactive.diffFilter", "submodule.*.update", "trailer.*.command", "trailer.*.cmd", "sendemail.ccCmd"],
  ...["sendemail.toCmd", "sendemail.sendmailCmd", "sendemail.headerCmd", "imap.tunnel", "pager.*", "alias.*"],
  ...["remote.*.uploadpack", "remote.*.receivepack", "remote.*.vcs", "gc.recentObjectsHook", "hook.*.command"],
];

/** Keys of which a name suggests a program, and the documentation says that there is none. */
export const dataKeys = new Set([
  ...["advice.ignoredHook", "advice.waitingForEditor", "color.pager", "completion.commands"],
  ...["core.fsmonitorHookVersion", "diff.guitool", "diff.tool", "merge.guitool", "merge.tool", "http.proxy"],
  ...["gitcvs.dbDriver", "rebase.abbreviateCommands", "rebase.rescheduleFailedExec", "clean.requireForce"],
  ...["column.clean", "commit.cleanup", "gpg.format", "man.viewer", "notes.rewrite.*", "remote.*.proxy"],
  ...["advice.pushRefNeedsUpdate", "fsck.gitmodulesUpdate", "receive.fsck.gitmodulesUpdate", "receive.shallowUpdate"],
  ...["remote.*.skipDefaultUpdate", "rerere.autoUpdate"],
  ...["receive.updateServerInfo", "repack.updateServerInfo", "diff.*.cachetextconv", "mergetool.hideResolved"],
]);

/** Settings that make git use the programs, and conditions under which it would. */
const switches: [string, string][] = [
  ["log.showSignature", "true"],
  ["commit.gpgSign", "true"],
  ["tag.gpgSign", "true"],
  ["submodule.recurse", "true"],
  ["status.submoduleSummary", "true"],
  ["diff.submodule", "diff"],
  ["diff.ignoreSubmodules", "none"],
  ["merge.default", driver],
  ["protocol.ext.allow", "always"],
  ["hook.trap.event", "reference-transaction"],
  ["remote.origin.url", "ext::sh -c %S"],
];

const hooks = [
  ...["applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg"],
  ...["commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-receive", "update"],
  ...["proc-receive", "post-receive", "post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc"],
  ...["post-rewrite", "sendemail-validate", "fsmonitor-watchman", "post-index-change"],
];

export type Traps = {
  /** The names of the programs that ran. */
  sprung(): string[];
  reset(): void;
  /** The path of a program that records this name and copies its input. */
  command(name: string): string;
};

/** Programs that record their names and otherwise act as filters that change nothing. Git starts some without a shell. */
export function newTraps(): Traps {
  const folder = temporaryFolder();
  const record = join(folder, "sprung");
  return {
    sprung: () => (existsSync(record) ? [...new Set(readFileSync(record, "utf8").trim().split("\n"))].sort() : []),
    reset: () => rmSync(record, { force: true }),
    command(name) {
      const script = join(folder, name.replace(/[^\w-]+/g, "_"));
      writeFileSync(script, `#!/bin/sh\necho '${name}' >> '${record}'\nexec cat\n`, { mode: 0o755 });
      return script;
    },
  };
}

/**
 * Makes a repository hostile: a trap behind every program key, all hooks, attributes that send every file through the
 * drivers, a signed commit, and a submodule with traps of its own.
 */
export function plantTraps(root: string, place: TrapPlace, traps: Traps, { process = false } = {}): void {
  const git = gitIn(root);
  addSubmodule(root, traps);
  writeFileSync(join(root, ".gitattributes"), `* filter=${driver} diff=${driver} merge=${driver}\n`);
  git("add", "--", ".gitattributes", ".gitmodules");
  git("update-index", "--add", "--cacheinfo", `160000,${gitIn(join(root, "sub"))("rev-parse", "HEAD")},sub`);
  git("commit", "-qm", "Add attributes and a submodule");
  signHead(root);
  plantHooks(join(root, ".git/hooks"), traps);
  plantHooks(join(root, ".git/other-hooks"), traps);
  put(root, { ".git/info/attributes": `* filter=${driver} diff=${driver} merge=${driver}\n` });
  const file = configFile(root, place);
  const set = (key: string, value: string) => execFileSync("git", ["config", "--file", file, key, value]);
  for (const key of programKeys) {
    if (key === "filter.*.process" && !process) continue;
    if (key === "filter.*.clean" && process) continue;
    if (key === "core.hooksPath") set(key, join(root, ".git/other-hooks"));
    else if (key === "alias.*")
      for (const name of ["log", "status", "worktree"]) set(`alias.${name}`, `!${traps.command(key)}`);
    else if (key === "pager.*") for (const name of ["log", "diff", "config"]) set(`pager.${name}`, traps.command(key));
    else if (key === "submodule.*.update") set("submodule.sub.update", `!${traps.command(key)}`);
    else if (key.startsWith("remote.")) set(key.replace("*", "origin"), traps.command(key));
    else if (key.startsWith("hook.")) set(key.replace("*", "trap"), traps.command(key));
    else set(key.replace("*", driver), traps.command(key));
  }
  for (const [key, value] of switches) set(key, value);
}

function configFile(root: string, place: TrapPlace): string {
  const config = join(root, ".git/config");
  if (place === "in .git/config") return config;
  if (place === "in config.worktree") {
    gitIn(root)("config", "extensions.worktreeConfig", "true");
    return join(root, ".git/config.worktree");
  }
  const condition = place === "in an included file" ? "include" : 'includeIf "gitdir:**/worktrees/**"';
  appendFileSync(config, `[${condition}]\n\tpath = deep/first.inc\n`);
  mkdirSync(join(root, ".git/deep"));
  writeFileSync(join(root, ".git/deep/first.inc"), "[include]\n\tpath = second.inc\n");
  return join(root, ".git/deep/second.inc");
}

function plantHooks(folder: string, traps: Traps): void {
  mkdirSync(folder, { recursive: true });
  for (const hook of hooks) {
    writeFileSync(join(folder, hook), `#!/bin/sh\n${traps.command(`hook:${hook}`)} < /dev/null\n`);
    chmodSync(join(folder, hook), 0o755);
  }
}

/** A populated submodule with a changed file, so that git looks into it, and a monitor and filter of its own. */
function addSubmodule(root: string, traps: Traps): void {
  const folder = join(root, "sub");
  mkdirSync(folder);
  const git = gitIn(folder);
  execFileSync("git", ["init", "-q", "-b", "main", folder]);
  writeFileSync(join(folder, "inner.txt"), "inner\n");
  writeFileSync(join(folder, ".gitattributes"), "* filter=inner\n");
  git("add", "-A");
  git("-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "-qm", "inner");
  git("config", "filter.inner.clean", traps.command("submodule:filter"));
  git("config", "core.fsmonitor", traps.command("submodule:fsmonitor"));
  writeFileSync(join(folder, "inner.txt"), "outer\n");
  writeFileSync(join(root, ".gitmodules"), '[submodule "sub"]\n\tpath = sub\n\turl = ext::sh -c touch%20x\n');
}

/** Replaces HEAD by a first commit of all files with a signature, which git would have a program verify for each. */
function signHead(root: string): void {
  const git = gitIn(root);
  const signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ==\n -----END PGP SIGNATURE-----";
  const commit = git("cat-file", "commit", "HEAD").replace(/^parent .*\n/gm, "");
  const text = `${commit.replace("\n\n", `\n${signature}\n\n`)}\n`;
  const made = execFileSync("git", ["-C", root, "hash-object", "-t", "commit", "-w", "--stdin"], {
    input: text,
    encoding: "utf8",
  });
  git("update-ref", "HEAD", made.trim());
}

/** Writes files below a folder. */
export function put(root: string, files: Record<string, string | Buffer>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}
