import { rm } from "node:fs/promises";
import { join } from "node:path";
import { changedInstallScripts, whySteering } from "../../kernel/steering-files.ts";
import type { HeldFile } from "../../store/crew-tables.ts";
import type { Git } from "../../store/git/git.ts";
import type { Attempt } from "../../store/queries/attempts.ts";
import { type HeldFiles, heldOf } from "../../store/queries/held-files.ts";
import type { RunTask } from "../../store/queries/runs.ts";
import { holdFiles } from "../record/held-files.ts";
import { noneAsked, type SystemFail } from "../rules/verdict.ts";
import { changedBetween } from "./changed-files.ts";
import type { Crew } from "./crew.ts";
import type { Start, Worktree } from "./worktree.ts";

/**
 * The files of an attempt that a person has to confirm, with the decision if there is one. Asked before the attempt
 * is verified: a verifier that works in a folder with another agent's instructions would follow them.
 */
export async function heldFilesOf(crew: Crew, detail: RunTask, attempt: Attempt): Promise<HeldFiles | undefined> {
  const { app, trees } = crew;
  if (attempt.commit_id === null) return undefined;
  const base = await trees.baseOf(detail.run_id, attempt.commit_id);
  const files = await steeringFiles(app.git, base, attempt.commit_id);
  if (files.length === 0) return undefined;
  const { task_id, run_id } = detail;
  return holdFiles(app, { task_id, run_id, epoch: attempt.epoch, base_id: base, commit_id: attempt.commit_id, files });
}

/** The changes between two commits that instruct agents or run programs unasked. */
export async function steeringFiles(git: Git, from: string, to: string): Promise<HeldFile[]> {
  const files: HeldFile[] = [];
  for (const { path, status } of await changedBetween(git, from, to)) {
    const why = whySteering(path) ?? (await whyManifest(git, path, from, to));
    if (why === undefined) continue;
    const blob = (await git.maybe(["rev-parse", "--verify", "--quiet", `${to}:${path}`])) ?? null;
    files.push({ path, status, blob, why });
  }
  return files;
}

async function whyManifest(git: Git, path: string, from: string, to: string): Promise<string | undefined> {
  if (path.split("/").at(-1)?.toLowerCase() !== "package.json") return undefined;
  const [before, after] = await Promise.all(
    [from, to].map((commit) => git.maybe(["cat-file", "blob", `${commit}:${path}`])),
  );
  const changed = changedInstallScripts(before, after);
  return changed.length === 0 ? undefined : `changes ${changed.join(", ")}, which package managers run unasked`;
}

export const heldReason = ({ number }: Pick<RunTask, "number">, { files }: HeldFiles) =>
  `task ${number} changes ${files.map(({ path }) => path).join(", ")}, which a person must allow first`;

/** The verdict on an attempt whose files a person refused. */
export function refusedFiles({ files, decided_by, note }: HeldFiles): SystemFail {
  const names = files.map(({ path }) => path).join(", ");
  return {
    verdict: "FAIL",
    score: 0,
    feedback: `${decided_by ?? "A person"} refused the changes to ${names}${note ? `: ${note}` : ""}. No verifier was started.`,
    issues: files.map(({ path, why }) => `${path} ${why}, and a person refused it`),
    objection: `a person refused files of the deliverable, ${noneAsked}`,
    requiredFixes: [`deliver without changing ${names}`],
    evidence: [],
  };
}

/**
 * Resets the files of an earlier attempt that no person allowed: the next worker must not follow instructions of the
 * one before it. Nothing else of its work is lost.
 */
export async function resetUnconfirmed(
  { app }: Pick<Crew, "app">,
  { task_id }: Pick<RunTask, "task_id">,
  { base, commit }: Start,
  checkout: Pick<Worktree, "folder" | "gitDir">,
): Promise<void> {
  const steering = await steeringFiles(app.git, base, commit);
  if (steering.length === 0) return;
  const decided = await heldOf(app.db.read, task_id);
  const allowed = new Set(
    decided.filter(({ decision }) => decision === "allowed").flatMap(({ files }) => files.map(contentOf)),
  );
  for (const file of steering.filter((one) => !allowed.has(contentOf(one)))) {
    if (file.status === "added") await rm(join(checkout.folder, file.path), { force: true });
    else await app.git.inCheckout(checkout)(["--literal-pathspecs", "checkout", base, "--", file.path]);
  }
}

const contentOf = ({ path, blob }: HeldFile) => `${path}\0${blob ?? ""}`;
