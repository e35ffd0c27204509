/**
 * The clock of leases on SQLite: milliseconds since boot, which all processes of a machine share and nobody can set,
 * plus an offset in the database. Without it a lease would end an hour early, or be kept an hour after its worker
 * died, when the time of day is set.
 *
 * The offset is chosen when a database is opened: after a restart of the machine, and while nothing is leased, so that
 * times are close to the time of day. Without a boot id (not on Linux) there is none, and the time of day is used.
 */
export const steadyFunction = "steady_ms";

/** As SQL. The offset is read each time: another process may have opened the database after this one. */
export const steadyClock = `CAST(coalesce(
  (SELECT value FROM meta WHERE key = 'clock-offset') + ${steadyFunction}(), unixepoch('subsec') * 1000) AS INTEGER)`;

/** Keys of `meta` that mean nothing in another database. */
export const clockKeys = ["clock-boot", "clock-offset"] as const;

export const steadyMs = (): number => Number(process.hrtime.bigint() / 1_000_000n);
