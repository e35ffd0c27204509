import { graphChanges } from "../../graph/changes.ts";
import { nodeFrom, type Properties } from "../../graph/node.ts";
import { type Caller, newTurn } from "../../kernel/caller.ts";
import { joined, type Query } from "../../store/database.ts";
import type { Attempt } from "../../store/queries/attempts.ts";
import { findNode } from "../../store/queries/nodes.ts";
import type { RunTask } from "../../store/queries/runs.ts";
import type { CrewApp } from "../record/crew-app.ts";

const longest = 48_000;

/** The node that holds the accepted text of a task, for others to find and link to. */
export const textNode = (task: string) => `deliverable:${task}`;

/**
 * Stores the text of a text task before the task is completed, so that its dependents find it. Idempotent;
 * after an overturned task is done again, the new text replaces the old.
 */
export async function keepText(app: CrewApp, detail: RunTask, title: string, attempt: Attempt): Promise<void> {
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

/** Removes the text of a task that is no longer accepted, so that searches do not find it. */
export async function withdrawText(app: CrewApp, tx: Query, task: string, actor: string): Promise<void> {
  const row = await findNode(tx, app.db.engine, textNode(task));
  if (!row) return;
  const person: Caller = { kind: "person", name: actor, rank: "collaborator" };
  const said = { text: null, overturned: true } as Properties;
  await graphChanges({ ...app, db: joined(app.db, tx) }, person).updateNode(row.id, row.version, said);
}
