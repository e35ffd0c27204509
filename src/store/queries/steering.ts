import type { SteeringMessageRow } from "../crew-tables.ts";
import type { Query } from "../database.ts";

/** The messages to the worker of a task, oldest first. */
export const steeringOf = (query: Query, task: string): Promise<SteeringMessageRow[]> =>
  query
    .selectFrom("steering_messages")
    .selectAll()
    .where("task_id", "=", task)
    .orderBy("sent_at")
    .orderBy("id")
    .execute();

/** Those that no worker has got yet. */
export const undeliveredSteering = (query: Query, task: string): Promise<SteeringMessageRow[]> =>
  query
    .selectFrom("steering_messages")
    .selectAll()
    .where("task_id", "=", task)
    .where("delivered_at", "is", null)
    .orderBy("sent_at")
    .orderBy("id")
    .execute();

export const insertSteering = (tx: Query, message: Omit<SteeringMessageRow, "delivered" | "delivered_at" | "epoch">) =>
  tx
    .insertInto("steering_messages")
    .values({ ...message, delivered: null, delivered_at: null, epoch: null })
    .execute();

/** False if it was delivered before. */
export async function markDelivered(
  tx: Query,
  id: string,
  delivery: Pick<SteeringMessageRow, "delivered" | "delivered_at" | "epoch">,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable("steering_messages")
    .set(delivery)
    .where("id", "=", id)
    .where("delivered_at", "is", null)
    .executeTakeFirst();
  return Number(numUpdatedRows) === 1;
}
