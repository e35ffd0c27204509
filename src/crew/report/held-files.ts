import * as z from "zod";
import type { WaitingFiles } from "../../store/queries/held-files.ts";

/** Files that wait for a person, as the inbox and the page of the decision show them. */
export const heldFiles = z.object({
  task: z.string(),
  number: z.string(),
  title: z.string(),
  run: z.string(),
  hash: z.string(),
  held_at: z.string(),
  files: z.array(z.object({ path: z.string(), status: z.enum(["added", "changed", "deleted"]), why: z.string() })),
});

export const shownFiles = (held: WaitingFiles): z.infer<typeof heldFiles> => ({
  task: held.task_id,
  number: held.number,
  title: held.title,
  run: held.run_id,
  hash: held.hash,
  held_at: held.held_at,
  files: held.files.map(({ path, status, why }) => ({ path, status, why })),
});
