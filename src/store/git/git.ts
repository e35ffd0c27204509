import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Refused } from "../../kernel/result.ts";

type Output = { code: number; stdout: Buffer; stderr: string };
type Input = string | Buffer | (string | Buffer)[];

export type Identity = { name: string; email: string };
export type Head = { branch: string | undefined; commit: string | undefined };

/** The part of git that Scriptorium uses: plumbing only, no hooks, nothing from the repository's own programs. */
export type Git = ReturnType<typeof gitAt>;

export function gitAt(root: string, environment: Record<string, string | undefined>) {
  const env = cleanEnvironment(environment);
  let place: Promise<{ gitDir: string; prefix: string }> | undefined;
  let person: { at: number; found: Promise<Identity | undefined> } | undefined;

  async function run(args: string[], input?: Input): Promise<Output> {
    return execute("git", [...guards, "-C", root, ...args], env, input);
  }

  async function text(args: string[], input?: Input): Promise<string> {
    const { code, stdout, stderr } = await run(args, input);
    if (code !== 0) throw new Error(`git ${args[0]} failed (${code}): ${stderr.trim()}`);
    return stdout.toString("utf8").trimEnd();
  }

  async function maybe(args: string[]): Promise<string | undefined> {
    const { code, stdout } = await run(args);
    return code === 0 ? stdout.toString("utf8").trimEnd() : undefined;
  }

  async function findPerson(): Promise<Identity | undefined> {
    const [name, email] = await Promise.all([maybe(["config", "user.name"]), maybe(["config", "user.email"])]);
    return name ? { name, email: email ?? "" } : undefined;
  }

  return {
    run,
    text,
    maybe,

    /** Where the repository keeps its state, and the workspace's folder within it ("" or "docs/"). */
    place() {
      place ??= maybe(["rev-parse", "--absolute-git-dir", "--show-prefix"]).then((lines) => {
        const message = `${root} is in no git repository any more, and history is kept in git; run: scriptorium init ${root}`;
        if (lines === undefined) throw new Refused({ code: "not_found", message });
        const [gitDir = "", prefix = ""] = lines.split("\n");
        return { gitDir, prefix };
      });
      return place;
    },

    /**
     * Changes the person's index. Git compares young files with it on the way, through whatever
     * filter the repository names; shown a folder without those files, it runs nothing.
     */
    async updateIndex(lines: string): Promise<Output> {
      const { gitDir } = await this.place();
      const elsewhere = join(gitDir, "objects");
      const blind = ["-C", elsewhere, "--git-dir", gitDir, "--work-tree", elsewhere];
      return run([...blind, "update-index", "-z", "--index-info"], lines);
    },

    async head(): Promise<Head> {
      const [branch, commit] = await Promise.all([
        maybe(["symbolic-ref", "-q", "HEAD"]),
        maybe(["rev-parse", "-q", "--verify", "HEAD^{commit}"]),
      ]);
      return { branch, commit };
    },

    /** What a person is in the middle of; then nothing may move their branch. */
    async underWay(): Promise<string | undefined> {
      const { gitDir } = await this.place();
      const found = Object.entries(unfinished).find(([file]) => existsSync(join(gitDir, file)));
      return found?.[1];
    },

    async readBlob(blob: string): Promise<Buffer | undefined> {
      const { code, stdout } = await run(["cat-file", "blob", blob]);
      return code === 0 ? stdout : undefined;
    },

    /** The person who works here, as git knows them. Asked for every edit, so an answer holds for a moment. */
    person(): Promise<Identity | undefined> {
      if (!person || Date.now() - person.at > 1000) person = { at: Date.now(), found: findPerson() };
      return person.found;
    },

    /** Who last committed this file, if its bytes are what HEAD has. */
    async committedBy(path: string, blob: string): Promise<string | undefined> {
      const atHead = await maybe(["rev-parse", "-q", "--verify", `HEAD:./${path}`]);
      if (atHead !== blob) return undefined;
      return maybe(["log", "-1", "--format=%an", "--", path]);
    },
  };
}

/** Makes a repository unless `root` lies in one already; says whether it did. */
export async function initRepository(root: string, environment: Record<string, string | undefined>): Promise<boolean> {
  if ((await gitAt(root, environment).maybe(["rev-parse", "--is-inside-work-tree"])) === "true") return false;
  await newRepository(root, environment);
  return true;
}

/** A repository of the folder's own, also inside another one. */
export async function newRepository(root: string, environment: Record<string, string | undefined>): Promise<void> {
  await gitAt(root, environment).text(["init", "--quiet", "--initial-branch=main"]);
}

const unfinished: Record<string, string> = {
  "rebase-merge": "a rebase",
  "rebase-apply": "a rebase",
  MERGE_HEAD: "a merge",
  CHERRY_PICK_HEAD: "a cherry-pick",
  REVERT_HEAD: "a revert",
  BISECT_LOG: "a bisect",
};

const guards = [
  ["core.hooksPath", "/dev/null"],
  ["core.fsmonitor", "false"],
  ["protocol.ext.allow", "never"],
  ["gc.auto", "0"],
  ["core.fsync", "all"],
  ["core.fsyncMethod", "batch"],
  ["core.quotePath", "false"],
].flatMap(([key, value]) => ["-c", `${key}=${value}`]);

/** Inherited GIT_* variables would point us at another repository, index or program. */
function cleanEnvironment(environment: Record<string, string | undefined>): Record<string, string> {
  const kept = Object.entries(environment).filter(
    (pair): pair is [string, string] =>
      pair[1] !== undefined && /^(PATH|HOME|USER|LANG|LC_\w+|TMPDIR|XDG_CONFIG_HOME)$/.test(pair[0]),
  );
  return { ...Object.fromEntries(kept), GIT_TERMINAL_PROMPT: "0", GIT_OPTIONAL_LOCKS: "0", LC_ALL: "C" };
}

function execute(file: string, args: string[], env: Record<string, string>, input?: Input): Promise<Output> {
  return new Promise((done, fail) => {
    const child = spawn(file, args, { env, stdio: ["pipe", "pipe", "pipe"] });
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    child.stdout.on("data", (chunk) => stdout.push(chunk));
    child.stderr.on("data", (chunk) => stderr.push(chunk));
    child.on("error", (error: NodeJS.ErrnoException) =>
      fail(
        error.code === "ENOENT" ? new Error("git is not installed, and Scriptorium keeps its history in it") : error,
      ),
    );
    child.on("close", (code) =>
      done({ code: code ?? 1, stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr).toString("utf8") }),
    );
    // The child may end before it has read everything; its exit code then says why.
    child.stdin.on("error", () => undefined);
    for (const part of input === undefined ? [] : [input].flat()) child.stdin.write(part);
    child.stdin.end();
  });
}
