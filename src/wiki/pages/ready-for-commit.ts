import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { Git } from "../../store/git/git.ts";
import type { Recorder } from "../../store/git/recorder.ts";
import { GitError } from "../../store/git/run-git.ts";

type Deps = { git: Git; recorder: Recorder };

/** Whether a commit can be made on the person's branch now. `verb` says what the person wants to do. */
export async function branchReady({ git, recorder }: Deps, verb: string): Promise<Result<true>> {
  const busy = await git.underWay();
  if (busy) return refuse("conflict", `${busy} is in progress in this repository; finish it, then ${verb}`);
  const head = await git.head();
  if (!head.branch) return refuse("conflict", `HEAD is detached; check out a branch, then ${verb}`);
  if (!head.commit) {
    const name = head.branch.replace("refs/heads/", "");
    return refuse("conflict", `the branch ${name} has no commits; make the first one, then ${verb}`);
  }
  const waits = await recorder.drain(5000);
  return waits ? refuse("conflict", `git cannot commit now: ${waits}; try again`) : ok(true);
}

/** The page must equal the branch's: a decision must not commit a person's uncommitted changes. Returns HEAD's blob. */
export async function readyForCommit(deps: Deps, path: string, bytes: Buffer, verb: string): Promise<Result<string>> {
  const ready = await branchReady(deps, verb);
  return ready.ok ? pageCommitted(deps, path, bytes, verb) : ready;
}

/** The page's blob in HEAD, if the work tree and the index have the same. */
export async function pageCommitted(
  { git }: Deps,
  path: string,
  bytes: Buffer,
  verb: string,
): Promise<Result<string>> {
  const [atHead, staged] = await Promise.all([git.blobAtHead(path), git.stagedAt(path)]);
  if (!atHead) return refuse("conflict", `${path} is not committed yet; commit it, then ${verb}`);
  const isCommitted = await git.isCommitted(path, bytes).catch((error: unknown) => {
    if (error instanceof GitError) return error.message;
    throw error;
  });
  if (typeof isCommitted === "string")
    return refuse("conflict", `${path} cannot be compared with HEAD: ${isCommitted}`);
  if (!isCommitted) {
    return refuse("conflict", `${path} has uncommitted changes; commit or stash them, then ${verb}`, {
      uncommitted: true,
    });
  }
  if (staged !== `100644 ${atHead} 0` && staged !== `100755 ${atHead} 0`) {
    return refuse("conflict", `${path} has staged changes; commit or unstage them, then ${verb}`, {
      uncommitted: true,
    });
  }
  return ok(atHead);
}
