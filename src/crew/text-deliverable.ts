import { graphChanges } from "../graph/changes.ts";
import { type Caller, newTurn } from "../people/caller.ts";
import type { AttemptRow, RunTaskRow } from "../store/crew-tables.ts";
import type { Crew } from "./crew.ts";

const longest = 48_000;

/** Where the words of a text task are kept once they are accepted: a node that others find and link to. */
export const textNode = (task: string) => `deliverable:${task}`;

/** Kept before the task counts as completed, so that whoever waits for it finds it; kept twice it is kept once. */
export async function keepText({ app }: Crew, detail: RunTaskRow, title: string, attempt: AttemptRow): Promise<void> {
  if (detail.deliverable !== "text") return;
  const text = (attempt.output ?? "").slice(0, longest);
  const properties = { title, text, run: detail.run_id, task: detail.task_id, number: detail.number };
  const worker: Caller = { kind: "agent", role: attempt.worker, turn: newTurn(detail.run_id) };
  await graphChanges(app, worker).addNode({ id: textNode(detail.task_id), type: "deliverable", properties });
}
