import { createHash } from "node:crypto";
import type { Finding, findingsOf } from "../finding.ts";

/** A version at which two records disagree. */
export type Broken = {
  kind: string;
  entry: string;
  version: number;
  at: string;
  /** Follows the name of the version: "is not in git". */
  what: string;
  fix: string;
};

const mostEntries = 20;

/** One finding per kind and entry: it names the first broken version, and how many follow. */
export function describeBroken(broken: Broken[], { problem }: ReturnType<typeof findingsOf>): Finding[] {
  const groups = new Map<string, Broken[]>();
  for (const one of broken) {
    const name = `${one.kind} ${one.entry}`;
    const group = groups.get(name);
    if (group) group.push(one);
    else groups.set(name, [one]);
  }
  const found = [...groups.values()].map((group) => {
    const sorted = group.toSorted((a, b) => a.version - b.version);
    const [first] = sorted as [Broken, ...Broken[]];
    const { kind, entry, version, at, what, fix } = first;
    const more = sorted.length > 1 ? `; ${sorted.length - 1} later versions are affected too` : "";
    const about = { kind, subject: `entry:${entry}`, evidence: evidenceOf(sorted) };
    return { at, finding: problem(`${entry}, version ${version} (${at}): ${what}${more}`, fix, about) };
  });
  return found
    .toSorted((a, b) => a.at.localeCompare(b.at))
    .slice(0, mostEntries)
    .map((one) => one.finding);
}

const evidenceOf = (group: Broken[]) => {
  const versions = group.map(({ version }) => version);
  const listed = versions.length > 10 ? `${versions.slice(0, 10).join(", ")}, …` : versions.join(", ");
  const hash = createHash("sha256").update(JSON.stringify(group.map(({ version, what }) => [version, what])));
  return `versions ${listed}; ${hash.digest("hex").slice(0, 12)}`;
};
