import * as z from "zod";
import { operation } from "../../../kernel/operation.ts";
import { ok } from "../../../kernel/result.ts";
import type { CrewApp } from "../../record/crew-app.ts";
import { step } from "../../rules/step.ts";
import { deskTool } from "./place.ts";

/** The call is recorded with the others of the attempt, and `stepsOf` reads the list from there. */
export const todoTool = () =>
  operation({
    ...deskTool,
    effect: "writes",
    touches: ["run"],
    name: "todo_write",
    summary: "Set your list of steps.",
    guidance: "For work of several steps: people see it while you work.",
    input: z.object({ todos: z.array(step).max(50) }),
    output: z.object({ done: z.int(), of: z.int() }),
    async run(_app: CrewApp, { todos }) {
      return ok({ done: todos.filter(({ status }) => status === "done").length, of: todos.length });
    },
  });
