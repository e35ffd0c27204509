import { existsSync } from "node:fs";
import { join } from "node:path";
import { blobOf, nullId } from "./blob.ts";
import { type AllowsPrograms, guardedGit, topFolder } from "./guarded-git.ts";
import { failedGit, type GitInput, type GitOutput } from "./run-git.ts";

export type Identity = { name: string; email: string };
export type Head = { branch: string | undefined; commit: string | undefined };

/** The git commands that Scriptorium uses: plumbing, without the repository's hooks and programs. */
export type Git = ReturnType<typeof gitAt>;

export function gitAt(
  root: string,
  environment: Record<string, string | undefined>,
  allows: AllowsPrograms = () => false,
) {
  const { run: guarded, programs, place: findPlace } = guardedGit(root, environment, allows);
  let person: { at: number; found: Promise<Identity | undefined> } | undefined;

  const run = (args: string[], input?: GitInput): Promise<GitOutput> => guarded(args, input);

  /** The output without trailing white space; throws a GitError for any exit code but 0. */
  async function text(args: string[], input?: GitInput): Promise<string> {
    const output = await run(args, input);
    if (output.code !== 0) throw failedGit(args, output);
    return output.stdout.toString("utf8").trimEnd();
  }

  /** Like `text`, but undefined when git exits with an error. */
  async function maybe(args: string[]): Promise<string | undefined> {
    const { code, stdout } = await run(args);
    return code === 0 ? stdout.toString("utf8").trimEnd() : undefined;
  }

  /** The fields of a list that git separates by NUL. */
  const list = async (args: string[], input?: GitInput): Promise<string[]> =>
    (await text(args, input)).split("\0").filter((field) => field !== "");

  async function findPerson(): Promise<Identity | undefined> {
    const [name, email] = await Promise.all([maybe(["config", "user.name"]), maybe(["config", "user.email"])]);
    return name ? { name, email: email ?? "" } : undefined;
  }

  /** The top of the work tree. */
  const topOf = async () => topFolder(root, await findPlace());

  return {
    run,
    text,
    maybe,
    list,

    place: findPlace,

    /** The programs that the repository's own configuration names, allowed or not. */
    programs,

    isRepository: async () => (await maybe(["rev-parse", "--git-dir"])) !== undefined,

    async head(): Promise<Head> {
      const [branch, commit] = await Promise.all([maybe(["symbolic-ref", "-q", "HEAD"]), this.commitAt("HEAD")]);
      return { branch, commit };
    },

    /** The operation that a person is in the middle of, e.g. a rebase; their branch must not move then. */
    async underWay(): Promise<string | undefined> {
      const { gitDir } = await this.place();
      const found = Object.entries(unfinished).find(([file]) => existsSync(join(gitDir, file)));
      return found?.[1];
    },

    /** The person who works here, as git knows them; cached for a second, since every edit asks. */
    person(): Promise<Identity | undefined> {
      if (!person || Date.now() - person.at > 1000) person = { at: Date.now(), found: findPerson() };
      return person.found;
    },

    /** The person as the author of a commit, for which git needs a name and an address. */
    async author(): Promise<Identity> {
      const known = await this.person();
      return { name: known?.name ?? "Scriptorium", email: known?.email || "unknown@localhost.invalid" };
    },

    /** The commit that a ref or revision names. */
    commitAt: (revision: string) => maybe(["rev-parse", "-q", "--verify", `${revision}^{commit}`]),

    treeOf: (commit: string) => text(["rev-parse", `${commit}^{tree}`]),

    /** Sets a ref if it still points at `from` (null: does not exist); false when it moved. */
    async moveRef(ref: string, to: string, from: string | null, reason = "scriptorium"): Promise<boolean> {
      return (await run(["update-ref", "-m", reason, ref, to, from ?? nullId])).code === 0;
    },

    setRef: (ref: string, to: string) => text(["update-ref", ref, to]),

    deleteRef: (ref: string) => run(["update-ref", "-d", ref]),

    async readBlob(blob: string): Promise<Buffer | undefined> {
      const { code, stdout } = await run(["cat-file", "blob", blob]);
      return code === 0 ? stdout : undefined;
    },

    /** Those of the blobs that exist, by name. */
    async readBlobs(blobs: string[]): Promise<Map<string, Buffer>> {
      const { stdout } = await run(["cat-file", "--batch"], blobs.map((blob) => `${blob}\n`).join(""));
      const found = new Map<string, Buffer>();
      for (let at = 0; at < stdout.length; ) {
        const end = stdout.indexOf(10, at);
        const [name, type, size] = stdout.subarray(at, end).toString("utf8").split(" ");
        at = end + 1;
        if (type !== "blob" || !name) continue;
        found.set(name, stdout.subarray(at, at + Number(size)));
        at += Number(size) + 1;
      }
      return found;
    },

    /** The blob of a file in HEAD; the path is relative to the workspace. */
    blobAtHead: (path: string) => maybe(["rev-parse", "-q", "--verify", `HEAD:./${path}`]),

    /** The author of the last commit to a file. */
    lastAuthor: (path: string) => maybe(["log", "-1", "--format=%an", "--", path]),

    /**
     * The blob that `git add` would store for these bytes of a file: line endings, encodings and filters apply. The
     * path is relative to the top of the repository.
     */
    async storedBlob(path: string, bytes: Buffer, { write = false } = {}): Promise<string> {
      return text(["-C", await topOf(), "hash-object", ...(write ? ["-w"] : []), "--stdin", `--path=${path}`], bytes);
    },

    /** True if HEAD has these bytes of a file, in the form in which git stores them. */
    async isCommitted(path: string, bytes: Buffer): Promise<boolean> {
      const [atHead, { prefix }] = await Promise.all([this.blobAtHead(path), findPlace()]);
      if (atHead === undefined || atHead === blobOf(bytes)) return atHead !== undefined;
      return atHead === (await this.storedBlob(prefix + path, bytes));
    },

    /** The last committer of this file, if HEAD has these bytes. */
    async committedBy(path: string, bytes: Buffer): Promise<string | undefined> {
      return (await this.isCommitted(path, bytes)) ? this.lastAuthor(path) : undefined;
    },

    /** Attributes of paths, relative to the top of the repository: `set`, `unset`, `unspecified` or a value. */
    async attributes(paths: string[], names: string[]): Promise<Map<string, Map<string, string>>> {
      const asked = paths.map((path) => `${path}\0`).join("");
      const words = (await text(["-C", await topOf(), "check-attr", "-z", "--stdin", ...names], asked)).split("\0");
      const found = new Map(paths.map((path) => [path, new Map<string, string>()]));
      for (let at = 0; at + 2 < words.length; at += 3)
        found.get(words[at] ?? "")?.set(words[at + 1] ?? "", words[at + 2] ?? "");
      return found;
    },

    /** The newest commit that matches options of `git log`; undefined when none does. */
    lastCommit: async (...options: string[]) => (await maybe(["log", "-1", "--format=%H", ...options])) || undefined,

    /** The values of trailers of the newest commit that matches options of `git log`; "" for a missing one. */
    async lastTrailers(
      keys: string[],
      ...options: string[]
    ): Promise<{ commit: string; values: string[] } | undefined> {
      const format = keys.map((key) => `%x00%(trailers:key=${key},valueonly,separator=%x20)`).join("");
      const found = await maybe(["log", "-1", `--format=%H${format}`, ...options]);
      const [commit, ...values] = found?.split("\0") ?? [];
      return commit ? { commit, values } : undefined;
    },

    /** Paths of tracked and untracked files that match, without ignored ones. */
    files: (...patterns: string[]) =>
      list(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate", "--", ...patterns]),

    /** The index entry of a file as `mode blob stage`. */
    async stagedAt(path: string): Promise<string | undefined> {
      const [entry] = await list(["ls-files", "-s", "-z", "--", `:(literal)${path}`]);
      return entry?.split("\t")[0];
    },

    /** Those of the paths that git ignores. */
    async ignored(paths: string[]): Promise<string[]> {
      const { stdout } = await run(["check-ignore", "-z", "--stdin"], paths.map((path) => `${path}\0`).join(""));
      return stdout
        .toString("utf8")
        .split("\0")
        .filter((path) => path !== "");
    },

    isIgnored: async (path: string) => Boolean(await maybe(["check-ignore", "--", path])),

    /**
     * Changes the person's index by lines of `git update-index --index-info`. Git compares young files with the
     * index and filters them for it; shown a folder without files, it does not.
     */
    async updateIndex(lines: string): Promise<GitOutput> {
      const { gitDir, commonDir } = await findPlace();
      const empty = join(commonDir, "objects");
      const without = ["-C", empty, "--git-dir", gitDir, "--work-tree", empty];
      return run([...without, "update-index", "-z", "--index-info"], lines);
    },

    commitTree: (tree: string, parents: string[], message: string, author: Identity) =>
      text([...asAuthor(author), "commit-tree", tree, ...parents.flatMap((parent) => ["-p", parent])], message),

    /** Commits files on the current branch of a repository that Scriptorium has just created. */
    async commitFiles(paths: string[], message: string, author: Identity): Promise<void> {
      await text(["add", "--", ...paths]);
      await text([...asAuthor(author), "commit", "--quiet", "-m", message]);
    },

    /**
     * Commits these paths as they are in the work tree, deleted ones included, and leaves everything else
     * that the person has staged. Returns the commit.
     */
    async commitOnly(paths: string[], message: string, author: Identity): Promise<string> {
      const literal = "--literal-pathspecs";
      await text([literal, "add", "--all", "--", ...paths]);
      try {
        await text([...asAuthor(author), literal, "commit", "--only", "--quiet", "-m", message, "--", ...paths]);
      } catch (error) {
        await run([literal, "reset", "--quiet", "--", ...paths]);
        throw error;
      }
      return text(["rev-parse", "HEAD"]);
    },

    /** Those of the paths that differ from HEAD: changed, untracked or deleted. Ignored files are left out. */
    async uncommitted(paths: string[]): Promise<string[]> {
      if (paths.length === 0) return [];
      const options = ["--porcelain", "-z", "--no-renames", "--untracked-files=all"];
      const { prefix } = await this.place();
      const found = await list(["--literal-pathspecs", "status", ...options, "--", ...paths]);
      return found.map((line) => line.slice(3 + prefix.length));
    },

    /** Takes paths out of the index that are no longer in the work tree. */
    async forgetStaged(paths: string[]): Promise<void> {
      if (paths.length > 0)
        await run(["--literal-pathspecs", "rm", "--cached", "--quiet", "--ignore-unmatch", "--", ...paths]);
    },

    /** Those of the paths that HEAD has. */
    async committed(paths: string[]): Promise<string[]> {
      if (paths.length === 0 || !(await this.commitAt("HEAD"))) return [];
      return list(["--literal-pathspecs", "ls-tree", "-r", "-z", "--name-only", "HEAD", "--", ...paths]);
    },

    /**
     * Checks a commit out into a folder of its own, on a branch or with a detached HEAD. Filters do not run: git
     * would start them in that folder, where `python -m strip` loads a strip.py that an agent wrote.
     */
    addWorktree: (folder: string, commit: string, branch?: string) =>
      guarded(["worktree", "add", "--force", ...(branch ? ["-B", branch] : ["--detach"]), folder, commit], undefined, {
        filters: false,
      }),

    /** Git in another checkout of the repository, in which no filter runs either. */
    inCheckout({ folder, gitDir }: { folder: string; gitDir: string }) {
      const here = ["-C", folder, "--git-dir", gitDir, "--work-tree", folder];
      return async (args: string[], input?: GitInput): Promise<string> => {
        const output = await guarded([...here, ...args], input, { gitDir, filters: false });
        if (output.code !== 0) throw failedGit(args, output);
        return output.stdout.toString("utf8").trimEnd();
      };
    },

    /** Writes files of another checkout's index into its folder, with the filters started in this work tree. */
    async checkoutFiltered({ folder, gitDir }: { folder: string; gitDir: string }, paths: string[]): Promise<void> {
      const top = await topOf();
      const args = ["-C", top, "--git-dir", gitDir, "--work-tree", top];
      const write = ["checkout-index", "--force", "-z", "--stdin", `--prefix=${folder}/`];
      const output = await guarded([...args, ...write], paths.map((path) => `${path}\0`).join(""), { gitDir });
      if (output.code !== 0) throw failedGit(write, output);
    },

    pruneWorktrees: () => run(["worktree", "prune"]),
  };
}

/** The version of the installed git; undefined when there is none. */
export async function gitVersion(
  folder: string,
  environment: Record<string, string | undefined>,
): Promise<string | undefined> {
  const printed = await gitAt(folder, environment)
    .maybe(["version"])
    .catch(() => undefined);
  return /\d{1,9}(?:\.\d{1,9}){1,4}/.exec(printed ?? "")?.[0];
}

/** Creates a repository unless `root` lies in one; true when it did. */
export async function initRepository(root: string, environment: Record<string, string | undefined>): Promise<boolean> {
  if ((await gitAt(root, environment).maybe(["rev-parse", "--is-inside-work-tree"])) === "true") return false;
  await newRepository(root, environment);
  return true;
}

/** Creates a repository for the folder, also inside another one. */
export async function newRepository(root: string, environment: Record<string, string | undefined>): Promise<void> {
  await gitAt(root, environment).text(["init", "--quiet", "--initial-branch=main"]);
}

const asAuthor = ({ name, email }: Identity) => ["-c", `user.name=${name}`, "-c", `user.email=${email}`];

const unfinished: Record<string, string> = {
  "rebase-merge": "a rebase",
  "rebase-apply": "a rebase",
  MERGE_HEAD: "a merge",
  CHERRY_PICK_HEAD: "a cherry-pick",
  REVERT_HEAD: "a revert",
  BISECT_LOG: "a bisect",
};
