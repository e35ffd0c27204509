import * as z from "zod";
import { operation } from "../../../kernel/operation.ts";
import { ok } from "../../../kernel/result.ts";
import type { CrewApp } from "../../record/crew-app.ts";
import { deskTool } from "./place.ts";

const todo = z.object({
  text: z.string().trim().min(1).max(300),
  status: z.enum(["pending", "doing", "done"]),
});

/** The call is recorded with the others of the attempt; nothing else keeps the list. */
export const todoTool = () =>
  operation({
    ...deskTool,
    effect: "writes",
    touches: ["run"],
    name: "todo_write",
    summary: "Set your own list of steps; it replaces the previous list.",
    guidance: "For work of several steps. People see it while you work; it is not part of the deliverable.",
    input: z.object({ todos: z.array(todo).max(50) }),
    output: z.object({ done: z.int(), of: z.int() }),
    async run(_app: CrewApp, { todos }) {
      return ok({ done: todos.filter(({ status }) => status === "done").length, of: todos.length });
    },
  });
