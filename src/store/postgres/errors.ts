/**
 * The database server cannot be reached, or refused the work for now. Nothing was saved: the transaction did not
 * begin, or was certainly rolled back.
 */
export class DatabaseUnavailable extends Error {
  constructor(
    cause: unknown,
    readonly why: "lost" | "timeout" = "lost",
  ) {
    super(why === "timeout" ? "the database did not answer in time" : "the database server is not reachable", {
      cause,
    });
    this.name = "DatabaseUnavailable";
  }
}

/** No host of the address accepts connections of the wanted kind. */
export class NotWritable extends Error {
  constructor(host: string) {
    super(`${host} is read-only: it is a standby, or was demoted`);
    this.name = "NotWritable";
  }
}

/** The watchdog gave up waiting for an answer and closed the connection. */
export class NoAnswer extends Error {
  constructor(seconds: number) {
    super(`the database server did not answer within ${seconds} s`);
    this.name = "NoAnswer";
  }
}

const codeOf = (error: unknown) => String((error as { code?: unknown }).code ?? "");

/**
 * The connection is gone, so that the answer to what was sent last will not come. 08: connection exceptions, also
 * those that PgBouncer sends; 57P: shutdown, crash and start-up of the server; 25P03 and 57P05: it ended a session
 * that was idle for too long.
 */
export function isLost(error: unknown): boolean {
  if (error instanceof NoAnswer || error instanceof NotWritable) return true;
  const { message = "" } = error as { message?: string };
  return (
    /^(08\w{3}|57P0[1235]|25P03|53300)$/.test(codeOf(error)) ||
    lostSockets.has(codeOf(error)) ||
    /^connection terminated|^timeout expired|not queryable|^connection ended/i.test(message)
  );
}

const ofConnections = new WeakSet<object>();

/** Marks an error as one of a connection to the server. */
export function markOfConnection(error: unknown): void {
  if (typeof error === "object" && error !== null) ofConnections.add(error);
}

/**
 * True if a connection was lost, as told by an error of work that may do other things than queries: ENOENT and
 * ECONNREFUSED of a file or another server say nothing about the database.
 */
export const lostConnection = (error: unknown): boolean =>
  typeof error === "object" && error !== null && ofConnections.has(error) && isLost(error);

const lostSockets = new Set([
  "ECONNRESET",
  "ECONNREFUSED",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "EHOSTDOWN",
  "ENETUNREACH",
  "ENETDOWN",
  "ENOTFOUND",
  "EAI_AGAIN",
  // A Unix socket that is not there yet.
  "ENOENT",
]);

/** Deadlocks and serialization failures: the transaction was rolled back, and a retry may succeed. */
export const isConflict = (error: unknown) => ["40001", "40P01"].includes(codeOf(error));

/** A write reached a server that accepts none: the primary was demoted while its connections stayed open. */
export const isReadOnly = (error: unknown) => codeOf(error) === "25006";

/** A prepared statement that another client of a pooler made, or that its other server connection has. */
export const isMixedStatement = (error: unknown) => ["26000", "42P05"].includes(codeOf(error));

/** The server does not let this user call a function, or does not have it. */
export const isWithoutFunction = (error: unknown) => ["42501", "42883"].includes(codeOf(error));

/** The server has not given the id of a transaction yet: a crash or a failover lost the transaction that had it. */
export const isFutureTransaction = (error: unknown) =>
  codeOf(error) === "22023" && /transaction ID .* is in the future/i.test(String((error as Error).message));

/** The server cancelled a statement at its time limit, or while it waited for a lock. */
export const isTimeout = (error: unknown) => ["57014", "55P03"].includes(codeOf(error));
