import { posix } from "node:path";
import { type Folders, type LinkTarget, linkTargets, mayLink, nodeOfLink } from "../../kernel/markdown/links.ts";
import { parseJsonOr } from "../../store/json.ts";

/** Maximum number of distinct links kept for an entry. */
const maxLinks = 2000;

/** The ids of the nodes that an entry's text links to, each once, sorted. */
export const linksIn = (text: string, entry: string, folders: Folders): string[] =>
  sorted(nodesOf(linkTargets(text), entry, folders));

/** The links of a log after `line` is appended: lines of a log are scanned one by one. */
export const linksWith = (known: string[], line: string, entry: string, folders: Folders): string[] =>
  sorted([...known, ...nodesOf(linkTargets(line), entry, folders)]);

/** The links of a whole log, equal to those of its lines appended one by one. */
export const linksInLog = (text: string, entry: string, folders: Folders): string[] =>
  mayLink(text) ? sorted(nodesOf(text.split("\n").flatMap(linkTargets), entry, folders)) : [];

/** The stored links of an entry; null when its text has not been scanned yet. */
export const knownLinks = (row: { links: string | null } | undefined): string[] | null =>
  row ? (row.links === null ? null : parseJsonOr(row.links, null)) : [];

const nodesOf = (targets: LinkTarget[], entry: string, folders: Folders): string[] =>
  targets.flatMap((target) => nodeOfLink(target, posix.dirname(`${folders.wiki}/${entry}`), folders) ?? []);

const sorted = (ids: string[]) => [...new Set(ids)].slice(0, maxLinks).sort();
