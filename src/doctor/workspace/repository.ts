import { existsSync } from "node:fs";
import { join } from "node:path";
import type { CrewApp } from "../../crew/record/crew-app.ts";
import { ownBookBranch } from "../../store/git/book-branch.ts";
import { historyRefOf } from "../../store/git/history-ref.ts";
import { countUnrecorded } from "../../store/queries/git-queue.ts";
import { unsigned } from "../../wiki/init.ts";
import { type Finding, findingsOf } from "../finding.ts";

/** Where the next commit goes, and what keeps it from going there. */
export async function checkRepository({ git, files, config }: CrewApp): Promise<Finding[]> {
  const { ok, warning, problem } = findingsOf("wiki", "repository");
  if (!(await git.isRepository())) {
    const about = { kind: "repository-missing" };
    const broken = existsSync(join(config.root, ".git")) && (await git.place().catch((error: Error) => error.message));
    if (typeof broken === "string") return [problem(broken, "git status", about)];
    if (!files) return [warning("the workspace is not in a git repository", "git init", about)];
    const fix = "restore .git from a backup or a clone; without one: git init, then scriptorium doctor --fix";
    return [problem("the workspace is not in a git repository: earlier versions have no text", fix, about)];
  }
  const [{ branch, commit }, busy, person, signs] = await Promise.all([
    git.head(),
    git.underWay(),
    git.person(),
    git.signsCommits(),
  ]);
  const found: Finding[] = await checkFolders(git, config);
  if (busy) found.push(warning(`${busy} is in progress; commits of agents wait until it has ended`, "git status"));
  if (!branch) found.push(warning("HEAD is detached; commits of agents wait for a branch", "git switch -c <branch>"));
  else if (!busy) {
    const name = branch.replace(/^refs\/heads\//, "");
    found.push(ok(commit ? `branch ${name}` : `branch ${name}, without a commit`));
  }
  const missing = files ? await git.countRemote(await historyRefOf(git), [config.wiki, config.sources]) : 0;
  if (missing > 0) {
    const what = `this is a partial clone: ${missing} earlier versions have no text here, and reading them is refused`;
    found.push(warning(what, "git fetch --refetch --no-filter"));
  }
  if (signs) found.push(warning(`commit.gpgsign is on; ${unsigned}`));
  if (!person) {
    const fix = 'git config --global user.name "Your Name" && git config --global user.email you@example.org';
    found.push(warning("git does not know your name; your edits are recorded under your user name", fix));
  }
  return found;
}

/** Where the wiki's commits go if not to the branch that is checked out. */
async function checkFolders(git: CrewApp["git"], { bookBranch: setting, wiki, sources }: CrewApp["config"]) {
  const { ok, warning } = findingsOf("wiki", "repository");
  const page = `${wiki}/schema.yaml`;
  const tracked = await git.committed([wiki, sources]);
  if (!setting) {
    if (tracked.includes(page) || !(await git.isIgnored(page))) return [];
    const fix = `take ${wiki}/ out of .gitignore, or add to scriptorium.yaml: book_branch: wiki`;
    return [warning(`git ignores ${wiki}/; entries are kept in ${await historyRefOf(git)} only`, fix)];
  }
  const bookBranch = await ownBookBranch(git, setting);
  const why = bookBranch === setting ? "" : `, because another worktree uses ${setting}`;
  if (tracked.length === 0) return [ok(`entries and sources are committed to the branch ${bookBranch}${why}`)];
  return [
    warning(
      `entries are committed to the branch ${bookBranch}, but your branch has ${tracked.length} of their files, so git status shows what agents write`,
      `git rm -r --cached ${wiki} ${sources} && printf '/${wiki}/\\n/${sources}/\\n' >> .gitignore && git commit -am "Keep the wiki on ${bookBranch}"`,
    ),
  ];
}

/** Records what is queued. Whether git then has every version, `compareHistory` finds out. */
export async function checkQueue(app: CrewApp): Promise<Finding[]> {
  const { warning } = findingsOf("wiki", "queue");
  const recorded = await app.recorder.record().catch((error: Error) => error);
  const count = await countUnrecorded(app.db.read);
  if (recorded instanceof Error) {
    const fix = "scriptorium doctor --fix";
    return [warning(`${count} versions cannot be recorded in git: ${recorded.message}`, fix, { kind: "queue-stuck" })];
  }
  if (recorded.waits)
    return [warning(`commits to the branch wait: ${recorded.waits}`, "git status", { kind: "queue-waits" })];
  if (count > 0)
    return [warning(`${count} versions wait to be recorded in git`, "scriptorium doctor", { kind: "queue-waits" })];
  return [];
}
