import type { CrewApp } from "../../crew/record/crew-app.ts";
import { countUnrecorded } from "../../store/queries/git-queue.ts";
import { mirrorBranch } from "../../wiki/stores/mirror.ts";
import { type Finding, findingsOf } from "../finding.ts";

/** Where the next commit goes, and what keeps it from going there. */
export async function checkRepository({ git }: CrewApp): Promise<Finding[]> {
  const { ok, warning } = findingsOf("wiki", "repository");
  const [{ branch, commit }, busy, person] = await Promise.all([git.head(), git.underWay(), git.person()]);
  const found: Finding[] = [];
  if (busy) found.push(warning(`${busy} is in progress; commits of agents wait until it has ended`, "git status"));
  if (!branch) found.push(warning("HEAD is detached; commits of agents wait for a branch", "git switch -c <branch>"));
  else if (!busy) {
    const name = branch.replace(/^refs\/heads\//, "");
    found.push(ok(commit ? `branch ${name}` : `branch ${name}, without a commit`));
  }
  if (!person) {
    const fix = 'git config --global user.name "Your Name" && git config --global user.email you@example.org';
    found.push(warning("git does not know your name; your edits are recorded under your user name", fix));
  }
  return found;
}

export async function checkHistory(app: CrewApp): Promise<Finding> {
  const { ok, warning } = findingsOf("wiki", "history");
  const { waits } = await app.recorder.record();
  const count = await countUnrecorded(app.db.read);
  if (waits) return warning(`commits to the branch wait: ${waits}`, "git status");
  if (count > 0) return warning(`${count} versions wait to be recorded in git`, "scriptorium doctor");
  return ok("every version is in git");
}

/** The reason why the mirror branch of the database store is behind, if any. */
export async function checkMirror(app: CrewApp): Promise<Finding[]> {
  if (!app.mirror) return [];
  const { ok, warning } = findingsOf("wiki", "mirror");
  let outcome = await app.mirror.record();
  while (outcome.more) outcome = await app.mirror.record();
  return outcome.waits
    ? [warning(`the branch ${mirrorBranch} is behind the database: ${outcome.waits}`)]
    : [ok(`every version is on the branch ${mirrorBranch}`)];
}
