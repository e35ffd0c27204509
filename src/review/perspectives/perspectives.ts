import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { packageFile } from "../../kernel/package-files.ts";
import type { Database } from "../../store/database.ts";
import { appendEvent } from "../../store/events.ts";
import type { PerspectiveRow } from "../../store/tables.ts";

/** What a perspective was made from. Another value of any of them makes it stale (R5). */
export type Key = { sourceSha: string; personaSha: string; skillSha: string };

export type Perspective = Key & { path: string; persona: string; text: string; jobId: string | null; at: string };

type Deps = { db: Database; now(): Date };

const kept = 5;

/** Pages as they were re-told for personas: a cache, of which the newest few of each stay readable. */
export function perspectiveStore({ db, now }: Deps) {
  return {
    async put(written: Omit<Perspective, "at">, by: string): Promise<Perspective> {
      const row: PerspectiveRow = {
        path: written.path,
        persona: written.persona,
        source_sha: written.sourceSha,
        persona_sha: written.personaSha,
        skill_sha: written.skillSha,
        text: written.text,
        job_id: written.jobId,
        at: now().toISOString(),
      };
      await db.write(async (tx) => {
        await tx
          .insertInto("perspectives")
          .values(row)
          .onConflict((conflict) =>
            conflict
              .columns(["path", "persona", "source_sha", "persona_sha", "skill_sha"])
              .doUpdateSet({ text: row.text, job_id: row.job_id, at: row.at }),
          )
          .execute();
        const mine = tx.selectFrom("perspectives").where("path", "=", row.path).where("persona", "=", row.persona);
        const old = await mine.select("at").orderBy("at", "desc").offset(kept).limit(1).execute();
        if (old[0]) {
          await tx
            .deleteFrom("perspectives")
            .where("path", "=", row.path)
            .where("persona", "=", row.persona)
            .where("at", "<=", old[0].at)
            .execute();
        }
        await appendEvent(tx, {
          at: row.at,
          actor: by,
          kind: "perspective-written",
          subject: `page:${row.path}`,
          data: { persona_name: row.persona, source_sha: row.source_sha, job_id: row.job_id },
        });
      });
      return fromRow(row);
    },

    /** The one that is made from just this, or else the newest there is. */
    async best(path: string, persona: string, key: Key): Promise<Perspective | undefined> {
      const rows = await db.read
        .selectFrom("perspectives")
        .selectAll()
        .where("path", "=", path)
        .where("persona", "=", persona)
        .orderBy("at", "desc")
        .execute();
      const found = rows.map(fromRow);
      return found.find((perspective) => staleBecause(perspective, key).length === 0) ?? found[0];
    },
  };
}

export type PerspectiveStore = ReturnType<typeof perspectiveStore>;

/** What has changed since it was written. */
export function staleBecause(made: Key, now: Key): ("page" | "persona" | "skill")[] {
  return [
    ...(made.sourceSha === now.sourceSha ? [] : (["page"] as const)),
    ...(made.personaSha === now.personaSha ? [] : (["persona"] as const)),
    ...(made.skillSha === now.skillSha ? [] : (["skill"] as const)),
  ];
}

/** The skill tells agents how to write perspectives: after a change of it they should be written anew. */
export function skillSha(): string {
  const name = "skills/scriptorium/skills/scriptorium-perspective/SKILL.md";
  return createHash("sha256")
    .update(readFileSync(packageFile(name)))
    .digest("hex");
}

const fromRow = (row: PerspectiveRow): Perspective => ({
  path: row.path,
  persona: row.persona,
  sourceSha: row.source_sha,
  personaSha: row.persona_sha,
  skillSha: row.skill_sha,
  text: row.text,
  jobId: row.job_id,
  at: row.at,
});
