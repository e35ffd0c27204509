import { type Git, gitAt } from "../store/git/git.ts";
import { topFolder } from "../store/git/guarded-git.ts";
import type { RepositoryProgram } from "../store/git/repository-programs.ts";
import type { Environment } from "./environment.ts";
import type { TrustItem } from "./trust/item.ts";
import { filesNamed } from "./trust/settings.ts";
import { openTrust, type Trust } from "./trust.ts";

/** Git in a folder. Programs that only the repository's own configuration names run once a person has allowed them. */
export const openGit = (root: string, env: Environment, trust: Trust = openTrust(root, env)): Git =>
  gitAt(root, env, (programs, top) => trust.isAllowed(programsItem(programs, top)));

/** What has to be allowed before the programs run; without entries outside a repository. */
export async function repositoryItem(root: string, env: Environment): Promise<TrustItem> {
  const git = gitAt(root, env);
  if (!(await git.isRepository())) return programsItem([], root);
  return programsItem(await git.programs(), topFolder(root, await git.place()));
}

/** A program of the repository counts with its content: a later commit may replace it under the same name. */
const programsItem = (programs: RepositoryProgram[], top: string): TrustItem => ({
  name: ".git/config",
  entries: programs.flatMap(({ key, value }) => [
    { key, value, why: whyOf(key) },
    ...filesNamed(key, value.split(/[\s'"=;|&]+/), top),
  ]),
});

function whyOf(key: string): string {
  if (key.startsWith("filter.")) return "runs when git reads or writes files";
  return key.startsWith("merge.") ? "runs when git merges files" : "runs when git signs or verifies";
}
