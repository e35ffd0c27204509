/** The branches of a run. A person merges the accepted one; attempts are removed when they are settled. */
export const acceptedBranch = (run: string) => `scriptorium/${run}/accepted`;
export const attemptBranch = (run: string, number: string, attempt: number, epoch: number) =>
  `scriptorium/${run}/task-${number}/attempt-${attempt}-${epoch}`;
/** What was accepted before a rerun set the accepted branch back. */
export const beforeRerunBranch = (run: string, commit: string) =>
  `scriptorium/${run}/before-rerun-${commit.slice(0, 12)}`;
/** Takes the accepted work of a run out of a branch of a person, who merges it. */
export const revertBranch = (run: string, branch: string) => `scriptorium/revert-${run}/${branch}`;
