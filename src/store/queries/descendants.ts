import { sql } from "kysely";
import type { Database, Query } from "../database.ts";
import { among, type List, listOf } from "../lists.ts";
import { onEach } from "../prepared.ts";

type Engine = Database["engine"];

/** All direct and indirect dependents of a task. */
export async function descendantsOf(query: Query, id: string): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    WITH RECURSIVE behind (id) AS (
      SELECT task_id FROM task_dependencies WHERE depends_on = ${id}
      UNION SELECT d.task_id FROM task_dependencies d JOIN behind ON d.depends_on = behind.id
    )
    SELECT id FROM behind`.execute(query);
  return rows.map((row) => row.id);
}

const waitRows = onEach<{ ids: List }, unknown>(
  (engine, slot) => sql`
    UPDATE tasks SET blockers_left = blockers_left + given.more
    FROM (
      SELECT task_id, count(*) AS more FROM task_dependencies
      WHERE depends_on ${among[engine](slot("ids"))} GROUP BY task_id
    ) AS given
    WHERE tasks.id = given.task_id`,
);

/** Increments the blocker count of the dependents of tasks that are no longer completed. */
export const waitAgain = async (tx: Query, engine: Engine, undone: string[]): Promise<void> => {
  await waitRows[engine](tx, { ids: listOf[engine](undone) });
};
