import type { CrewApp } from "../../crew/record/crew-app.ts";
import { blobOf } from "../../store/git/blob.ts";
import { branchRef } from "../../store/git/book-branch.ts";
import { historyFolders } from "../../store/git/history-ref.ts";
import { readLog } from "../../store/git/read-log.ts";
import { GitError } from "../../store/git/run-git.ts";
import { allVersions } from "../../store/queries/versions.ts";
import { mirrorBranchOf } from "../../wiki/stores/mirror.ts";
import { type RecordedVersion, versionsIn } from "../../wiki/stores/rebuild.ts";
import { type Finding, findingsOf } from "../finding.ts";
import { type Broken, describeBroken } from "./broken.ts";
import { differences } from "./compare-history.ts";
import { nameOf } from "./record.ts";

/** The mirror branch of the database store: written to the end, and each of its commits says what its row does. */
export async function checkMirror(app: CrewApp): Promise<Finding[]> {
  if (!app.mirror || !(await app.git.isRepository())) return [];
  const mirrorBranch = await mirrorBranchOf(app.git);
  const make = findingsOf("wiki", "mirror");
  const moved = await movedByOthers(app);
  let outcome = await app.mirror.record();
  while (outcome.more) outcome = await app.mirror.record();
  const differing = await differingCommits(app).catch((error: unknown) => {
    if (error instanceof GitError) return error.message;
    throw error;
  });
  if (typeof differing === "string")
    return [
      make.problem(`git cannot read the branch ${mirrorBranch}: ${differing}`, "git fsck", {
        kind: "mirror-unreadable",
      }),
    ];
  const found = [
    ...(moved === undefined ? [] : [make.warning(...movedFinding(mirrorBranch, moved))]),
    ...describeBroken(differing, make),
    ...(outcome.waits
      ? [
          make.warning(`the branch ${mirrorBranch} is behind the database: ${outcome.waits}`, "git status", {
            kind: "mirror-waits",
          }),
        ]
      : []),
  ];
  return found.length > 0 ? found : [make.ok(`every version is on the branch ${mirrorBranch}`)];
}

const movedFinding = (mirrorBranch: string, move: string): [string, string, { kind: string }] => [
  `the branch ${mirrorBranch} was moved by another program (${move}); missing versions have been added again`,
  `git log -g ${mirrorBranch}`,
  { kind: "mirror-moved" },
];

/** The last move of the branch, when it was not one of ours. */
async function movedByOthers({ git }: CrewApp): Promise<string | undefined> {
  const ref = branchRef(await mirrorBranchOf(git));
  if (!(await git.commitAt(ref))) return undefined;
  const [move] = await git.reflog(ref, 1);
  return move === undefined || move === "scriptorium" ? undefined : move || "no reason given";
}

/** The versions on the mirror branch, oldest first. */
export async function mirroredVersions({ git, config }: CrewApp): Promise<RecordedVersion[]> {
  const ref = (await git.isRepository()) && branchRef(await mirrorBranchOf(git));
  if (!ref || !(await git.commitAt(ref))) return [];
  return versionsIn(await readLog(git, ref, await historyFolders(git), [config.wiki]), config.wiki);
}

async function differingCommits(app: CrewApp): Promise<Broken[]> {
  const { db, entries, git } = app;
  const mirrorBranch = await mirrorBranchOf(git);
  const commits = await mirroredVersions(app);
  const rows = new Map((await allVersions(db.read)).map((row) => [nameOf(row), row]));
  const newest = new Map(commits.map(({ row }) => [row.entry_id, row.version]));
  const broken: Broken[] = [];
  for (const { row: recorded, change } of commits) {
    const version = Number(change.trailers.get("Version"));
    const row = rows.get(nameOf({ entry_id: recorded.entry_id, version }));
    const commit = change.commit.slice(0, 12);
    const about = { entry: recorded.entry_id, version, at: recorded.at, kind: "mirror-differs" };
    const fix = `git branch -m ${mirrorBranch} ${mirrorBranch}-old; a new branch is written from the database`;
    if (!row || version !== recorded.version) {
      broken.push({ ...about, what: `commit ${commit} on ${mirrorBranch} has no version in the database`, fix });
      continue;
    }
    // The row's hash chains appended lines; the text tells, and reading it for every line of a long log would take long.
    const isRead = !row.appended || newest.get(row.entry_id) === version;
    const text = isRead ? await entries.contentAt(row.entry_id, version) : undefined;
    const blob = text === undefined ? row.blob : blobOf(text);
    const differs = differences({ ...row, blob }, { ...recorded, blob: isRead ? recorded.blob : blob });
    if (differs.length > 0)
      broken.push({ ...about, what: `commit ${commit} on ${mirrorBranch} differs in ${differs.join(", ")}`, fix });
  }
  return broken;
}
