import type { CrewPart } from "../../kernel/caller.ts";
import type { Operation } from "../../kernel/operation.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { editTool, writeTool } from "./desk/edit.ts";
import { listTool } from "./desk/list.ts";
import { patchTool } from "./desk/patch.ts";
import type { Desk } from "./desk/place.ts";
import { readTool } from "./desk/read.ts";
import { commandTools } from "./desk/run.ts";
import { searchTool } from "./desk/search.ts";
import { todoTool } from "./desk/todo.ts";

/**
 * Tools for one folder. Agents that are programs with tools of their own also write and run commands only
 * through these, so that each call is counted, recorded and sandboxed.
 */
export function deskTools(desk: Desk, part?: CrewPart): Operation<CrewApp>[] {
  const reading = [readTool(desk), listTool(desk), searchTool(desk)];
  if (!desk.write) return reading;
  const writing = [...reading, writeTool(desk), editTool(desk), ...commandTools(desk)];
  // A verifier writes small tests, and nobody follows its steps.
  return part === "qc" ? writing : [...writing, patchTool(desk), todoTool()];
}
