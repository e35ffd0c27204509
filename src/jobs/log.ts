import { open } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { collaborators, operation } from "../kernel/operation.ts";
import { ok } from "../kernel/result.ts";
import { noSuch } from "../store/no-such.ts";
import type { JobsApp } from "./jobs-app.ts";

const mostBytes = 32 * 1024;

export const jobLog = operation({
  name: "job_log",
  summary: "Read the end of a job's log.",
  effect: "reads",
  reads: ["job"],
  callers: collaborators,
  group: "review",
  http: { method: "get", path: "/agent/jobs/{id}/log" },
  input: z.object({ id: z.string().max(64).describe("Id of the job") }),
  output: z.object({ id: z.string(), text: z.string(), truncated: z.boolean() }),
  async run(app: JobsApp, { id }) {
    const job = await app.jobs.find(id);
    if (!job) return noSuch(app.db.read, "job", id);
    const folder = app.config.agent?.logDir;
    if (folder === undefined) return ok({ id, text: "", truncated: false });
    return ok({ id, ...(await tailOf(join(folder, `${job.id}.log`))) });
  },
});

/** The end of a file that may still grow, from the start of a line. */
async function tailOf(file: string): Promise<{ text: string; truncated: boolean }> {
  const handle = await open(file, "r").catch(() => undefined);
  if (!handle) return { text: "", truncated: false };
  try {
    const { size } = await handle.stat();
    const from = Math.max(0, size - mostBytes);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(size - from), 0, size - from, from);
    const text = buffer.subarray(0, bytesRead).toString("utf8");
    return { text: from === 0 ? text : text.slice(text.indexOf("\n") + 1), truncated: from > 0 };
  } finally {
    await handle.close();
  }
}
