import { createHash, randomBytes } from "node:crypto";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Refused } from "../../kernel/result.ts";
import { openLock } from "../disk/lock.ts";
import type { Git } from "./git.ts";
import { historyName, isInUse } from "./history-ref.ts";

export const branchRef = (branch: string) => `refs/heads/${branch}`;

/** A file of these in git's common folder lists the workspaces that share a setting of `book_branch`. */
const claimsFile = "scriptorium-book";

/** Of the workspace at the top of the main work tree, whose history has no name. */
const mainName = ".";

/** A workspace and the branch that it commits its wiki to. */
type Claim = { workspace: string; branch: string };

/**
 * The branch that this workspace commits its wiki to. Work trees of one repository usually share scriptorium.yaml and
 * with it `book_branch`, but each has texts and versions of its own: the first one to ask gets the branch of that name,
 * another one with the same folder in its work tree a branch called after it. Workspaces in different folders (packages
 * of a monorepo) have no file in common and share the branch.
 */
export async function ownBookBranch(git: Git, setting: string): Promise<string> {
  const place = await git.place().catch((error: unknown) => {
    if (error instanceof Refused) return undefined;
    throw error;
  });
  if (!place) return setting;
  const file = fileOf(place, setting);
  const name = await historyName(git);
  const workspace = name ?? mainName;
  const known = (await readClaims(file)).find((claim) => claim.workspace === workspace);
  if (known) return known.branch;
  return withLock(`${file}-lock`, async () => {
    const claims = await readClaims(file);
    const mine = claims.find((claim) => claim.workspace === workspace);
    if (mine) return mine.branch;
    const holder = claims.find(({ branch }) => branch === setting);
    const isTaken = holder !== undefined && (await isInUse(git, historyNameOf(holder)));
    const branch = isTaken ? `${setting}-${name ?? `main-${randomBytes(4).toString("hex")}`}` : setting;
    await writeClaims(file, [...claims.filter((claim) => isTaken || claim !== holder), { workspace, branch }]);
    return branch;
  });
}

/** Gives the branch free for another workspace, after `remove`. */
export async function forgetBookBranch(git: Git, setting: string): Promise<void> {
  const file = fileOf(await git.place(), setting);
  const workspace = (await historyName(git)) ?? mainName;
  await withLock(`${file}-lock`, async () => {
    const others = (await readClaims(file)).filter((claim) => claim.workspace !== workspace);
    if (others.length > 0) await writeClaims(file, others);
    else for (const path of [file, `${file}-lock`]) await rm(path, { force: true });
  });
}

type Place = Awaited<ReturnType<Git["place"]>>;

function fileOf({ commonDir, prefix }: Place, setting: string): string {
  const hash = createHash("sha256").update(`${setting}\0${prefix}`).digest("hex").slice(0, 16);
  return join(commonDir, `${claimsFile}-${hash}`);
}

const historyNameOf = ({ workspace }: Claim) => (workspace === mainName ? undefined : workspace);

async function readClaims(file: string): Promise<Claim[]> {
  const text = await readFile(file, "utf8").catch(() => "");
  return text.split("\n").flatMap((line) => {
    const [, workspace, branch] = /^(\S+) (\S+)$/.exec(line) ?? [];
    return workspace && branch ? [{ workspace, branch }] : [];
  });
}

async function writeClaims(file: string, claims: Claim[]): Promise<void> {
  const draft = `${file}.${randomBytes(4).toString("hex")}`;
  await writeFile(draft, claims.map(({ workspace, branch }) => `${workspace} ${branch}\n`).join(""));
  await rename(draft, file);
}

/** Of two work trees that ask at the same time, the second waits for the answer to the first. */
async function withLock<T>(file: string, work: () => Promise<T>): Promise<T> {
  for (;;) {
    const lock = openLock(file);
    if (!lock) {
      await sleep(10);
      continue;
    }
    try {
      return await work();
    } finally {
      lock.release();
    }
  }
}
