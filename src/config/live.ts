import { statSync } from "node:fs";
import { join } from "node:path";
import type { Log } from "../kernel/log.ts";
import { type Config, loadConfig } from "./config.ts";
import { configName } from "./environment.ts";

/** The part of the present scriptorium.yaml that this process does not use. */
export type UnusedConfig = {
  /** Keys that were changed since the start and are read only then. */
  restart: string[];
  /** Why the present file cannot be used at all; the last valid one is. */
  invalid?: string;
};

export type LiveConfig = Config & { unused(): UnusedConfig };

/** Keys whose values are read at each use. */
const reloaded = ["name", "agent", "personas", "session", "own"] as const;
/** Stores, the crew of running runs and the port are opened with these. */
const fixed = [
  ...(["wiki", "sources", "store", "storeModule", "database", "bookBranch"] as const),
  ...(["claims", "crew", "approvals", "port", "host", "baseUrl", "trustedProxies", "tls", "oidc"] as const),
];
const spelled: Partial<Record<(typeof fixed)[number], string>> = {
  ...{ storeModule: "store", bookBranch: "book_branch" },
  ...{ baseUrl: "base_url", trustedProxies: "trusted_proxies" },
};

/**
 * A configuration that follows its file (V7): a change of personas or of the agent is in use at the next question,
 * without a restart. The files are looked at on each access, so that every process gives the same answer at the same
 * time. An invalid file changes nothing. Trust follows the present content, and while keys need a restart also that of
 * the content at the start: settings that nobody allowed do not become allowed by being removed from the file.
 */
export function liveConfig(start: Config, log: Log): LiveConfig {
  let present = start;
  let seen = stampOf(start);
  let unused: UnusedConfig = { restart: [] };

  function refresh(): Config {
    const stamp = stampOf(start);
    if (stamp === seen) return present;
    seen = stamp;
    const read = load(start);
    if (read.ok) present = read.value;
    const restart = changedKeys(start, present);
    unused = read.ok ? { restart } : { restart, invalid: read.problem.message };
    if (unused.invalid) log.warn({ error: unused.invalid }, "config-invalid");
    else log.info({}, "config-reloaded");
    if (restart.length > 0) log.warn({ keys: restart }, "restart-needed");
    return present;
  }

  const live = { ...start } as LiveConfig;
  for (const key of reloaded) Object.defineProperty(live, key, { enumerable: true, get: () => refresh()[key] });
  live.trust = {
    workspace: start.trust.workspace,
    item: () => refresh().trust.item(),
    check(area) {
      const now = refresh().trust.check(area);
      return now.ok && unused.restart.length > 0 ? start.trust.check(area) : now;
    },
  };
  live.unused = () => {
    refresh();
    return unused;
  };
  return live;
}

function load(start: Config) {
  try {
    return loadConfig(start.root, start.environment);
  } catch (error) {
    return { ok: false as const, problem: { code: "invalid" as const, message: (error as Error).message } };
  }
}

const changedKeys = (start: Config, present: Config): string[] =>
  fixed
    .filter((key) => JSON.stringify(start[key]) !== JSON.stringify(present[key]))
    .map((key) => spelled[key] ?? key)
    .concat(JSON.stringify(start.embeddings) === JSON.stringify(present.embeddings) ? [] : ["search"])
    .filter((key, at, all) => all.indexOf(key) === at);

/** Changes whenever one of the files does. */
const stampOf = ({ root, own }: Config): string =>
  [join(root, configName), own.file]
    .map(statIfReadable)
    .map((found) => (found ? `${found.ino} ${found.size} ${found.mtimeMs} ${found.ctimeMs}` : ""))
    .join("; ");

/** A file in a folder that this user cannot enter counts as missing, as it does at the start. */
function statIfReadable(file: string) {
  try {
    return statSync(file, { throwIfNoEntry: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EACCES") return undefined;
    throw error;
  }
}
