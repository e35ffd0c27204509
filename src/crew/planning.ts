import type { Crew } from "./crew.ts";

/** What it takes of a crew to run an agent that has no task: no worktrees and no sandbox, for it runs nothing. */
export type Planning = Pick<Crew, "app" | "agents" | "operationsFor" | "serveTools">;
