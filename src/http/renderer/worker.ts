import { posix } from "node:path";
import { parentPort } from "node:worker_threads";
import { compareMarkdown } from "../markdown/compare.ts";
import { renderMarkdown, type Settings } from "../markdown.ts";

/** What the thread is asked: a text, or two to compare; the ids a wiki link may name; where the text stands. */
export type Question = {
  text: string;
  /** An older text, when the two are to be compared. */
  before?: string;
  ids: string[];
  /** The page's own path and the folder of entries: relative links are read from there. */
  path?: string;
  wiki?: string;
  stampFrom?: number;
};

/** The same as it travels: without ids when they are those of the question before. */
export type Asked = Omit<Question, "ids"> & { ids?: string[] };

let known = new Set<string>();

parentPort?.on("message", (question: Asked) => {
  const { text, before, stampFrom, ids } = question;
  if (ids) known = new Set(ids);
  const settings = settingsFor(question);
  const answer =
    before === undefined
      ? renderMarkdown(text, { ...settings, stampFrom })
      : JSON.stringify(compareMarkdown(before, text, settings) ?? null);
  parentPort?.postMessage(answer);
});

function settingsFor({ path, wiki }: Asked): Settings {
  const linkTo = (id: string) => (known.has(id) ? `/entries/${id}` : undefined);
  const pageTo = (href: string) => {
    const match = /^([^:?#]+\.(?:md|markdown))(#.*)?$/.exec(href);
    if (!match?.[1] || path === undefined || match[1].startsWith("/")) return undefined;
    const target = posix.normalize(posix.join(posix.dirname(path), decoded(match[1])));
    if (target.startsWith("../")) return undefined;
    const id = target.startsWith(`${wiki}/`) ? target.slice((wiki?.length ?? 0) + 1).replace(/\.\w+$/, "") : "";
    const page = known.has(id) ? `/entries/${id}` : `/pages/${target.split("/").map(encodeURIComponent).join("/")}`;
    return page + (match[2] ?? "").replace("#", "#user-content-");
  };
  return { linkTo, pageTo };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
