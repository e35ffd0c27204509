import { posix } from "node:path";
import * as z from "zod";
import { operation, people } from "../../kernel/operation.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { fileDiffs } from "../../store/git/file-diffs.ts";
import type { Git } from "../../store/git/git.ts";
import { noSuch } from "../../store/no-such.ts";
import { type Attempt, attemptsOf } from "../../store/queries/attempts.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { acceptedBranch } from "../rules/branches.ts";

export const attemptName = z
  .string()
  .regex(/^\d{1,4}(-\d{1,9})?$/, "expected the number of an attempt, such as 2, or 2-7 with its epoch");

const shownAttempt = z.object({ attempt: z.int(), epoch: z.int() });

export const attemptDiff = operation({
  name: "attempt_diff",
  summary: "Show what an attempt changed in its files, or how its files differ from those of another attempt.",
  effect: "reads",
  reads: ["task", "attempt"],
  callers: people,
  group: "tasks",
  http: { method: "get", path: "/tasks/{id}/diff" },
  input: z.object({
    id: z.string().max(64).describe("Id of the task"),
    attempt: attemptName.optional().describe("Its number, or number-epoch after a rerun; by default the last one"),
    against: attemptName
      .optional()
      .describe("Another attempt of the task; by default the accepted work that the attempt started from"),
  }),
  output: z.object({
    id: z.string(),
    attempt: shownAttempt,
    against: shownAttempt.nullable(),
    files: z.array(
      z.object({
        path: z.string(),
        old_path: z.string().nullable().describe("Former path of a renamed file"),
        status: z.enum(["added", "changed", "deleted", "renamed"]),
        added: z.int().describe("Number of lines"),
        removed: z.int(),
        hunks: z.array(z.object({ old_start: z.int(), new_start: z.int(), lines: z.array(z.string()) })),
        omitted: z.enum(["binary", "large"]).nullable().describe("Why hunks are left out"),
      }),
    ),
    more_files: z.int().describe("Files that are not listed because there are too many"),
  }),
  async run(app: CrewApp, { id, attempt: wanted, against: other }) {
    const attempts = await attemptsOf(app.db.read, { task: id });
    if (attempts.length === 0) return (await app.tasks.find(id)) ? noAttempt(id) : noSuch(app.db.read, "task", id);
    const found = chooseAttempt(id, attempts, wanted);
    if (!found.ok) return found;
    const compared = other === undefined ? undefined : chooseAttempt(id, attempts, other);
    if (compared && !compared.ok) return compared;
    await app.packs.bringAttempts(found.value.run_id, [found.value, ...(compared ? [compared.value] : [])]);
    const to = await commitOf(app.git, found.value);
    if (!to.ok) return to;
    const from = compared ? await commitOf(app.git, compared.value) : ok(await baseOf(app.git, found.value, to.value));
    if (!from.ok) return from;
    const { files, more } = await fileDiffs(app.git, from.value, to.value);
    const { prefix } = await app.git.place();
    const inWorkspace = (path: string) => posix.relative(posix.join("/", prefix), posix.join("/", path));
    return ok({
      id,
      attempt: { attempt: found.value.attempt, epoch: found.value.epoch },
      against: compared ? { attempt: compared.value.attempt, epoch: compared.value.epoch } : null,
      files: files.map(({ path, oldPath, hunks, ...file }) => ({
        ...file,
        path: inWorkspace(path),
        old_path: oldPath === null ? null : inWorkspace(oldPath),
        hunks: hunks.map(({ oldStart, newStart, lines }) => ({ old_start: oldStart, new_start: newStart, lines })),
      })),
      more_files: more,
    });
  },
});

const noAttempt = (id: string) => refuse("not_found", `task ${id} has no attempt yet`);

/** The attempt that `2` or `2-7` names, the newest one if several have the number. */
export function chooseAttempt(id: string, attempts: Attempt[], name: string | undefined): Result<Attempt> {
  const [number, epoch] = (name ?? "").split("-");
  const last = attempts.findLast(({ phase }) => phase !== "abandoned") ?? attempts.at(-1);
  const found =
    name === undefined
      ? last
      : attempts.findLast((one) => one.attempt === Number(number) && (!epoch || one.epoch === Number(epoch)));
  if (found) return ok(found);
  const there = attempts.map((one) => `${one.attempt}-${one.epoch}`).join(", ");
  return refuse("not_found", `task ${id} has no attempt ${name}; it has ${there}`);
}

/** The commit with the files of an attempt, if git still has it: the branches of settled attempts are removed. */
export async function commitOf(git: Git, { attempt, epoch, commit_id }: Attempt): Promise<Result<string>> {
  if (commit_id === null) return refuse("not_found", `attempt ${attempt}-${epoch} delivered no files`);
  if (await git.commitAt(commit_id)) return ok(commit_id);
  return refuse(
    "not_found",
    `git no longer has the files of attempt ${attempt}-${epoch}: commit ${commit_id} was pruned`,
  );
}

/** How far back the accepted work is looked for. */
const longestHistory = 5000;

/**
 * The accepted work that an attempt started from: the first commit of its own line that is, or was before a rerun, on
 * the line of accepted work. A merge base would be the attempt itself once it is accepted.
 */
async function baseOf(git: Git, { run_id: run }: Attempt, commit: string): Promise<string> {
  const accepted = `refs/heads/${acceptedBranch(run)}`;
  const listed = await git.text([
    "for-each-ref",
    "--format=%(objectname)",
    accepted,
    `refs/heads/scriptorium/${run}/before-rerun-*`,
  ]);
  const tips = listed.split("\n").filter((tip) => tip !== "");
  const line = async (tip: string) =>
    (await git.text(["rev-list", "--first-parent", `--max-count=${longestHistory}`, tip])).split("\n");
  const known = new Set((await Promise.all(tips.map(line))).flat());
  const own = await line(commit);
  const base = own.find((one) => known.has(one)) ?? (await git.maybe(["merge-base", "HEAD", commit])) ?? own[1];
  return base ?? commit;
}
