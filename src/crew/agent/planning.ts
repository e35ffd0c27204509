import type { Crew } from "../attempt/crew.ts";

/** What it takes of a crew to run an agent that has no task: no worktrees, and a sandbox only where it is a program. */
export type Planning = Pick<Crew, "app" | "agents" | "operationsFor" | "serveTools"> & Partial<Pick<Crew, "sandbox">>;
