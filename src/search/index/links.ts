import { posix } from "node:path";
import { type Folders, type LinkTarget, linkTargets, nodeOfLink } from "../../kernel/markdown/links.ts";

const maxLinks = 50;

/** The ids that a passage of a thing links to; `[[source:path#L12]]` keeps its line. They may not exist. */
export function linksIn(text: string, from: { kind: string; id: string }, folders: Folders): string[] {
  const folder = folderOf(from, folders);
  const found = new Set<string>();
  for (const target of linkTargets(text)) {
    const id = nodeOfLink(target, folder, folders);
    if (id !== undefined) found.add(id + lineOf(target));
  }
  return [...found].slice(0, maxLinks);
}

/** The folder that relative links start from; for things that are not files, the wiki's. */
function folderOf({ kind, id }: { kind: string; id: string }, { wiki, sources }: Folders): string {
  if (kind === "source") return posix.dirname(`${sources}/${id}`);
  if (kind === "page") return posix.dirname(id);
  return kind === "entry" ? posix.dirname(`${wiki}/${id}`) : wiki;
}

const lineOf = (target: LinkTarget) => ("wiki" in target ? (/#L\d{1,7}(?=#|$)/.exec(target.wiki)?.[0] ?? "") : "");
