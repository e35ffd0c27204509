import type { Config } from "../../config/config.ts";
import { configName } from "../../config/environment.ts";
import { withoutPassword } from "../../config/trust/item.ts";
import { type Finding, findingsOf } from "../finding.ts";

/** Sensitive settings that wait to be allowed, and those that the person's own file sets. */
export function checkTrust({ trust, own }: Config): Finding[] {
  const { ok, warning } = findingsOf("wiki", "trust");
  const item = trust.item();
  const fromOwn = own.keys.length > 0 ? [ok(`${own.keys.join(", ")} from ${own.file}`)] : [];
  if (item.entries.length === 0) return fromOwn;
  if (trust.workspace.isTrustedFolder) return [ok("the workspace is in a trusted folder"), ...fromOwn];
  if (trust.workspace.isAllowed(item)) return [ok(`the settings of ${configName} are allowed`), ...fromOwn];
  const waiting = trust.workspace
    .changes(item)
    .map(({ key, after, why }) =>
      after === undefined
        ? warning(`${configName} no longer sets ${key}, which was allowed`, "scriptorium allow")
        : warning(`${key}: ${withoutPassword(after)} is not allowed on this machine (it ${why})`, "scriptorium allow"),
    );
  return [...waiting, ...fromOwn];
}
