import { posix } from "node:path";
import { type Folders, linkTargets, nodeOfLink } from "../../kernel/markdown/links.ts";

/** Where a text lies before and after the rename, as folders of the workspace. */
type Place = { before: string; after: string };
type Renamed = { from: string; to: string };

/**
 * The text with every link to a renamed entry changed, and with relative links that stay right if the text itself
 * moves. Undefined when a link could not be changed: the result must link to the same things as the original.
 */
export function relinkText(text: string, place: Place, renamed: Renamed, folders: Folders): string | undefined {
  const isMoved = place.before !== place.after;
  const address = (given: string): string => {
    const node = nodeOfLink({ address: given }, place.before, folders);
    const isTarget = node === `entry:${renamed.from}`;
    if (node === undefined || (!isTarget && !isMoved)) return given;
    const [, path = "", rest = ""] = /^([^?#]*)(.*)$/s.exec(given) ?? [];
    const whole = posix.normalize(posix.join(place.before, decodeURIComponent(path)));
    const ending = whole.endsWith(".md") ? ".md" : "";
    const target = isTarget ? `${folders.wiki}/${renamed.to}${ending}` : whole;
    return encodeURI(posix.relative(place.after, target)) + rest;
  };
  const wiki = (given: string): string => {
    const [, name = "", rest = ""] = /^([^#|]*)(.*)$/s.exec(given) ?? [];
    return [renamed.from, `entry:${renamed.from}`].includes(name.trim())
      ? name.replace(renamed.from, () => renamed.to) + rest
      : given;
  };
  const after = text
    .replace(/\[\[([^[\]\n`]{1,400})\]\](?!\()/g, (_, inner: string) => `[[${wiki(inner)}]]`)
    .replace(/(\]\([ \t\n]{0,9}<)([^<>\n]{0,400})(?=>)/g, (_, start: string, given: string) => start + address(given))
    .replace(
      /(\]\([ \t\n]{0,9})([^\s<>()]{1,400})(?=[\s)])/g,
      (_, start: string, given: string) => start + address(given),
    )
    .replace(
      /^( {0,3}\[[^\]\n[]+\]:[ \t]*<?)([^\s<>]{1,400})/gm,
      (_, start: string, given: string) => start + address(given),
    );
  return sameTargets(text, after, place, renamed, folders) ? after : undefined;
}

function sameTargets(text: string, after: string, place: Place, { from, to }: Renamed, folders: Folders): boolean {
  const nodes = (of: string, folder: string) => linkTargets(of).map((target) => nodeOfLink(target, folder, folders));
  const wanted = nodes(text, place.before).map((node) => (node === `entry:${from}` ? `entry:${to}` : node));
  return JSON.stringify(wanted) === JSON.stringify(nodes(after, place.after));
}
