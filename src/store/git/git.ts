import { existsSync, lstatSync } from "node:fs";
import { join } from "node:path";
import { Refused } from "../../kernel/result.ts";
import { batches } from "../batches.ts";
import { isBlob, nullId, type ObjectFormat } from "./blob.ts";
import { type AllowsPrograms, guardedGit, missingInClone, topFolder, whyNoRepository } from "./guarded-git.ts";
import { failedGit, type GitInput, type GitOutput } from "./run-git.ts";
import { runningGit } from "./running-git.ts";

export type Identity = { name: string; email: string };
/** Of a regular file; git knows no other permissions. */
export type FileMode = "100644" | "100755";
export type Head = { branch: string | undefined; commit: string | undefined };

/** The git commands that Scriptorium uses: plumbing, without the repository's hooks and programs. */
export type Git = ReturnType<typeof gitAt>;

export function gitAt(
  root: string,
  environment: Record<string, string | undefined>,
  allows: AllowsPrograms = () => false,
) {
  const { run: guarded, programs, place: findPlace } = guardedGit(root, environment, allows);
  let tracksModes: Promise<boolean> | undefined;
  let person: { at: number; found: Promise<Identity | undefined> } | undefined;

  const run = (args: string[], input?: GitInput): Promise<GitOutput> => guarded(args, input);

  /** The output without trailing white space; throws a GitError for any exit code but 0. */
  async function text(args: string[], input?: GitInput): Promise<string> {
    const output = await run(args, input);
    if (output.code !== 0) throw missingInClone(output) ?? failedGit(args, output);
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
    /** The folder of the workspace. */
    root,
    run,
    text,
    maybe,
    list,

    place: findPlace,

    /** The format of the repository's object names; of the older format outside a repository. */
    async objectFormat(): Promise<ObjectFormat> {
      try {
        return (await findPlace()).format;
      } catch (error) {
        if (error instanceof Refused) return "sha1";
        throw error;
      }
    },

    /** The programs that the repository's own configuration names, allowed or not. */
    programs,

    isRepository: async () => (await maybe(["rev-parse", "--git-dir"])) !== undefined,

    async head(): Promise<Head> {
      const [branch, commit] = await Promise.all([maybe(["symbolic-ref", "-q", "HEAD"]), this.commitAt("HEAD")]);
      return { branch, commit };
    },

    /** The operation that a person is in the middle of, e.g. a rebase; their branch must not move then. */
    async underWay(): Promise<string | undefined> {
      const { gitDir, commonDir } = await this.place();
      return unfinishedIn(gitDir) ?? runningGit([await topOf(), gitDir, commonDir], environment);
    },

    /** The person who works here, as git knows them; cached for a second, since every edit asks. */
    person(): Promise<Identity | undefined> {
      if (!person || Date.now() - person.at > 1000) person = { at: Date.now(), found: findPerson() };
      return person.found;
    },

    /** Whether the person's own commits are signed; Scriptorium signs approvals only (signed-import.ts). */
    async signsCommits(): Promise<boolean> {
      const lines = (await maybe(["config", "--show-scope", "--type=bool", "--get-all", "commit.gpgSign"])) ?? "";
      // Our own command line switches signing off; before it come the person's and the repository's settings.
      return (
        lines
          .split("\n")
          .findLast((line) => !line.startsWith("command\t"))
          ?.endsWith("\ttrue") ?? false
      );
    },

    /** The person as the author of a commit, for which git needs a name and an address. */
    async author(): Promise<Identity> {
      const known = await this.person();
      return { name: known?.name ?? "Scriptorium", email: known?.email || "unknown@localhost.invalid" };
    },

    /** The commit that a ref or revision names. */
    commitAt: (revision: string) =>
      // As a revision, the name of a missing ref would also find a branch or a tag that is called like it.
      revision.startsWith("refs/")
        ? maybe(["show-ref", "--verify", "--hash", revision])
        : maybe(["rev-parse", "-q", "--verify", `${revision}^{commit}`]),

    /** True if `later` has `earlier` in its history; false also when one of them is missing. */
    isAncestor: async (earlier: string, later: string) =>
      (await run(["merge-base", "--is-ancestor", earlier, later])).code === 0,

    treeOf: (commit: string) => text(["rev-parse", `${commit}^{tree}`]),

    /** Sets a ref if it still points at `from` (null: does not exist), and deletes another; false when it moved. */
    async moveRef(
      ref: string,
      to: string,
      from: string | null,
      { reason = "scriptorium", andDelete }: { reason?: string | undefined; andDelete?: string } = {},
    ): Promise<boolean> {
      const old = from ?? nullId((await findPlace()).format);
      const lines = [`update ${ref} ${to} ${old}`, ...(andDelete ? [`delete ${andDelete}`] : [])];
      return (await run(["update-ref", "-m", reason, "--stdin"], `${lines.join("\n")}\n`)).code === 0;
    },

    setRef: (ref: string, to: string) => text(["update-ref", ref, to]),

    deleteRef: (ref: string) => run(["update-ref", "-d", ref]),

    /** True if git has the objects that all these revisions name. */
    async hasObjects(revisions: string[]): Promise<boolean> {
      const asked = revisions.map((revision) => `${revision}\n`).join("");
      const { code, stdout } = await run(["cat-file", "--batch-check=%(objectname)"], asked);
      return code === 0 && !/ (missing|ambiguous)$/m.test(stdout.toString("utf8"));
    },

    /** Undefined when git does not have it; refused when only the remote of a partial clone does. */
    async readBlob(blob: string): Promise<Buffer | undefined> {
      const output = await run(["cat-file", "blob", blob]);
      const missing = missingInClone(output);
      if (missing) throw missing;
      return output.code === 0 ? output.stdout : undefined;
    },

    /** How many objects of a ref's history in these folders only the remote of a partial clone has. */
    async countRemote(ref: string, folders: string[]): Promise<number> {
      if (!(await maybe(["config", "--get-regexp", "^remote\\..*\\.partialclonefilter$"]))) return 0;
      const own = folders.map((folder) => `:(literal)${folder}`);
      const listed = await maybe(["rev-list", "--objects", "--missing=print", ref, "--", ...own]);
      return (listed ?? "").split("\n").filter((line) => line.startsWith("?")).length;
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

    /** The sizes of those blobs that exist, without reading them. */
    async sizes(blobs: string[]): Promise<Map<string, number>> {
      if (blobs.length === 0) return new Map();
      const asked = blobs.map((blob) => `${blob}\n`).join("");
      const { stdout } = await run(["cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)"], asked);
      const found = stdout
        .toString("utf8")
        .split("\n")
        .map((line) => line.split(" "));
      return new Map(found.flatMap(([name, type, size]) => (name && type === "blob" ? [[name, Number(size)]] : [])));
    },

    top: topOf,

    /** Those of the paths that a commit has as regular files; paths are relative to the top of the repository. */
    async filesAt(commit: string, paths: string[]): Promise<Map<string, { mode: FileMode; blob: string }>> {
      const found = new Map<string, { mode: FileMode; blob: string }>();
      for (const batch of batches(paths, pathsAtOnce)) {
        for (const line of await list([
          "--literal-pathspecs",
          "ls-tree",
          "-z",
          "--full-tree",
          commit,
          "--",
          ...batch,
        ])) {
          const [, mode, blob, path] = /^(100644|100755) blob (\w+)\t(.+)$/s.exec(line) ?? [];
          if (mode && blob && path) found.set(path, { mode: mode as FileMode, blob });
        }
      }
      return found;
    },

    /** The mode that `git add` gives a new file; the path is relative to the top of the repository. */
    async modeOf(path: string): Promise<FileMode> {
      tracksModes ??= maybe(["config", "--type=bool", "core.fileMode"]).then((value) => value !== "false");
      const found = lstatSync(join(await topOf(), path), { throwIfNoEntry: false });
      return found?.isFile() && found.mode & 0o100 && (await tracksModes) ? "100755" : "100644";
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

    /** Stores files of the workspace as `git add` would; the blobs are in the order of the paths. */
    async storeFiles(paths: string[]): Promise<string[]> {
      if (paths.length === 0) return [];
      // Git takes these paths from the top, wherever it is started.
      const { prefix } = await findPlace();
      const lines = paths.map((path) => `${prefix}${path}\n`).join("");
      return (await text(["hash-object", "-w", "--stdin-paths"], lines)).split("\n");
    },

    /** True if HEAD has these bytes of a file, in the form in which git stores them. */
    async isCommitted(path: string, bytes: Buffer): Promise<boolean> {
      const [atHead, { prefix }] = await Promise.all([this.blobAtHead(path), findPlace()]);
      if (atHead === undefined || isBlob(bytes, atHead)) return atHead !== undefined;
      return atHead === (await this.storedBlob(prefix + path, bytes));
    },

    /** The last committer of this file, if HEAD has these bytes. */
    async committedBy(path: string, bytes: Buffer): Promise<string | undefined> {
      return (await this.isCommitted(path, bytes)) ? this.lastAuthor(path) : undefined;
    },

    /** The authors of the last commits to those files of a folder that are as HEAD has them, by path. */
    async committedAuthors(folder: string): Promise<Map<string, string>> {
      const authors = new Map<string, string>();
      if (!(await this.commitAt("HEAD"))) return authors;
      const [changed, log] = await Promise.all([
        this.uncommitted([folder]),
        text(["log", "--format=%x01%an", "--name-only", "--relative", "-z", "--", folder]),
      ]);
      for (const commit of log.split("\u0001")) {
        const [author = "", ...paths] = commit.split(/[\0\n]+/);
        for (const path of paths) if (!authors.has(path)) authors.set(path, author);
      }
      for (const path of changed) authors.delete(path);
      return authors;
    },

    /** The reasons of the last moves of a ref, newest first; none without a reflog. */
    async reflog(ref: string, count: number): Promise<string[]> {
      const found = await maybe(["log", "-g", "-n", String(count), "--format=%gs", ref, "--"]);
      return found === undefined ? [] : found.split("\n");
    },

    /** How HEAD has moved since a time, newest first: `checkout: moving from a to b`, `commit: …`, `reset: …`. */
    async movesSince(at: string): Promise<string[]> {
      const found = await maybe(["log", "-g", "-n", "50", "--date=unix", "--format=%gd%x00%gs", "HEAD"]);
      const since = Math.floor(Date.parse(at) / 1000);
      return (found ?? "").split("\n").flatMap((line) => {
        const [, time, move] = /^HEAD@\{(\d+)\}\0(.*)$/.exec(line) ?? [];
        return time && move && Number(time) >= since ? [move] : [];
      });
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

    /** The path that a file was renamed to in the commit that removed it, as git detects renames. */
    async renamedTo(path: string): Promise<string | undefined> {
      const removed = await this.lastCommit("--", `:(literal)${path}`);
      if (removed === undefined) return undefined;
      const { prefix } = await findPlace();
      const options = ["-r", "-z", "-M", "--no-commit-id", "--name-status", "--diff-filter=R"];
      const fields = await list(["diff-tree", ...options, removed]);
      // Each rename is three fields: R and the similarity, the old path, the new one.
      const at = fields.findIndex((field, i) => i % 3 === 1 && field === prefix + path);
      const to = at < 0 ? undefined : fields[at + 1];
      return to?.startsWith(prefix) ? to.slice(prefix.length) : undefined;
    },

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

    /** True for a file that a sparse checkout leaves out of the work tree. */
    async isLeftOut(path: string): Promise<boolean> {
      const [entry] = await list(["ls-files", "-t", "-z", "--", `:(literal)${path}`]);
      return entry?.startsWith("S ") ?? false;
    },

    /** Those of the paths that git ignores. */
    async ignored(paths: string[]): Promise<string[]> {
      if (paths.length === 0) return [];
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

    /** Git in a checkout of the person, with their filters: this one or a linked worktree. */
    async inWorktree(folder: string) {
      const gitDir = await text(["-C", folder, "rev-parse", "--absolute-git-dir"]);
      return {
        gitDir,
        underWay: () => unfinishedIn(gitDir),
        run: (args: string[], input?: GitInput) => guarded(["-C", folder, ...args], input, { gitDir }),
      };
    },

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
  const { code, stdout, stderr } = await gitAt(root, environment).run(["rev-parse", "--is-inside-work-tree"]);
  if (code === 0 && stdout.toString("utf8").trim() === "true") return false;
  // Git would complete what is there, and a later failure would take it for ours and delete it.
  if (existsSync(join(root, ".git"))) throw new Refused({ code: "refused", message: whyNoRepository(root, stderr) });
  await newRepository(root, environment);
  return true;
}

/** Creates a repository for the folder, also inside another one. */
export async function newRepository(root: string, environment: Record<string, string | undefined>): Promise<void> {
  await gitAt(root, environment).text(["init", "--quiet", "--initial-branch=main"]);
}

/** Arguments of one process are limited to 128 KiB on some systems. */
const pathsAtOnce = 500;

const asAuthor = ({ name, email }: Identity) => ["-c", `user.name=${name}`, "-c", `user.email=${email}`];

const unfinishedIn = (gitDir: string) =>
  Object.entries(unfinished).find(([file]) => existsSync(join(gitDir, file)))?.[1];

const unfinished: Record<string, string> = {
  "rebase-merge": "a rebase",
  "rebase-apply": "a rebase",
  MERGE_HEAD: "a merge",
  CHERRY_PICK_HEAD: "a cherry-pick",
  REVERT_HEAD: "a revert",
  BISECT_LOG: "a bisect",
};
