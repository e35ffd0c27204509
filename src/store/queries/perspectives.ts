import type { Query } from "../database.ts";
import type { PerspectiveRow } from "../tables.ts";

/** Saves a perspective and drops those of the same page and persona beyond the newest `keep`. */
export async function putPerspective(tx: Query, row: PerspectiveRow, keep: number): Promise<void> {
  await tx
    .insertInto("perspectives")
    .values(row)
    .onConflict((conflict) =>
      conflict
        .columns(["path", "persona", "source_sha", "persona_sha", "skill_sha"])
        .doUpdateSet({ text: row.text, job_id: row.job_id, at: row.at }),
    )
    .execute();
  const same = tx.selectFrom("perspectives").where("path", "=", row.path).where("persona", "=", row.persona);
  const oldest = await same.select("at").orderBy("at", "desc").offset(keep).limit(1).executeTakeFirst();
  if (!oldest) return;
  await tx
    .deleteFrom("perspectives")
    .where("path", "=", row.path)
    .where("persona", "=", row.persona)
    .where("at", "<=", oldest.at)
    .execute();
}

/** Newest first. */
export const perspectivesOf = (query: Query, path: string, persona: string): Promise<PerspectiveRow[]> =>
  query
    .selectFrom("perspectives")
    .selectAll()
    .where("path", "=", path)
    .where("persona", "=", persona)
    .orderBy("at", "desc")
    .execute();

export const hasPerspectiveOfJob = async (query: Query, job: string): Promise<boolean> =>
  (await query.selectFrom("perspectives").select("path").where("job_id", "=", job).limit(1).executeTakeFirst()) !==
  undefined;
