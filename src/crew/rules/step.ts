import * as z from "zod";

/** One step of a worker's own list, which `todo_write` sets. */
export const step = z.object({
  text: z.string().trim().min(1).max(300),
  status: z.enum(["pending", "doing", "done"]),
});
