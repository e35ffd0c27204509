/** Time limits towards PostgreSQL, in milliseconds, and the number of connections of a process. */
export type Limits = {
  connections: number;
  /** To open a connection. Twice as long for the first answer on it. */
  connectMs: number;
  /** One statement, waiting for locks included. */
  statementMs: number;
  /** How long a call waits for a database that was lost, before it fails. */
  retryMs: number;
  /** How long a process that starts waits for the database. */
  startMs: number;
};

export const defaultLimits: Limits = {
  connections: 10,
  connectMs: 5000,
  statementMs: 60_000,
  retryMs: 5000,
  startMs: 30_000,
};
