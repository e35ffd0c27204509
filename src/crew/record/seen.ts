import type { CrewPart } from "../../kernel/caller.ts";
import { hasText } from "../../kernel/quote.ts";
import { batches } from "../../store/batches.ts";
import type { Citation, Evidence, ToolCallRow } from "../../store/crew-tables.ts";
import type { Query } from "../../store/database.ts";
import type { Git } from "../../store/git/git.ts";
import { filesWithWords } from "../../store/git/search-commit.ts";
import type { Attempt } from "../../store/queries/attempts.ts";
import { callsBy } from "../../store/queries/contexts.ts";
import { type Search, type SearchResult, searchesFor, searchKey } from "../rules/absence.ts";
import { acceptedBranch } from "../rules/branches.ts";
import { citedPaths, type RecordedCall } from "../rules/evidence.ts";
import { filePath } from "../rules/plan.ts";
import type { Seen } from "../rules/verdict.ts";

type Deps = { git: Git; db: { read: Query } };
type Agent = { epoch: number; part: CrewPart; context?: string | null };

const largestFile = 2 * 1024 * 1024;
const filesAtOnce = 32;

type Delivered = Pick<Attempt, "task_id" | "run_id" | "commit_id">;

/** The record that an agent's citations are resolved against: its own calls, and the cited files as delivered. */
export async function seenBy(
  { git, db }: Deps,
  attempt: Delivered,
  agent: Agent,
  citations: readonly Pick<Citation, "from" | "ref">[],
  evidence: readonly Evidence[] = [],
): Promise<Seen> {
  const commit = () => deliveredCommit(git, attempt);
  const [calls, files, searches] = await Promise.all([
    callsBy(db.read, { task: attempt.task_id, ...agent }),
    filesAt(git, commit, citedPaths(citations)),
    searchCommit(git, commit, searchesFor(evidence)),
  ]);
  return { calls: calls.map(recorded), files, searches };
}

/** A text has no commit of its own: its verifier sees the accepted work of the run. */
const deliveredCommit = async (git: Git, { run_id, commit_id }: Delivered): Promise<string | undefined> =>
  commit_id ?? (await git.commitAt(`refs/heads/${acceptedBranch(run_id)}`)) ?? (await git.head()).commit;

const recorded = ({ id, name, ok, input, output, output_bytes }: ToolCallRow): RecordedCall => ({
  ...{ id, name, input, output },
  ok: ok === 1,
  cut: Buffer.byteLength(output) < Number(output_bytes),
});

async function filesAt(git: Git, commitOf: () => Promise<string | undefined>, paths: string[]): Promise<Seen["files"]> {
  const files = new Map<string, string | null>(paths.map((path) => [path, null]));
  const valid = paths.filter((path) => filePath.safeParse(path).success);
  const commit = valid.length > 0 ? await commitOf() : undefined;
  if (commit === undefined) return files;
  const { prefix } = await git.place();
  const found = await git.filesAt(
    commit,
    valid.map((path) => `${prefix}${path}`),
  );
  const sizes = await git.sizes([...found.values()].map(({ blob }) => blob));
  for (const path of valid) {
    const { blob } = found.get(`${prefix}${path}`) ?? {};
    if (blob === undefined || (sizes.get(blob) ?? 0) > largestFile) continue;
    files.set(path, (await git.readBlob(blob))?.toString("utf8") ?? null);
  }
  return files;
}

async function searchCommit(
  git: Git,
  commitOf: () => Promise<string | undefined>,
  searches: readonly Search[],
): Promise<Seen["searches"]> {
  const results = new Map<string, SearchResult>();
  const valid = searches.filter(({ path }) => path === "" || filePath.safeParse(path).success);
  const commit = valid.length > 0 ? await commitOf() : undefined;
  for (const search of valid) {
    const { path, text } = search;
    const exists = path === "" || (commit !== undefined && (await isIn(git, commit, path)));
    const found = exists && commit !== undefined && text !== "" ? await firstWith(git, commit, search) : null;
    results.set(searchKey(search), { exists, found });
  }
  return results;
}

/** Whether a commit has this file or folder. */
const isIn = async (git: Git, commit: string, path: string) =>
  (await git.text(["--literal-pathspecs", "ls-tree", commit, "--", path])) !== "";

/** Git finds the files that have the words; `hasText` decides whether they are there in this order. */
async function firstWith(git: Git, commit: string, { path, text }: Search): Promise<SearchResult["found"]> {
  const words = text.split(/\s+/);
  const paths = await filesWithWords(git, commit, words, path);
  const [first] = paths;
  if (first === undefined || words.length === 1) return first === undefined ? null : { path: first, certain: true };
  const { prefix } = await git.place();
  let tooLarge: string | undefined;
  for (const batch of batches(paths, filesAtOnce)) {
    const files = await git.filesAt(
      commit,
      batch.map((one) => `${prefix}${one}`),
    );
    const sizes = await git.sizes([...files.values()].map(({ blob }) => blob));
    const small = [...sizes].flatMap(([blob, size]) => (size <= largestFile ? [blob] : []));
    const contents = await git.readBlobs(small);
    for (const one of batch) {
      const content = contents.get(files.get(`${prefix}${one}`)?.blob ?? "");
      if (content === undefined) tooLarge ??= one;
      else if (hasText(content.toString("utf8"), text)) return { path: one, certain: true };
    }
  }
  return tooLarge === undefined ? null : { path: tooLarge, certain: false };
}
