import { existsSync, lstatSync } from "node:fs";
import { join } from "node:path";
import { Refused } from "../../kernel/result.ts";
import type { ObjectFormat } from "./blob.ts";
import {
  configVariables,
  type RepositoryProgram,
  replacePrograms,
  repositoryPrograms,
  withoutFilters,
} from "./repository-programs.ts";
import { type GitInput, type GitOutput, gitEnvironment, isContentFree, runGit } from "./run-git.ts";

/** Says whether programs that the repository's own configuration names may run; `top` is its work tree. */
export type AllowsPrograms = (programs: RepositoryProgram[], top: string) => boolean;

/** The repository's folders, its object format, and the workspace's folder within the work tree ("" or "docs/"). */
type Place = { gitDir: string; commonDir: string; prefix: string; format: ObjectFormat };

type Options = {
  /** Another checkout of the repository, in which an agent may have written. */
  gitDir?: string | undefined;
  /** False: no filter runs, not even one of the person. */
  filters?: boolean;
};

/** Runs git in a folder so that no program starts that only the repository names, unless `allows` says so. */
export function guardedGit(root: string, environment: Record<string, string | undefined>, allows: AllowsPrograms) {
  const env = gitEnvironment(environment);
  const start = async (args: string[], input?: GitInput, more: Record<string, string> = {}) =>
    refuseForeign(await runGit(args, { cwd: root, env: { ...env, ...more }, input }));
  const bare = (args: string[], input?: GitInput) => start(args, input);
  const programsIn = repositoryPrograms(bare);
  let place: Promise<Place> | undefined;

  async function readPlace(): Promise<Place> {
    const folders = ["--path-format=absolute", "--git-dir", "--git-common-dir"];
    const { code, stdout, stderr } = await bare(["rev-parse", ...folders, "--show-object-format", "--show-prefix"]);
    if (code !== 0) throw new Refused({ code: "not_found", message: whyNoRepository(root, stderr) });
    const [gitDir = "", commonDir = "", format, prefix = ""] = stdout.toString("utf8").trimEnd().split("\n");
    return { gitDir, commonDir, prefix, format: format === "sha256" ? "sha256" : "sha1" };
  }

  /** Cached once found: before `init` there is no repository. */
  function findPlace(): Promise<Place> {
    place ??= readPlace().catch((error: unknown) => {
      place = undefined;
      throw error;
    });
    return place;
  }

  /** Every program that the repository's own configuration names, allowed or not. */
  async function programs(otherGitDir?: string): Promise<RepositoryProgram[]> {
    const { commonDir, gitDir } = await findPlace();
    const folders = [...new Set([commonDir, gitDir, ...(otherGitDir ? [otherGitDir] : [])])];
    return programsIn([join(commonDir, "config"), ...folders.map((folder) => join(folder, "config.worktree"))]);
  }

  async function run(args: string[], input?: GitInput, { gitDir, filters = true }: Options = {}): Promise<GitOutput> {
    if (isContentFree(args)) return bare(args, input);
    const found = await findPlace().catch((error: unknown) => {
      if (error instanceof Refused) return undefined;
      throw error;
    });
    if (!found) return notARepository;
    const named = await programs(gitDir);
    const held = allows(named, topFolder(root, found)) ? [] : named;
    const settings = await replacePrograms(bare, held);
    if (!filters) settings.push(...(await withoutFilters(bare, named, gitDir)));
    const output = await start(args, input, configVariables(settings));
    const needsProgram = output.code !== 0 && held.length > 0 && /filter .*failed/.test(output.stderr);
    return needsProgram ? { ...output, stderr: `${output.stderr.trimEnd()}; ${whyHeld}` } : output;
  }

  return { run, programs: () => programs(), place: findPlace };
}

/** Git reads nothing of a repository that belongs to another user: that must not pass for a folder without one. */
function refuseForeign(output: GitOutput): GitOutput {
  const folder = /dubious ownership in repository at '(.+)'/.exec(output.code === 0 ? "" : output.stderr)?.[1];
  if (folder === undefined) return output;
  const command = `git config --global --add safe.directory ${quoted(folder)}`;
  const message = `git does not use the repository in ${folder}, because it belongs to another user; if you trust it, run: ${command}`;
  throw new Refused({ code: "refused", message });
}

/** The refusal for a git that lacks objects of a partial clone: it must not fetch them by itself. */
export function missingInClone({ code, stderr }: GitOutput): Refused | undefined {
  if (code === 0 || !/from promisor remote|lazy fetching disabled/.test(stderr)) return undefined;
  const message = `this clone lacks objects that its remote has (git clone --filter), and Scriptorium does not fetch; ${fetchRest}`;
  return new Refused({ code: "refused", message });
}

const fetchRest = "to get all of them, run: git fetch --refetch --no-filter";

const quoted = (word: string) => (/^[\w./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

export function whyNoRepository(root: string, stderr: string): string {
  if (!existsSync(join(root, ".git")))
    return `${root} is no longer in a git repository, which the history of the wiki needs; run: scriptorium init ${root}`;
  const [reason = ""] = stderr.replace(/^fatal: /, "").split("\n");
  return lstatSync(join(root, ".git")).isFile()
    ? `git cannot use ${root}/.git (${reason}); if the worktree was pruned, add it again in another folder with git worktree add, and copy .scriptorium/ and your changes into it`
    : `git cannot use ${root}/.git (${reason}); restore it from a backup or a clone`;
}

/** The top of the work tree that a folder is in. */
export const topFolder = (root: string, { prefix }: Place) =>
  join(root, ...prefix.split("/").map((part) => (part === "" ? "" : "..")));

/** The answer of git outside a repository. It is not started: there is no telling whose configuration it would read. */
const notARepository: GitOutput = { code: 128, stdout: Buffer.alloc(0), stderr: "not a git repository" };

const whyHeld =
  "the configuration of this repository names programs that are not allowed; review them with: scriptorium allow";
