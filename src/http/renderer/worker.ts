import { posix } from "node:path";
import { parentPort } from "node:worker_threads";
import { ownThread } from "../../kernel/threads/cpu-time.ts";
import { compareMarkdown } from "../markdown/compare.ts";
import { renderMarkdown, type Settings } from "../markdown.ts";

export type RenderRequest = {
  text: string;
  /** An older text: the result is then a comparison. */
  before?: string;
  /** Ids of the existing entries, for wiki links. */
  ids: string[];
  /** The page's path and the wiki folder, for relative links. */
  path?: string;
  wiki?: string;
  stampFrom?: number;
};

/** Without `ids`, those of the previous message apply. */
export type RenderMessage = Omit<RenderRequest, "ids"> & { ids?: string[] };

/** HTML, or the stretches of a comparison as JSON: a string is passed between threads without parsing it. */
export type RenderAnswer = { text: string } | { trouble: string };

let known = new Set<string>();

parentPort?.on("message", (message: RenderMessage) => {
  try {
    parentPort?.postMessage({ answer: answerTo(message) });
  } catch (error) {
    parentPort?.postMessage({ error: String(error) });
  }
});
parentPort?.postMessage({ ready: true, thread: ownThread() });

function answerTo(message: RenderMessage): RenderAnswer {
  const { text, before, stampFrom, ids } = message;
  if (ids) known = new Set(ids);
  const settings = settingsFor(message);
  if (before === undefined) return { text: renderMarkdown(text, { ...settings, stampFrom }) };
  const compared = compareMarkdown(before, text, settings);
  return "trouble" in compared ? compared : { text: JSON.stringify(compared.stretches) };
}

function settingsFor({ path, wiki }: RenderMessage): Settings {
  const linkTo = (id: string) => (known.has(id) ? `/entries/${id}` : undefined);
  const pageTo = (href: string) => {
    const match = /^([^:?#]+)(#.*)?$/.exec(href);
    if (!match?.[1] || path === undefined || match[1].startsWith("/")) return undefined;
    const target = posix.normalize(posix.join(posix.dirname(path), decoded(match[1])));
    if (target.startsWith("../")) return undefined;
    const isPage = /\.(md|markdown)$/.test(target);
    const name = target.replace(/\.(md|markdown)$/, "");
    const id = name.startsWith(`${wiki}/`) ? name.slice((wiki?.length ?? 0) + 1) : "";
    if (!isPage && !known.has(id)) return undefined;
    const page = known.has(id) ? `/entries/${id}` : `/pages/${target.split("/").map(encodeURIComponent).join("/")}`;
    return page + (match[2] ?? "").replace("#", "#user-content-");
  };
  const imageTo = (src: string) => {
    if (path === undefined || !/^[^:?#\\]+\.(?:png|jpe?g|gif|webp|avif|svg)$/i.test(src) || src.startsWith("/"))
      return undefined;
    const target = posix.normalize(posix.join(posix.dirname(path), decoded(src)));
    return target.startsWith("../") ? undefined : target;
  };
  return { linkTo, pageTo, imageTo };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
