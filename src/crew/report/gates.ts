import * as z from "zod";
import type { WaitingGate } from "../../store/queries/gates.ts";

/** A result that waits for a person, as the inbox and the page of the decision show it. */
export const gateLine = z.object({
  task: z.string(),
  number: z.string(),
  title: z.string(),
  run: z.string(),
  hash: z.string(),
  on_reject: z
    .enum(["fail", "stop"])
    .nullable()
    .describe("For a task that only asks: what a rejection does; null for a verified result"),
  held_at: z.string(),
});

export const shownGate = ({
  task_id,
  number,
  title,
  run_id,
  hash,
  on_reject,
  held_at,
}: WaitingGate): z.infer<typeof gateLine> => ({
  ...{ task: task_id, number, title, run: run_id, hash, on_reject, held_at },
});
