import * as z from "zod";
import type { Query } from "../../store/database.ts";
import { parseJsonOr } from "../../store/json.ts";
import { stepCalls } from "../../store/queries/contexts.ts";
import { step } from "../rules/step.ts";

export type Step = z.infer<typeof step>;

const written = z.object({ todos: z.array(step) });

/** The worker's own list of steps, by epoch: the last one that it set in each attempt. */
export async function stepsOf(query: Query, task: string): Promise<Map<number, Step[]>> {
  const lists = new Map<number, Step[]>();
  for (const { epoch, input } of await stepCalls(query, task)) {
    const list = written.safeParse(parseJsonOr<unknown>(input, null));
    if (epoch !== null && list.success) lists.set(epoch, list.data.todos);
  }
  return lists;
}
