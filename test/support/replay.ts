import { expect } from "vitest";
import type { App } from "../../src/app.ts";
import { replayTasks } from "../../src/tasks/replay.ts";

/** C7: the events of tasks, taken again from the first, give the rows there are. */
export async function recordEqualsRows(app: App): Promise<void> {
  const events = await app.db.read.selectFrom("events").selectAll().orderBy("seq").execute();
  const replayed = replayTasks(events.map((event) => ({ ...event, data: JSON.parse(event.data) })));
  const rows = await app.tasks.list({ limit: 1000 });
  const kept = rows.map(({ num: _, claimedAt: __, leaseUntil: ___, secretHash: ____, ...task }) => task);
  expect([...replayed.values()].sort(byId)).toEqual(kept.sort(byId));
}

const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1);
