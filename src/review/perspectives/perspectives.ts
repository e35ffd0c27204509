import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { packageFile } from "../../kernel/package-files.ts";
import type { Database } from "../../store/database.ts";
import { appendEvent } from "../../store/events.ts";
import { perspectivesOf, putPerspective } from "../../store/queries/perspectives.ts";
import type { PerspectiveRow } from "../../store/tables.ts";

/** The inputs of a perspective; a change of any makes it stale (R5). */
export type Key = { sourceSha: string; personaSha: string; skillSha: string };

export type Perspective = Key & { path: string; persona: string; text: string; jobId: string | null; at: string };

type Deps = { db: Database; now(): Date };

const keptPerPersona = 5;

/** Pages rewritten for personas: a cache that keeps the newest few of each page and persona. */
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
        await putPerspective(tx, row, keptPerPersona);
        const data = { persona_name: row.persona, source_sha: row.source_sha, job_id: row.job_id };
        const event = { at: row.at, actor: by, kind: "perspective-written" as const, subject: `page:${row.path}` };
        await appendEvent(tx, { ...event, data });
      });
      return fromRow(row);
    },

    /** The perspective made from exactly these inputs, or else the newest. */
    async best(path: string, persona: string, key: Key): Promise<Perspective | undefined> {
      const found = (await perspectivesOf(db.read, path, persona)).map(fromRow);
      return found.find((perspective) => staleBecause(perspective, key).length === 0) ?? found[0];
    },
  };
}

export type PerspectiveStore = ReturnType<typeof perspectiveStore>;

/** Names the inputs that have changed since the perspective was written. */
export function staleBecause(made: Key, now: Key): ("page" | "persona" | "skill")[] {
  return [
    ...(made.sourceSha === now.sourceSha ? [] : (["page"] as const)),
    ...(made.personaSha === now.personaSha ? [] : (["persona"] as const)),
    ...(made.skillSha === now.skillSha ? [] : (["skill"] as const)),
  ];
}

/** The hash of the skill that tells agents how to write perspectives. */
export function skillSha(): string {
  const name = "plugin/jobs/skills/scriptorium-perspective/SKILL.md";
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
