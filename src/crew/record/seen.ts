import type { CrewPart } from "../../kernel/caller.ts";
import type { Citation, ToolCallRow } from "../../store/crew-tables.ts";
import type { Query } from "../../store/database.ts";
import type { Git } from "../../store/git/git.ts";
import type { Attempt } from "../../store/queries/attempts.ts";
import { callsBy } from "../../store/queries/contexts.ts";
import { acceptedBranch } from "../rules/branches.ts";
import { citedPaths, type RecordedCall } from "../rules/evidence.ts";
import { filePath } from "../rules/plan.ts";
import type { Seen } from "../rules/verdict.ts";

type Deps = { git: Git; db: { read: Query } };
type Agent = { epoch: number; part: CrewPart; context?: string | null };

const largestFile = 2 * 1024 * 1024;

/** The record that an agent's citations are resolved against: its own calls, and the cited files as delivered. */
export async function seenBy(
  { git, db }: Deps,
  attempt: Pick<Attempt, "task_id" | "run_id" | "commit_id">,
  agent: Agent,
  citations: readonly Pick<Citation, "from" | "ref">[],
): Promise<Seen> {
  const [calls, files] = await Promise.all([
    callsBy(db.read, { task: attempt.task_id, ...agent }),
    filesAt(git, attempt, citedPaths(citations)),
  ]);
  return { calls: calls.map(recorded), files };
}

const recorded = ({ id, name, ok, input, output, output_bytes }: ToolCallRow): RecordedCall => ({
  ...{ id, name, input, output },
  ok: ok === 1,
  cut: Buffer.byteLength(output) < Number(output_bytes),
});

async function filesAt(
  git: Git,
  { run_id, commit_id }: Pick<Attempt, "run_id" | "commit_id">,
  paths: string[],
): Promise<Seen["files"]> {
  const files = new Map<string, string | null>(paths.map((path) => [path, null]));
  const valid = paths.filter((path) => filePath.safeParse(path).success);
  if (valid.length === 0) return files;
  // A text has no commit of its own: its verifier sees the accepted work of the run.
  const commit = commit_id ?? (await git.commitAt(`refs/heads/${acceptedBranch(run_id)}`)) ?? (await git.head()).commit;
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
