import { join, posix } from "node:path";
import { isQuoted, linesOfQuote } from "../kernel/quote.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import { filesWithWords } from "../store/git/search-commit.ts";
import type { ResolvedEvidence } from "../store/queries/rechecks.ts";
import { findSource, sourcePaths } from "../store/queries/sources.ts";
import { sourceText } from "../wiki/searchable.ts";
import type { JobsApp } from "./jobs-app.ts";

/**
 * What an agent may cite when it checks a passage: `file:` a file of the last commit, `source:` a source, `page:` another
 * page. Files that git does not track, such as .env, are none of them.
 */
const mostBytes = 2 * 1024 * 1024;
const mostHits = 30;
const mostFiles = 40;
const longestSaid = 600;
const longestPath = 400;

export async function textOfRef(app: JobsApp, ref: string): Promise<Result<string>> {
  const [kind = "", ...rest] = ref.split(":");
  const path = rest.join(":");
  const missing = (what: string) => refuse("not_found", `${what} does not exist; search_evidence finds what there is`);
  if (kind === "page") {
    const page = await app.pages.read(path);
    return page.ok ? ok(page.value.text) : page;
  }
  if (kind === "source") {
    const source = await findSource(app.db.read, path);
    const folder = join(app.config.root, app.config.sources);
    const text = source?.gone_at === null ? await sourceText(app.db, folder, source) : undefined;
    return text === undefined ? missing(`source ${path}`) : ok(text);
  }
  if (kind !== "file")
    return refuse(
      "invalid",
      `${JSON.stringify(ref.slice(0, 100))} is not a reference; expected file:, source: or page:`,
    );
  const text = await fileAtHead(app, path);
  return text === undefined ? missing(`file ${path} in the last commit`) : ok(text);
}

async function fileAtHead({ git }: JobsApp, path: string): Promise<string | undefined> {
  const isInside = path !== "" && !/^(\.\.)?\/|\0/.test(path) && posix.normalize(path) === path;
  if (!isInside || path.length > longestPath) return undefined;
  const { commit } = await git.head();
  const { prefix } = await git.place();
  const found = commit === undefined ? undefined : await git.filesAt(commit, [`${prefix}${path}`]);
  const blob = found?.get(`${prefix}${path}`)?.blob;
  if (blob === undefined || ((await git.sizes([blob])).get(blob) ?? 0) > mostBytes) return undefined;
  return (await git.readBlob(blob))?.toString("utf8").replaceAll("\r\n", "\n");
}

type Given = { ref: string; quote: string };

/** Finds each quote where the agent says it is, or refuses with the first that is not there. */
export async function resolveEvidence(
  app: JobsApp,
  own: string,
  given: readonly Given[],
): Promise<Result<ResolvedEvidence[]>> {
  const found: ResolvedEvidence[] = [];
  for (const [n, { ref, quote }] of given.entries()) {
    const text = await textOfRef(app, ref);
    if (!text.ok)
      return { ok: false, problem: { ...text.problem, message: `evidence ${n + 1}: ${text.problem.message}` } };
    const at = isQuoted(text.value, quote) ? linesOfQuote(text.value, quote) : undefined;
    if (!at)
      return refuse(
        "invalid",
        `evidence ${n + 1}: ${ref} does not contain this quote; copy whole words exactly, with read_evidence: ${JSON.stringify(quote.slice(0, 120))}`,
      );
    const says = text.value
      .split("\n")
      .slice(at.from - 1, at.to)
      .join("\n")
      .slice(0, longestSaid);
    found.push({ ref, quote, line: at.from, says });
  }
  if (found.every(({ ref }) => ref === `page:${own}`))
    return refuse("invalid", "evidence: a page does not prove itself; cite a file, a source or another page");
  return ok(found);
}

type Hit = { ref: string; line: number; text: string };

/** Lines with the text in the files of the last commit, in sources and in pages. */
export async function findText(app: JobsApp, text: string): Promise<{ hits: Hit[]; more: boolean }> {
  const hits: Hit[] = [];
  const wanted = text.toLowerCase();
  const add = (ref: string, content: string) => {
    for (const [n, line] of content.split("\n").entries())
      if (hits.length <= mostHits && line.toLowerCase().includes(wanted))
        hits.push({ ref, line: n + 1, text: line.trim().slice(0, longestSaid) });
  };
  const { commit } = await app.git.head();
  const pages = new Set(await app.pages.list());
  const files = commit === undefined ? [] : await filesWithWords(app.git, commit, text.split(/\s+/));
  for (const path of files.filter((one) => !pages.has(one)).slice(0, mostFiles))
    add(`file:${path}`, (await fileAtHead(app, path)) ?? "");
  for (const path of await sourcePaths(app.db.read)) {
    if (hits.length > mostHits) break;
    const source = await textOfRef(app, `source:${path}`);
    if (source.ok) add(`source:${path}`, source.value);
  }
  for (const path of pages) {
    if (hits.length > mostHits) break;
    const page = await app.pages.read(path);
    if (page.ok) add(`page:${path}`, page.value.text);
  }
  return { hits: hits.slice(0, mostHits), more: hits.length > mostHits };
}
