import { existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { findSandbox } from "../agents/sandbox.ts";
import { type Environment, findWorkspace } from "../config/environment.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import { gitAt } from "../store/git/git.ts";
import { GitError } from "../store/git/run-git.ts";
import { detectClients, type FoundClient } from "./clients/detect.ts";

/** What `init` finds where a workspace is to be. */
export type Surroundings = {
  /** Undefined where a repository would be created. */
  repository: { branch: string | undefined; changes: number; busy: string | undefined } | undefined;
  /** The workspace around the folder, if there is one. */
  nestedIn: string | undefined;
  clients: FoundClient[];
  sandbox: boolean;
};

export async function lookAround(root: string, env: Environment): Promise<Result<Surroundings>> {
  const there = existing(root);
  if (!statSync(there).isDirectory()) return refuse("invalid", `${there} is a file; name a folder`);
  try {
    const [repository, clients, sandbox] = await Promise.all([
      repositoryAt(there, env),
      detectClients(root, env),
      findSandbox("auto", env),
    ]);
    const outer = findWorkspace(dirname(root));
    return ok({ repository, nestedIn: outer.ok ? outer.value : undefined, clients, sandbox: sandbox.ok });
  } catch (error) {
    if (!(error instanceof GitError) || error.code !== undefined) throw error;
    return refuse(
      "refused",
      "git is not installed, and Scriptorium keeps its history in git; install git and run init again",
    );
  }
}

async function repositoryAt(folder: string, env: Environment): Promise<Surroundings["repository"]> {
  const git = gitAt(folder, env);
  if ((await git.maybe(["rev-parse", "--is-inside-work-tree"])) !== "true") return undefined;
  const [{ branch }, changes, busy] = await Promise.all([
    git.head(),
    git.list(["status", "--porcelain", "-z", "--no-renames"]),
    git.underWay(),
  ]);
  return { branch: branch?.replace(/^refs\/heads\//, ""), changes: changes.length, busy };
}

/** The folder, or the nearest one above it that exists. */
const existing = (folder: string): string => (existsSync(folder) ? folder : existing(dirname(folder)));
