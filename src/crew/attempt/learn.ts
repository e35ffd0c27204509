import { type Caller, newTurn } from "../../kernel/caller.ts";
import { type Attempt, lastAttempt, unlearntTasks } from "../../store/queries/attempts.ts";
import { type RunTask, runTask } from "../../store/queries/runs.ts";
import { type Verdict, verdictsOf } from "../../store/queries/verdicts.ts";
import { asLogText } from "../../wiki/log.ts";
import { crewRole } from "../../wiki/role.ts";
import type { Schema } from "../../wiki/schema.ts";
import type { Crew } from "./crew.ts";

type Lesson = { section: "decisions" | "handoffs"; part: "worker" | "qc"; line: string };

const longest = 600;

/**
 * Appends decisions and handoffs of a task that ended to the wiki, as the role of the agent
 * and under the contract of the section; where that role may not write, or the schema has no such log,
 * nothing is appended. Idempotent: after a crash the next process appends only the missing lines.
 */
export async function learn(crew: Crew, id: string): Promise<void> {
  const { app } = crew;
  const [detail, task, schema] = await Promise.all([runTask(app.db.read, id), app.tasks.find(id), app.schema()]);
  const attempt = await lastAttempt(app.db.read, id);
  if (!detail || !task || !attempt || attempt.learnt_at !== null || !schema.ok) return;
  const verdict = (await verdictsOf(app.db.read, { task: id })).findLast((row) => row.epoch === attempt.epoch);
  for (const { section, part, line } of lessonsOf(detail, task, attempt, verdict)) {
    const playing = crew.agents(part);
    const role = playing.ok ? crewRole(schema.value, playing.value.role) : undefined;
    if (role === undefined || !isOpenTo(schema.value, section, role)) continue;
    if ((await app.entries.fetch(section)).content.includes(line)) continue;
    // No epoch: the claim is over by now.
    const by = { run: detail.run_id, part, agent: attempt.worker };
    const caller: Caller = { kind: "agent", role, task: id, turn: newTurn(detail.run_id, true), crew: by };
    const written = await app.knowledge(caller).appendLog(section, line);
    if (!written.ok)
      app.log.warn({ run: detail.run_id, task: id, section, problem: written.problem.message }, "lesson-refused");
  }
  await app.attempts.markLearnt(id);
}

/** Appends what killed processes left out. */
export async function learnMissing(crew: Crew, run: string | undefined): Promise<void> {
  for (const task of await unlearntTasks(crew.app.db.read, run)) await learn(crew, task);
}

const isOpenTo = ({ sections }: Schema, wanted: string, role: string) =>
  sections.some(({ id, mode, writable_by }) => id === wanted && mode === "log" && writable_by.includes(role));

/** Each line names its task, which makes it unique in its section. Pure. */
export function lessonsOf(
  { number, task_id }: Pick<RunTask, "number" | "task_id">,
  { title, state }: { title: string; state: string },
  attempt: Pick<Attempt, "attempt" | "decisions" | "files_changed" | "output" | "stopped_because">,
  verdict: Pick<Verdict, "score" | "feedback"> | undefined,
): Lesson[] {
  const which = `task ${number} (${task_id})`;
  const judged = verdict ? `, score ${verdict.score}: ${verdict.feedback}` : "";
  if (state !== "completed") {
    const why = attempt.stopped_because ? `: ${attempt.stopped_because}` : judged;
    const line = `${which} failed after attempt ${attempt.attempt}${why}`;
    return [{ section: "handoffs", part: "qc", line: oneLine(line) }];
  }
  const files = attempt.files_changed.join(", ");
  const done = `${which} is done: ${title}${files ? ` (${files})` : ""}. ${attempt.output ?? ""}`;
  return [
    ...attempt.decisions.map((decision): Lesson => {
      return { section: "decisions", part: "worker", line: oneLine(`${which}: ${decision}`) };
    }),
    { section: "handoffs", part: "worker", line: oneLine(done) },
    { section: "handoffs", part: "qc", line: oneLine(`${which} passed on attempt ${attempt.attempt}${judged}`) },
  ];
}

const oneLine = (text: string) => asLogText(text, longest);
