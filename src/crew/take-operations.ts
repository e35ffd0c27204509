import { isAbsolute } from "node:path";
import * as z from "zod";
import { nameOf } from "../kernel/caller.ts";
import { collaborators, operation } from "../kernel/operation.ts";
import { ok, refuse } from "../kernel/result.ts";
import type { CrewApp } from "./record/crew-app.ts";

const id = z.string().max(64).describe("Id of the task");

export const takeOver = operation({
  name: "take_task",
  summary: "Take over a task of a run to do it by hand; an agent that works on it is stopped, and its files are kept.",
  effect: "writes",
  touches: ["task", "run", "attempt"],
  callers: collaborators,
  group: "tasks",
  http: { method: "post", path: "/tasks/{id}/take" },
  decision: true,
  input: z.object({
    id,
    folder: z
      .string()
      .min(1)
      .max(1000)
      .optional()
      .describe("Absolute path of a new folder for the checkout, for the owner of the workspace; by default in runs/"),
  }),
  output: z.object({
    id: z.string(),
    run: z.string(),
    folder: z.string().describe("The checkout, on the machine of the workspace"),
    branch: z.string(),
    attempt: z.int(),
    expires_at: z.string(),
    from: z.string().nullable().describe("The holder that it was taken from"),
  }),
  async run(app: CrewApp, { id, folder }, caller) {
    if (folder !== undefined && !(caller.kind === "person" && caller.isOwner))
      return refuse("denied", "only the owner of the workspace can choose the folder; leave it out");
    if (folder !== undefined && !isAbsolute(folder)) return refuse("invalid", "folder: expected an absolute path");
    const { takeTask } = await import("./attempt/take.ts");
    const taken = await takeTask(app, id, nameOf(caller), folder);
    if (!taken.ok) return taken;
    const { run, folder: place, branch, attempt, expiresAt: expires_at, from } = taken.value;
    return ok({ id, run, folder: place, branch, attempt, expires_at, from });
  },
});

export const handBackTask = operation({
  name: "hand_back_task",
  summary: "Hand back a task that you took over: your files are verified like those of a worker.",
  effect: "writes",
  touches: ["task", "run", "attempt"],
  callers: collaborators,
  group: "tasks",
  http: { method: "post", path: "/tasks/{id}/hand-back" },
  decision: true,
  input: z.object({
    id,
    note: z
      .string()
      .trim()
      .min(1)
      .max(50_000)
      .optional()
      .describe("What you did, for the verifier; for a task that delivers a text, the text"),
    discard: z.boolean().default(false).describe("Delete your files and leave the task to agents"),
  }),
  output: z.object({
    id: z.string(),
    run: z.string(),
    state: z.string(),
    attempt: z.int(),
    files: z.array(z.string()).describe("Files that you changed"),
  }),
  async run(app: CrewApp, { id, note, discard }, caller) {
    const { handBack } = await import("./attempt/take.ts");
    const done = await handBack(app, id, { note, discard }, nameOf(caller));
    return done.ok ? ok({ id, ...done.value }) : done;
  },
});
