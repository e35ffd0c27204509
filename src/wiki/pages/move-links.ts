import { posix } from "node:path";
import { fileAt, type LinkTarget, linkTargets } from "../../kernel/markdown/links.ts";
import { rewriteLinks } from "./rewrite-links.ts";

/** The page that moves. */
type Move = { from: string; to: string };
/** The folder of a text before and after the move. */
type Place = { before: string; after: string };

/**
 * The text of `path` with every link to the moved page changed, and if it is that page itself, with relative links that
 * lead to the same files from its new folder. Undefined when a link is written in a way that cannot be changed: the
 * result must link to the same things as the original.
 */
export function moveLinks(text: string, path: string, move: Move): { text: string; links: number } | undefined {
  const place = { before: posix.dirname(path), after: posix.dirname(path === move.from ? move.to : path) };
  const moved = rewriteLinks(text, {
    address: (given) => movedAddress(given, place, move),
    wiki: (given) => {
      const [, start = "", name = "", rest = ""] = /^(\s*)([^#|]*)(.*)$/s.exec(given) ?? [];
      return name.trim() === `page:${move.from}` ? `${start}${name.replace(move.from, () => move.to)}${rest}` : given;
    },
  });
  return sameTargets(text, moved.text, place, move) ? moved : undefined;
}

function movedAddress(given: string, place: Place, { from, to }: Move): string {
  const [, plain = "", rest = ""] = /^([^?#]*)(.*)$/s.exec(given) ?? [];
  // Hosts of repositories show such an address from the root of the repository.
  if (plain === `/${from}`) return written(`/${to}`, plain) + rest;
  const target = fileAt(plain, place.before);
  const isMoving = place.before !== place.after;
  if (target === undefined || (target !== from && !isMoving)) return given;
  const relative = posix.relative(place.after, target === from ? to : target) || ".";
  const dots = plain.startsWith("./") && !relative.startsWith(".") ? "./" : "";
  const slash = plain.endsWith("/") && !relative.endsWith("/") ? "/" : "";
  return written(`${dots}${relative}${slash}`, plain) + rest;
}

/** Percent-encoded where the address before was, or where markdown would end it. */
function written(address: string, before: string): string {
  if (!/%[0-9a-f]{2}/i.test(before) && !/[\s()<>%#]/.test(address)) return address;
  const sign = { "(": "%28", ")": "%29", "#": "%23" } as Record<string, string>;
  return encodeURI(address).replaceAll(/[()#]/g, (char) => sign[char] ?? char);
}

function sameTargets(text: string, after: string, place: Place, { from, to }: Move): boolean {
  const named = (target: LinkTarget, folder: string) =>
    "wiki" in target ? `[[${target.wiki.split("#")[0]?.trim()}` : (fileAt(target.address, folder) ?? target.address);
  const now = new Map([
    [from, to],
    [`[[page:${from}`, `[[page:${to}`],
    [`/${from}`, `/${to}`],
  ]);
  const wanted = linkTargets(text).map((target) => withoutFragment(named(target, place.before)));
  const found = linkTargets(after).map((target) => withoutFragment(named(target, place.after)));
  return JSON.stringify(wanted.map((one) => now.get(one) ?? one)) === JSON.stringify(found);
}

const withoutFragment = (name: string) => (name.startsWith("/") ? (name.split(/[?#]/)[0] ?? "") : name);
