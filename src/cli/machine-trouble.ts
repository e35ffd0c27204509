import { dirname } from "node:path";
import { storageProblem } from "../kernel/storage-problem.ts";
import { GitError } from "../store/git/run-git.ts";

/** What the machine refused, in a sentence with the next step; undefined for errors that are ours. */
export function machineTrouble(error: unknown): string | undefined {
  const { code: given, message, path, syscall } = error as NodeJS.ErrnoException;
  // The code of a GitError is a number.
  const code = typeof given === "string" ? given : "";
  if (code === "EROFS") return readOnly(path ? dirname(path) : "the workspace");
  const storage = storageProblem(error);
  if (storage) return storage.message;
  // Node reports a folder that it cannot create on a read-only file system as missing.
  if (code === "ENOENT" && syscall === "mkdir") return `${path} cannot be created: the folder above it is read-only`;
  if (code === "EACCES" || code === "EPERM") return `permission denied${path ? `: ${path}` : ""}; nothing was changed`;
  if (/^SQLITE_(READONLY|CANTOPEN)/.test(code)) return `the database in .scriptorium/ ${notWritable}`;
  if (code === "SQLITE_NOTADB" || code === "SQLITE_CORRUPT") {
    return "the database in .scriptorium/ is damaged; move it away and run the command again: the index is rebuilt from git";
  }
  if (code === "ECONNREFUSED") return `the database server is not reachable: ${message}`;
  if (code.startsWith("SQLITE_BUSY")) return "the database is locked by another process; try again";
  if (error instanceof GitError && /read-only file system|permission denied/i.test(error.stderr)) {
    return `the git repository ${notWritable}`;
  }
  return undefined;
}

const notWritable = "cannot be written: it is read-only or belongs to another user; nothing was changed";

const readOnly = (folder: string) =>
  `${folder} is on a read-only file system; nothing was changed. Scriptorium writes to the workspace also when it reads from it`;
