import type { Config } from "../../config/config.ts";
import { repositoryItem } from "../../config/open-git.ts";
import { type Finding, findingsOf } from "../finding.ts";

/** Programs that only the repository's own git configuration names, and that wait to be allowed. */
export async function checkRepositoryPrograms({ root, environment, trust }: Config): Promise<Finding[]> {
  const { ok, warning } = findingsOf("wiki", "git programs");
  const item = await repositoryItem(root, environment);
  if (item.entries.length === 0) return [];
  if (trust.workspace.isAllowed(item)) return [ok(`the programs of ${item.name} are allowed`)];
  return item.entries.map(({ key, value, why }) =>
    warning(
      `${item.name} sets ${key} to ${value}, which is not allowed on this machine (it ${why})`,
      "scriptorium allow",
    ),
  );
}
