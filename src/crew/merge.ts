import * as z from "zod";
import { type Caller, nameOf } from "../kernel/caller.ts";
import { collaborators, operation } from "../kernel/operation.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import { crashPoint } from "../store/disk/crash.ts";
import { appendEvent } from "../store/events.ts";
import type { Identity } from "../store/git/git.ts";
import { mergeIntoBranch, planMerge } from "../store/git/merge-branch.ts";
import { noSuch } from "../store/no-such.ts";
import { mergeEvents } from "../store/queries/event-log.ts";
import { tasksOfRun } from "../store/queries/runs.ts";
import { fromRow, shownState } from "../tasks/task.ts";
import type { CrewApp } from "./record/crew-app.ts";
import { acceptedBranch } from "./rules/branches.ts";
import { runMergeMessage } from "./rules/merge-message.ts";
import type { Run } from "./rules/run.ts";

export const mergeRun = operation({
  name: "merge_run",
  summary: "Merge the accepted work of a run into a branch of yours.",
  effect: "writes",
  touches: ["run", "page"],
  callers: collaborators,
  group: "runs",
  http: { method: "post", path: "/runs/{id}/merge" },
  decision: (_app: CrewApp, { confirm }) => confirm,
  input: z.object({
    id: z.string().max(64).describe("Id of the run, such as run-…"),
    into: z
      .string()
      .min(1)
      .max(250)
      .optional()
      .describe("Name of a local branch; left out, the one that is checked out in the workspace"),
    squash: z.boolean().default(false).describe("One commit without the history of the attempts"),
    commit: z.string().max(64).optional().describe("The accepted commit that you saw; another one is a conflict"),
    confirm: z.boolean().default(false).describe("Without it, only a preview"),
  }),
  output: z.object({
    id: z.string(),
    merged: z.boolean(),
    already: z.boolean().describe("True if the branch has the work already"),
    into: z.string(),
    from: z.string().describe("The branch with the accepted work"),
    accepted: z.string().describe("Its commit"),
    commit: z.string().nullable().describe("The merge commit"),
    folder: z.string().nullable().describe("The checkout whose files were updated"),
    files: z.array(z.object({ path: z.string(), status: z.enum(["added", "changed", "deleted"]) })),
    message: z.string().describe("The commit message"),
  }),
  async run(app: CrewApp, { id, into, squash, commit, confirm }, caller) {
    const found = await acceptedWork(app, id);
    if (!found.ok) return found;
    const { run, branch, accepted } = found.value;
    if (commit !== undefined && commit !== accepted)
      return refuse("conflict", `the accepted work of ${id} changed since you saw it; look at it again`);
    const ref = await branchNamed(app, into);
    if (!ref.ok) return ref;
    const wanted = { into: ref.value, from: accepted, squash };
    const planned = await planMerge(app.git, wanted);
    if (!planned.ok) return planned;
    const record = (commit: string, files: number) => {
      const data = { into: ref.value.replace(/^refs\/heads\//, ""), accepted, commit, squash, files };
      const at = app.now().toISOString();
      return app.db.write((tx) =>
        appendEvent(tx, { at, actor: nameOf(caller), kind: "run-merged", subject: `run:${id}`, data }),
      );
    };
    const message = await messageOf(app, run, accepted, planned.value.files.length);
    const shown = { id, into: ref.value.replace(/^refs\/heads\//, ""), from: branch, accepted, message };
    if (!confirm || planned.value.already) {
      const { files, already } = planned.value;
      if (confirm) await recordInterrupted(app, id, ref.value, record);
      return ok({ ...shown, merged: false, already, commit: null, folder: null, files });
    }
    const author = await authorOf(app, caller);
    const done = await mergeIntoBranch(app.git, { ...wanted, message, author });
    if (!done.ok) return done;
    const { files, already, folder = null } = done.value;
    crashPoint("merge-moved");
    await record(done.value.commit, files.length);
    return ok({ ...shown, merged: true, already, commit: done.value.commit, folder, files });
  },
});

/**
 * Records a merge that was interrupted after the branch moved: its commit names the run and the accepted work. Those of
 * accepted tasks, which are on the branch after a person's own fast-forward, name the run alone.
 */
async function recordInterrupted(
  { db, git }: CrewApp,
  run: string,
  into: string,
  record: (commit: string, files: number) => Promise<unknown>,
): Promise<void> {
  const commit = await git.lastCommit(
    "--first-parent",
    "--all-match",
    "--grep",
    `^Run: ${run}$`,
    "--grep",
    "^Accepted: ",
    into,
    "--",
  );
  if (!commit) return;
  if ((await mergeEvents(db.read, run)).some(({ data }) => data.commit === commit)) return;
  const files = await git.list(["diff-tree", "-r", "-z", "--no-renames", "--name-only", `${commit}^1`, commit]);
  await record(commit, files.filter((path) => path !== "").length);
}

type Accepted = { run: Run; branch: string; accepted: string };

/** The run and the commit with its accepted work. */
export async function acceptedWork(app: CrewApp, id: string): Promise<Result<Accepted>> {
  const run = await app.runs.find(id);
  if (!run) return noSuch(app.db.read, "run", id);
  if (run.state === "planning" || run.state === "planned" || run.state === "running")
    return refuse("conflict", `run ${id} is ${run.state}; its work can be merged when it has stopped or ended`);
  const { finishRerun } = await import("./attempt/finish-rerun.ts");
  const repeated = await finishRerun(app, id);
  if (!repeated.ok) return repeated;
  const branch = acceptedBranch(id);
  const { packs } = app;
  const there = packs.isOn()
    ? await packs.accepted(id, { setBranch: await packs.hasAccepted(id) })
    : await packs.follow(id);
  if (!there.ok) return there;
  const accepted = await app.git.commitAt(`refs/heads/${branch}`);
  return accepted
    ? ok({ run, branch, accepted })
    : refuse("not_found", `run ${id} has no accepted files: the branch ${branch} does not exist`);
}

async function branchNamed({ git }: CrewApp, name: string | undefined): Promise<Result<string>> {
  if (name === undefined) {
    const { branch } = await git.head();
    return branch
      ? ok(branch)
      : refuse("conflict", "HEAD is detached; check a branch out, or name one, with --into on the command line");
  }
  const ref = `refs/heads/${name.replace(/^refs\/heads\//, "")}`;
  if (ref.startsWith("refs/heads/scriptorium/"))
    return refuse("invalid", `${name} is a branch of a run; name a branch of yours`);
  return (await git.commitAt(ref)) ? ok(ref) : refuse("not_found", `branch ${name} does not exist`);
}

async function messageOf(app: CrewApp, run: Run, commit: string, files: number): Promise<string> {
  const rows = await tasksOfRun(app.db.read, run.id);
  const tasks = rows.map(({ number, task }) => ({ number, title: task.title, state: shownState(fromRow(task)) }));
  return runMergeMessage({ run: run.id, title: run.title, tasks, files, commit });
}

/** The person who merges; the owner as git knows them. */
export async function authorOf({ git }: CrewApp, caller: Caller): Promise<Identity> {
  const known = await git.author();
  if (caller.kind !== "person" || caller.isOwner || caller.name === known.name) return known;
  return { name: caller.name, email: caller.email || "unknown@localhost.invalid" };
}
