import { createHash, randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import * as z from "zod";
import { Refused } from "../../kernel/result.ts";
import type { Environment } from "../environment.ts";
import { isInside } from "./folders.ts";

/**
 * What a person confirmed for one workspace. It is in the person's own state folder, one file per workspace,
 * so that a repository cannot bring its own confirmation along.
 */
const recordFile = z.object({
  /** The workspace's real path, for people who read the file. */
  root: z.string(),
  items: z.record(
    z.string(),
    z.object({
      hash: z.string(),
      at: z.string(),
      by: z.string(),
      entries: z.array(z.object({ key: z.string(), value: z.string() })),
    }),
  ),
});
export type TrustRecord = z.infer<typeof recordFile>;

/** `root` is a real path. */
export function recordFileOf(root: string, env: Environment): string {
  const state = env.XDG_STATE_HOME || join(env.HOME ?? homedir(), ".local", "state");
  const name = createHash("sha256").update(root).digest("hex").slice(0, 32);
  return join(state, "scriptorium", "allowed", `${name}.json`);
}

/** The record, or undefined when there is none or it cannot be relied on. */
export function readTrustRecord(file: string, root: string): TrustRecord | undefined {
  if (isInside(file, root)) return undefined;
  const text = readOwn(file);
  if (text === undefined) return undefined;
  try {
    const record = recordFile.parse(JSON.parse(text));
    return record.root === root ? record : undefined;
  } catch {
    // Damaged: the person is asked again.
    return undefined;
  }
}

export function writeTrustRecord(file: string, record: TrustRecord): void {
  if (isInside(file, record.root)) {
    throw new Refused({
      code: "refused",
      message: `the record of what you allow would be inside the workspace, at ${file}; set XDG_STATE_HOME to a folder outside it`,
    });
  }
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    writeFileSync(draft, `${JSON.stringify(record, null, 2)}\n`, { flag: "wx", mode: 0o600, flush: true });
    renameSync(draft, file);
  } finally {
    rmSync(draft, { force: true });
  }
}

export const deleteTrustRecord = (file: string) => rmSync(file, { force: true });

/** The text of a regular file that only its owner, this user, may write. */
function readOwn(file: string): string | undefined {
  let handle: number;
  try {
    handle = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
  try {
    const { uid, mode } = fstatSync(handle);
    const isOwn = process.getuid === undefined || uid === process.getuid();
    return isOwn && (mode & constants.S_IFMT) === constants.S_IFREG && (mode & 0o022) === 0
      ? readFileSync(handle, "utf8")
      : undefined;
  } finally {
    closeSync(handle);
  }
}
