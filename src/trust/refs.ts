import { posix } from "node:path";
import {
  type Folders,
  fileAt,
  type LinkTarget,
  linkTargets,
  nodeOfFile,
  nodeOfLink,
} from "../kernel/markdown/links.ts";

/** A source or file of the workspace that a passage cites, and the lines of it; empty for all of it. */
export type Ref = { ref: string; lines: string };

const mostRefs = 20;

/** What a passage of the page at `path` cites: sources, and files with their lines. Links to other pages do not count. */
export function refsIn(text: string, path: string, folders: Folders): Ref[] {
  const folder = posix.dirname(path);
  const linked = linkTargets(text).flatMap((target) => refOf(target, folder, folders) ?? []);
  const named = [...text.matchAll(placeInFile)].flatMap(([, file = "", from = "", to]) => {
    const at = fileAt(file, "");
    return at === undefined ? [] : [{ ref: `file:${at}`, lines: to ? `${from}-${to}` : from }];
  });
  const all = new Map([...linked, ...named].map((one) => [`${one.ref}#${one.lines}`, one]));
  return [...all.values()].filter(({ ref }) => !isInternal(ref)).slice(0, mostRefs);
}

/** `src/retry.ts:12-20` in a code span. */
const placeInFile = /`([\w@.-][\w@./-]{0,200}\.\w{1,10}):(\d{1,7})(?:[-–](\d{1,7}))?`/g;

function refOf(target: LinkTarget, folder: string, folders: Folders): Ref | undefined {
  const written = "wiki" in target ? target.wiki : target.address;
  const lines = linesOf(written);
  if ("wiki" in target) {
    const node = nodeOfLink(target, folder, folders);
    return node?.startsWith("source:") ? { ref: node, lines } : undefined;
  }
  const path = fileAt(target.address, folder);
  if (path === undefined) return undefined;
  const node = nodeOfFile(path, folders);
  if (node?.startsWith("source:")) return { ref: node, lines };
  return node === undefined || lines !== "" ? { ref: `file:${path}`, lines } : undefined;
}

/** `#L3`, `#L3-L5`, `#L3-5`. */
function linesOf(written: string): string {
  const [, from, to] = /#L(\d{1,7})(?:-L?(\d{1,7}))?$/.exec(written) ?? [];
  return from === undefined ? "" : to === undefined ? from : `${from}-${to}`;
}

const isInternal = (ref: string) => /^file:(?:\.git|\.scriptorium)(?:\/|$)/.test(ref);
