import type { Query } from "../database.ts";
import type { AssignmentRow } from "../tables.ts";

export const findAssignment = (query: Query, subject: string): Promise<AssignmentRow | undefined> =>
  query.selectFrom("assignments").selectAll().where("subject", "=", subject).executeTakeFirst();

/** The assignees of these subjects. */
export async function assigneesOf(query: Query, subjects: string[]): Promise<Map<string, string>> {
  if (subjects.length === 0) return new Map();
  const rows = await query
    .selectFrom("assignments")
    .select(["subject", "person"])
    .where("subject", "in", subjects)
    .execute();
  return new Map(rows.map(({ subject, person }) => [subject, person]));
}

export async function putAssignment(tx: Query, row: AssignmentRow): Promise<void> {
  await removeAssignment(tx, row.subject);
  await tx.insertInto("assignments").values(row).execute();
}

export async function removeAssignment(tx: Query, subject: string): Promise<void> {
  await tx.deleteFrom("assignments").where("subject", "=", subject).execute();
}
