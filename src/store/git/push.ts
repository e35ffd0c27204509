import { spawn } from "node:child_process";
import { ok, type Result, refuse } from "../../kernel/result.ts";

/**
 * Pushes a branch as the person who asked for it: with their keys, credential helpers and proxies, which `run-git.ts`
 * takes away from every other call. Hooks do not run, and a repository whose own configuration names programs for the
 * transport is refused: the person can push it in a shell.
 */
type Options = { root: string; env: Record<string, string | undefined> };

export type Remote = {
  name: string;
  /** As configured; tells which forge it is. */
  configured: string;
  /** Where git really pushes to, without a password. */
  url: string;
};

const pushMs = 5 * 60_000;
const previewMs = 20_000;
const pushing = ["--no-verify", "--no-follow-tags", "--porcelain"];
const keptOutput = 64 * 1024;

/** The remote of this name, or the only one, or `origin`. */
export async function findRemote(options: Options, name: string | undefined): Promise<Result<Remote>> {
  const names = (await git(["remote"], options)).stdout.split("\n").filter((one) => one !== "");
  const chosen = name ?? (names.length === 1 ? names[0] : names.find((one) => one === "origin"));
  if (names.length === 0) return refuse("not_found", "the repository has no remote; add one with: git remote add");
  if (chosen === undefined || !names.includes(chosen))
    return refuse(
      "not_found",
      `${name === undefined ? "name the remote" : `remote ${name} does not exist`}; there are ${names.join(", ")}`,
    );
  const configured = (await git(["config", "--get", `remote.${chosen}.url`], options)).stdout.trim();
  const { code, stdout, stderr } = await git(["remote", "get-url", "--push", chosen], options);
  if (code !== 0) return refuse("not_found", `git does not know where to push to: ${stderr.trim()}`);
  return ok({ name: chosen, configured: withoutPassword(configured), url: withoutPassword(stdout.trim()) });
}

/** Settings of the repository's own configuration that would choose a program or a server for the transport. */
async function foreignSettings(options: Options): Promise<string[]> {
  const keys =
    "^(core\\.(sshcommand|askpass|gitproxy)|credential\\..*|credential|remote\\..*\\.(receivepack|uploadpack|vcs|proxy)|http\\..*proxy.*|ssh\\..*)$";
  const { stdout } = await git(["config", "--show-scope", "-z", "--name-only", "--get-regexp", keys], options);
  const words = stdout.split("\0");
  return words.flatMap((word, at) => (at % 2 === 0 && /^(local|worktree)$/.test(word) ? (words[at + 1] ?? []) : []));
}

/**
 * The commit on the remote that a push of the branch would replace, because its history is another one. Undefined if
 * there is none, or the remote does not answer.
 */
export async function replacedByPush(options: Options, remote: Remote, branch: string): Promise<string | undefined> {
  if ((await foreignSettings(options)).length > 0) return undefined;
  const ref = `refs/heads/${branch}`;
  // ls-remote with the remote's name would ask where fetches come from, which `pushurl` may have made another place.
  const url = (await git(["remote", "get-url", "--push", remote.name], options)).stdout.trim();
  const { stdout } = await git(["ls-remote", "--", url, ref], options, previewMs);
  const [there] = /^[0-9a-f]{40,64}(?=\t)/m.exec(stdout) ?? [];
  if (there === undefined) return undefined;
  // A commit that is not here cannot be an ancestor.
  const { code } = await git(["merge-base", "--is-ancestor", there, ref], options);
  return code === 0 ? undefined : there;
}

/** Pushes without force, unless `replace` names the commit on the remote that may be replaced. */
export async function pushBranch(
  options: Options,
  remote: Remote,
  branch: string,
  replace?: string,
): Promise<Result<true>> {
  const foreign = await foreignSettings(options);
  if (foreign.length > 0)
    return refuse(
      "refused",
      `the repository's own configuration sets ${[...new Set(foreign)].join(", ")}, which may run programs; push yourself: git push ${remote.name} ${branch}`,
    );
  const ref = `refs/heads/${branch}`;
  const lease = replace === undefined ? [] : [`--force-with-lease=${ref}:${replace}`];
  const args = ["push", ...pushing, ...lease, remote.name, `${ref}:${ref}`];
  const { code, stdout, stderr } = await git(args, options);
  if (code === 0) return ok(true);
  if (/\((non-fast-forward|fetch first|stale info)\)/.test(stdout))
    return refuse(
      "conflict",
      `${branch} on ${remote.name} has other commits than when you looked; nothing was pushed, look at it again`,
    );
  const why = [...stdout.split("\n").filter((line) => line.startsWith("!")), stderr.trim()].join(" ").trim();
  return refuse("refused", `git could not push ${branch} to ${remote.name} (${remote.url}): ${why.slice(-2000)}`);
}

const isolation = [
  ["core.hooksPath", "/dev/null"],
  ["core.fsmonitor", "false"],
  ["protocol.ext.allow", "never"],
  ["push.recurseSubmodules", "no"],
  ["submodule.recurse", "false"],
  ["gc.auto", "0"],
].flatMap(([key, value]) => ["-c", `${key}=${value}`]);

/** Inherited variables that would point git at another repository or give it other settings. */
const redirecting =
  /^GIT_(DIR|WORK_TREE|INDEX_FILE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|COMMON_DIR|NAMESPACE|EXEC_PATH|TEMPLATE_DIR|CONFIG|CONFIG_COUNT|CONFIG_PARAMETERS|CONFIG_(KEY|VALUE)_\d+)$/;

function git(
  args: string[],
  { root, env }: Options,
  mostMs = pushMs,
): Promise<{ code: number; stdout: string; stderr: string }> {
  const passed = Object.entries(env).filter(([name, value]) => value !== undefined && !redirecting.test(name));
  return new Promise((done, fail) => {
    const child = spawn("git", [...isolation, "-C", root, ...args], {
      env: { ...Object.fromEntries(passed), GIT_TERMINAL_PROMPT: "0", LC_ALL: "C" },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: mostMs,
      killSignal: "SIGKILL",
    });
    let [stdout, stderr] = ["", ""];
    child.stdout.on("data", (chunk) => (stdout = (stdout + chunk).slice(-keptOutput)));
    child.stderr.on("data", (chunk) => (stderr = (stderr + chunk).slice(-keptOutput)));
    child.on("error", fail);
    child.on("close", (code) => done({ code: code ?? 1, stdout, stderr }));
  });
}

const withoutPassword = (url: string) => url.replace(/^(\w[\w+.-]*:\/\/)[^/@]*@/, "$1");
