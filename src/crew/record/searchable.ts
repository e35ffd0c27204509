import { everyone } from "../../kernel/operation.ts";
import type { Kind } from "../../search/kinds.ts";
import type { Database } from "../../store/database.ts";
import { parseJsonOr } from "../../store/json.ts";

/** What workers handed in, one for each attempt, whatever became of it. */
export const outputKind = (db: Database): Kind => ({
  name: "output",
  readers: everyone,
  all: async () =>
    (await db.read.selectFrom("attempts").select(["task_id", "epoch"]).where("output", "is not", null).execute()).map(
      ({ task_id, epoch }) => `${task_id}/${epoch}`,
    ),
  async read(id) {
    const row = await db.read
      .selectFrom("attempts as a")
      .innerJoin("tasks as t", "t.id", "a.task_id")
      .select(["t.title", "a.attempt", "a.output", "a.decisions", "a.worker", "a.worker_ended_at", "a.started_at"])
      .select("a.run_id")
      .where("a.task_id", "=", id.slice(0, id.lastIndexOf("/")))
      .where("a.epoch", "=", Number(id.slice(id.lastIndexOf("/") + 1)))
      .executeTakeFirst();
    if (!row || row.output === null) return undefined;
    return {
      title: `Output of attempt ${row.attempt}: ${row.title}`,
      text: [row.output, ...section("Decisions", row.decisions)].join("\n\n"),
      author: row.worker,
      at: row.worker_ended_at ?? row.started_at,
      run: row.run_id,
    };
  },
});

/** What verifiers said. One that no longer holds says why. */
export const verdictKind = (db: Database): Kind => ({
  name: "verdict",
  readers: everyone,
  all: async () => (await db.read.selectFrom("verdicts").select("id").execute()).map(({ id }) => id),
  async read(id) {
    const row = await db.read
      .selectFrom("verdicts as v")
      .innerJoin("tasks as t", "t.id", "v.task_id")
      .select(["t.title", "v.attempt", "v.outcome", "v.score", "v.feedback", "v.issues", "v.required_fixes"])
      .select(["v.objections", "v.verifier", "v.at", "v.run_id", "v.voided_at", "v.void_reason"])
      .where("v.id", "=", id)
      .executeTakeFirst();
    if (!row) return undefined;
    const { outcome, score, attempt, title, verifier: author, at, run_id: run } = row;
    const text = [
      ...(row.voided_at === null ? [] : [`No longer holds: ${row.void_reason ?? "it was taken back"}`]),
      row.feedback,
      ...section("Issues", row.issues),
      ...section("Required fixes", row.required_fixes),
      ...section("Objections", row.objections),
    ];
    return { title: `${outcome} ${score} for attempt ${attempt}: ${title}`, text: text.join("\n\n"), author, at, run };
  },
});

/** A list that is kept as JSON, as a part of its own. */
function section(heading: string, list: string): string[] {
  const items = parseJsonOr<unknown[]>(list, []);
  if (items.length === 0) return [];
  return [`## ${heading}`, ...items.map((item) => `- ${typeof item === "string" ? item : JSON.stringify(item)}`)];
}
