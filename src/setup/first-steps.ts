import * as z from "zod";
import type { Config } from "../config/config.ts";
import { nameOf } from "../kernel/caller.ts";
import { collaborators, operation } from "../kernel/operation.ts";
import { ok } from "../kernel/result.ts";
import type { Database } from "../store/database.ts";
import { workOf } from "../store/queries/first-steps.ts";
import { connectedClients } from "./clients/detect.ts";

export type FirstStepsApp = { config: Config; db: Database };

const names = ["connect", "ask", "discuss", "approve", "run"] as const;

/**
 * What a newcomer has done, from the record and by their name: the history of the example belongs to other people,
 * so it counts for nobody.
 */
export const firstSteps = operation({
  name: "first_steps",
  summary: "Show which of the first steps you have taken: connect an agent, ask it, discuss, approve, run a crew.",
  effect: "reads",
  reads: ["setting", "topic", "job", "proposal", "run"],
  callers: collaborators,
  group: "review",
  http: { method: "get", path: "/first-steps" },
  input: z.object({}),
  output: z.object({
    steps: z.array(
      z.object({
        step: z.enum(names),
        done: z.boolean().describe("`connect` is about the workspace; the others are what you did yourself"),
      }),
    ),
  }),
  async run({ config, db }: FirstStepsApp, _input, caller) {
    const work = await workOf(db.read, nameOf(caller));
    const done: Record<(typeof names)[number], boolean> = {
      connect: isConnected(config),
      ask: work.job,
      discuss: work.topic,
      approve: work.approval,
      run: work.run,
    };
    return ok({ steps: names.map((step) => ({ step, done: done[step] })) });
  },
});

/** An agent that Scriptorium starts, or a client with our MCP entry in this workspace. */
const isConnected = ({ agent, crew, root, environment }: Config) =>
  agent !== undefined || Object.keys(crew.agents).length > 0 || connectedClients(root, environment).length > 0;
