import { graphChanges } from "../../graph/changes.ts";
import { nodeFrom, type Properties } from "../../graph/node.ts";
import { type Caller, newTurn } from "../../kernel/caller.ts";
import type { AttemptRow, RunTaskRow } from "../../store/crew-tables.ts";
import { joined, type Query } from "../../store/database.ts";
import { findNode } from "../../store/queries/nodes.ts";
import type { CrewApp } from "../record/crew-app.ts";

const longest = 48_000;

/** Where the words of a text task are kept once they are accepted: a node that others find and link to. */
export const textNode = (task: string) => `deliverable:${task}`;

/**
 * Kept before the task counts as completed, so that whoever waits for it finds it. Kept twice it is kept
 * once; of a task that was overturned and done again, the new words take the place of the old.
 */
export async function keepText(app: CrewApp, detail: RunTaskRow, title: string, attempt: AttemptRow): Promise<void> {
  if (detail.deliverable !== "text") return;
  const text = (attempt.output ?? "").slice(0, longest);
  const properties = { title, text, run: detail.run_id, task: detail.task_id, number: detail.number };
  const id = textNode(detail.task_id);
  const worker: Caller = { kind: "agent", role: attempt.worker, turn: newTurn(detail.run_id) };
  const changes = graphChanges(app, worker);
  const added = await changes.addNode({ id, type: "deliverable", properties });
  if (added.ok) return;
  const row = await findNode(app.db.read, app.db.engine, id);
  if (row && nodeFrom(row).properties.text !== text)
    await changes.updateNode(id, row.version, { ...properties, overturned: null } as Properties);
}

/** What was accepted and is not any more must not be found as if it were. */
export async function withdrawText(app: CrewApp, tx: Query, task: string, actor: string): Promise<void> {
  const row = await findNode(tx, app.db.engine, textNode(task));
  if (!row) return;
  const person: Caller = { kind: "person", name: actor, rank: "collaborator" };
  const said = { text: null, overturned: true } as Properties;
  await graphChanges({ ...app, db: joined(app.db, tx) }, person).updateNode(row.id, row.version, said);
}
