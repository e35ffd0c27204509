import type { Problem } from "./result.ts";

/** Why a disk or database cannot be written. */
export type StorageReason = "disk_full" | "read_only" | "too_many_open_files" | "io_error" | "unavailable";

/** The problem of a disk or database that cannot be used; undefined for other errors. */
export function storageProblem(error: unknown): Problem | undefined {
  if (error instanceof Error && error.name === "UnknownOutcome") {
    const details = { reason: "unavailable", outcome: "unknown" };
    if ((error as { hasKey?: unknown }).hasKey === true) {
      const message = `${error.message}. Repeat the call with the same idempotency key`;
      return { code: "storage", message, details: { ...details, retry_after: retrySeconds } };
    }
    // Without `retry_after`: clients repeat such requests by themselves, and this change would be made twice.
    const message = `${error.message}. Read the present state before you repeat the change`;
    return { code: "storage", message, details };
  }
  if (error instanceof Error && (error.name === "ClosedDatabase" || error.message === closedDriver)) {
    const message = "Scriptorium is stopping, and the change was not saved. Start it and try again";
    return { code: "storage", message, details: { reason: "unavailable" } };
  }
  if (error instanceof Error && error.name === "DatabaseUnavailable") {
    const why = (error as { why?: unknown }).why === "timeout" ? "timeout" : "unavailable";
    return { code: "storage", message: messages[why], details: { reason: "unavailable", retry_after: retrySeconds } };
  }
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth++) {
    const reason = reasonOf(cause) ?? (depth === 0 && isLostServer(cause) ? "unavailable" : undefined);
    const again = reason === "unavailable" ? { retry_after: retrySeconds } : {};
    if (reason) return { code: "storage", message: messages[reason], details: { reason, ...again } };
  }
  return undefined;
}

/** Kysely's message for a query after the end. */
const closedDriver = "driver has already been destroyed";

function reasonOf(error: Error & { code?: unknown; stderr?: unknown }): StorageReason | undefined {
  const code = typeof error.code === "string" ? error.code : "";
  const said = `${error.message}\n${typeof error.stderr === "string" ? error.stderr : ""}`;
  if (fullDisk.has(code) || /no space left on device|disk quota exceeded|file too large/i.test(said))
    return "disk_full";
  if (code === "EROFS" || code.startsWith("SQLITE_READONLY") || /read-only file system/i.test(said)) return "read_only";
  if (code === "EMFILE" || code === "ENFILE" || /too many open files/i.test(said)) return "too_many_open_files";
  if (code === "EIO" || code.startsWith("SQLITE_IOERR") || code === "58030") return "io_error";
  return undefined;
}

const fullDisk = new Set(["ENOSPC", "EDQUOT", "EFBIG", "SQLITE_FULL", "53100"]);

/** Not as a cause: a model's server that cannot be reached is the cause of another error. */
const isLostServer = ({ code, message }: Error & { code?: unknown }) =>
  lostServer.test(String(code)) || /^connection terminated/i.test(message);

/** PostgreSQL: connection exceptions, too many connections, shutdown and start-up of the server. */
const lostServer = /^(08\w{3}|53300|57P0[123]|ECONNREFUSED|ECONNRESET)$/;

/** A failover of PostgreSQL takes some seconds. */
const retrySeconds = 2;

const messages: Record<StorageReason | "timeout", string> = {
  disk_full: "the disk is full, and the change was not saved. Free some space and try again; reading still works",
  read_only:
    "the file system or the database is read-only, and the change was not saved. Make it writable and try again",
  too_many_open_files:
    "too many files are open, and the change was not saved. Raise the limit (ulimit -n) and try again",
  io_error: "the disk reports an I/O error, and the change was not saved. Check the disk and the system log",
  unavailable: "the database server is not reachable, and nothing was saved. Try again in a few seconds",
  timeout: "the database did not answer in time, and nothing was saved. Try again in a few seconds",
};
