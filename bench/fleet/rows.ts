import pg from "pg";
import { unwrap } from "../../src/kernel/result.ts";
import { openDatabase } from "../../src/store/open.ts";
import { taskEngine } from "../../src/tasks/engine.ts";
import { createJobs } from "../claims/load.ts";
import { median, percentile } from "../support/measure.ts";
import type { Place } from "../support/place.ts";
import { atMost, type Row, type Table } from "../support/table.ts";

const sizes = [1000, 10_000, 100_000, 1_000_000];

/** A worker claims and ends tasks one at a time, while ever more tasks wait. */
export async function costByRows(place: Place, jobs = 400): Promise<Table> {
  const rows: Row[] = [];
  const url = await place.postgres();
  const db = await openDatabase({ engine: "postgres", url });
  let made = 0;
  const newId = (prefix: string) => `${prefix}-${++made}`;
  const tasks = taskEngine({ db, strategy: "queue", leaseMs: 60_000, now: () => new Date(), newId, batchSize: 2 });
  await createJobs(tasks, 1000);
  let first: number | undefined;
  for (const size of sizes) {
    await fill(url, size);
    const times: number[] = [];
    // The first tenth warms caches of PostgreSQL after the load.
    for (let n = 0; n < jobs * 1.1; n++) {
      const began = performance.now();
      const claim = await tasks.claim("w");
      if (!claim) throw new Error("no task is left");
      unwrap(await tasks.step(claim.task.id, { type: "finish", output: "" }, "w", claim));
      if (n >= jobs * 0.1) times.push(performance.now() - began);
    }
    first ??= median(times);
    process.stderr.write(`${size} tasks: P50 ${median(times).toFixed(2)} ms\n`);
    rows.push({
      what: `${size.toLocaleString("en")} tasks that wait`,
      figures: { "P50 ms": median(times), "P99 ms": percentile(times, 0.99), "× 1,000 tasks": median(times) / first },
      ...(size === sizes.at(-1) ? { target: atMost(1.2, median(times) / first, "× the cost with 1,000 tasks") } : {}),
    });
  }
  await db.close();
  return { question: "One claim and its end, by the number of tasks", rows };
}

/** Copies of a task that waits, until there are so many. */
async function fill(url: string, size: number): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    // The copies need no place in the search index.
    await client.query("SET session_replication_role = replica");
    await client.query(`
      WITH one AS (SELECT * FROM tasks WHERE state = 'pending' ORDER BY num LIMIT 1),
        had AS (SELECT max(num) AS last, count(*) FILTER (WHERE state = 'pending') AS pending FROM tasks)
      INSERT INTO tasks OVERRIDING SYSTEM VALUE
      SELECT (jsonb_populate_record(null::tasks, to_jsonb(one) || jsonb_build_object(
        'id', 'copy-' || (had.last + n), 'num', had.last + n, 'turn_at', one.turn_at + n))).*
      FROM one, had, generate_series(1, greatest(0, ${size} - had.pending)) AS n`);
    await client.query("SELECT setval(pg_get_serial_sequence('tasks', 'num'), (SELECT max(num) FROM tasks))");
    await client.query("VACUUM ANALYZE tasks");
  } finally {
    await client.end();
  }
}
