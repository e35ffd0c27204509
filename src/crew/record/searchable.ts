import { everyone } from "../../kernel/operation.ts";
import type { Kind } from "../../search/kinds.ts";
import type { Database } from "../../store/database.ts";
import { attemptsWithOutput, titledAttempt } from "../../store/queries/attempts.ts";
import { titledVerdict, verdictIds } from "../../store/queries/verdicts.ts";

/** The outputs of workers, one for each attempt that submitted one. */
export const outputKind = (db: Database): Kind => ({
  name: "output",
  readers: everyone,
  all: async () => (await attemptsWithOutput(db.read)).map(({ task_id, epoch }) => `${task_id}/${epoch}`),
  async read(id) {
    const slash = id.lastIndexOf("/");
    const attempt = await titledAttempt(db.read, id.slice(0, slash), Number(id.slice(slash + 1)));
    if (!attempt || attempt.output === null) return undefined;
    return {
      title: `Output of attempt ${attempt.attempt}: ${attempt.title}`,
      text: [attempt.output, ...section("Decisions", attempt.decisions)].join("\n\n"),
      author: attempt.worker,
      at: attempt.worker_ended_at ?? attempt.started_at,
      run: attempt.run_id,
    };
  },
});

/** The verdicts of verifiers; a void one says why it is void. */
export const verdictKind = (db: Database): Kind => ({
  name: "verdict",
  readers: everyone,
  all: () => verdictIds(db.read),
  async read(id) {
    const row = await titledVerdict(db.read, id);
    if (!row) return undefined;
    const { outcome, score, attempt, title, verifier: author, at, run_id: run } = row;
    const text = [
      ...(row.voided_at === null ? [] : [`Void: ${row.void_reason ?? "it was withdrawn"}`]),
      row.feedback,
      ...section("Issues", row.issues),
      ...section("Required fixes", row.required_fixes),
      ...section("Objections", row.objections),
    ];
    return { title: `${outcome} ${score} for attempt ${attempt}: ${title}`, text: text.join("\n\n"), author, at, run };
  },
});

const section = (heading: string, items: string[]): string[] =>
  items.length === 0 ? [] : [`## ${heading}`, ...items.map((item) => `- ${item}`)];
