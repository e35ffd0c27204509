import * as z from "zod";
import { nameOf } from "../kernel/caller.ts";
import { collaborators, operation } from "../kernel/operation.ts";
import { ok } from "../kernel/result.ts";
import type { CrewApp } from "./record/crew-app.ts";
import { sendSteering } from "./record/steering-messages.ts";

export const steerTask = operation({
  name: "steer_task",
  summary: "Send a message to the worker of a task while it works; without one, the next attempt gets it.",
  effect: "writes",
  touches: ["task", "attempt"],
  callers: collaborators,
  group: "runs",
  http: { method: "post", path: "/tasks/{id}/steering" },
  decision: true,
  input: z.object({
    id: z.string().max(64).describe("Id of the task"),
    content: z.string().trim().min(1, "expected the message").max(8000).describe("The message"),
  }),
  output: z.object({
    id: z.string().describe("Id of the message"),
    task: z.string(),
    run: z.string(),
    reaches: z
      .enum(["worker", "next_attempt"])
      .describe("worker: with its next turn or tool result; next_attempt: nobody works on the task now"),
  }),
  async run(app: CrewApp, { id, content }, caller) {
    const sent = await sendSteering(app, { task: id, content }, nameOf(caller));
    return sent.ok ? ok({ task: id, ...sent.value }) : sent;
  },
});
