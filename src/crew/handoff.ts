import { newTurn } from "../people/caller.ts";
import type { AttemptRow, RunTaskRow } from "../store/crew-tables.ts";
import type { Crew } from "./crew.ts";

const longest = 600;

/**
 * What was done goes into the book, as the role that did it and under the contract of the section:
 * a role that may not write there, or a schema without such a log, is left as it is.
 */
export async function writeHandoff(
  { app, agents }: Crew,
  detail: RunTaskRow,
  title: string,
  attempt: AttemptRow,
): Promise<void> {
  const playing = agents("worker");
  const role = playing.ok ? playing.value.role : undefined;
  const schema = await app.schema();
  if (!role || !schema.ok) return;
  const section = schema.value.sections.find(
    ({ id, mode, writable_by }) => id === "handoffs" && mode === "log" && writable_by.includes(role),
  );
  if (!section) return;
  const files = (JSON.parse(attempt.files_changed) as string[]).join(", ");
  const line = `task ${detail.number} accepted on attempt ${attempt.attempt}: ${title}${files ? ` (${files})` : ""}. ${attempt.output ?? ""}`;
  const caller = {
    kind: "agent" as const,
    role,
    task: detail.task_id,
    epoch: attempt.epoch,
    turn: newTurn(detail.run_id, true),
  };
  await app.knowledge(caller).appendLog(section.id, oneLine(line));
}

const oneLine = (text: string) => {
  const line = text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ").trim();
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line;
};
