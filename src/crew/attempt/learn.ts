import { type Caller, newTurn } from "../../kernel/caller.ts";
import type { AttemptRow, RunTaskRow, VerdictRow } from "../../store/crew-tables.ts";
import { attemptsOf, runTask, unlearnt, verdictsOf } from "../../store/queries/runs.ts";
import type { Schema } from "../../wiki/schema.ts";
import type { Crew } from "./crew.ts";

type Lesson = { section: "decisions" | "handoffs"; part: "worker" | "qc"; line: string };

const longest = 600;

/**
 * What was decided and what was done goes into the book, as the role of the agent and under the
 * contract of the section: a role that may not write there, or a schema without such a log, is left as
 * it is. The book is written after the task has ended, so a process that was killed in between leaves
 * it to the next; a line that is there already is not written again.
 */
export async function learn(crew: Crew, id: string): Promise<void> {
  const { app } = crew;
  const [detail, task, schema] = await Promise.all([runTask(app.db.read, id), app.tasks.find(id), app.schema()]);
  const attempt = (await attemptsOf(app.db.read, { task: id })).findLast((row) => row.phase !== "abandoned");
  if (!detail || !task || !attempt || attempt.learnt_at !== null || !schema.ok) return;
  const verdict = (await verdictsOf(app.db.read, { task: id })).findLast((row) => row.epoch === attempt.epoch);
  for (const { section, part, line } of lessonsOf(detail, task, attempt, verdict)) {
    const playing = crew.agents(part);
    const role = playing.ok ? playing.value.role : undefined;
    if (role === undefined || !isOpenTo(schema.value, section, role)) continue;
    if ((await app.entries.fetch(section)).content.includes(line)) continue;
    // The claim is over by now: the line names the task, and stands under no epoch.
    const caller: Caller = { kind: "agent", role, task: id, turn: newTurn(detail.run_id, true) };
    const written = await app.knowledge(caller).appendLog(section, line);
    if (!written.ok) app.log.warn({ task: id, section, problem: written.problem.message }, "lesson-refused");
  }
  await app.attempts.markLearnt(id);
}

/** What processes that were killed had no time to write. */
export async function learnTheRest(crew: Crew, run: string | undefined): Promise<void> {
  for (const task of await unlearnt(crew.app.db.read, run)) await learn(crew, task);
}

const isOpenTo = ({ sections }: Schema, wanted: string, role: string) =>
  sections.some(({ id, mode, writable_by }) => id === wanted && mode === "log" && writable_by.includes(role));

/** In lines that name their task, so that each is the only one of its kind. Pure. */
export function lessonsOf(
  { number, task_id }: Pick<RunTaskRow, "number" | "task_id">,
  { title, state }: { title: string; state: string },
  attempt: Pick<AttemptRow, "attempt" | "decisions" | "files_changed" | "output">,
  verdict: Pick<VerdictRow, "score" | "feedback"> | undefined,
): Lesson[] {
  const which = `task ${number} (${task_id})`;
  const judged = verdict ? `, score ${verdict.score}: ${verdict.feedback}` : "";
  if (state !== "completed") {
    const line = `${which} was given up after attempt ${attempt.attempt}${judged}`;
    return [{ section: "handoffs", part: "qc", line: oneLine(line) }];
  }
  const files = (JSON.parse(attempt.files_changed) as string[]).join(", ");
  const done = `${which} is done: ${title}${files ? ` (${files})` : ""}. ${attempt.output ?? ""}`;
  return [
    ...(JSON.parse(attempt.decisions) as string[]).map((decision): Lesson => {
      return { section: "decisions", part: "worker", line: oneLine(`${which}: ${decision}`) };
    }),
    { section: "handoffs", part: "worker", line: oneLine(done) },
    { section: "handoffs", part: "qc", line: oneLine(`${which} passed on attempt ${attempt.attempt}${judged}`) },
  ];
}

const oneLine = (text: string) => {
  const line = text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ").trim();
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line;
};
