import type { Query } from "../database.ts";
import type { AcknowledgedFindingRow } from "../tables.ts";

export const acknowledgedFindings = (query: Query): Promise<AcknowledgedFindingRow[]> =>
  query.selectFrom("acknowledged_findings").selectAll().orderBy("at").execute();

/** Acknowledges a finding, or replaces the note of one that is. */
export async function saveAcknowledged(tx: Query, row: AcknowledgedFindingRow): Promise<void> {
  const { note, by_name, at } = row;
  await tx
    .insertInto("acknowledged_findings")
    .values(row)
    .onConflict((conflict) => conflict.column("id").doUpdateSet({ note, by_name, at }))
    .execute();
}
