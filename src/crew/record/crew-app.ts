import type { JobsApp } from "../../jobs/jobs-app.ts";
import type { TasksApp } from "../../tasks/tasks-app.ts";
import type { AttemptRecord } from "./attempts.ts";
import type { RunHost } from "./run-host.ts";
import type { RunPacks } from "./run-packs.ts";
import type { RunStore } from "./runs.ts";
import type { ContextStore } from "./sent-contexts.ts";

export interface CrewApp extends JobsApp, TasksApp {
  runs: RunStore;
  /** The phases of attempts. */
  attempts: AttemptRecord;
  /** The prompts and tool calls of agents. */
  contexts: ContextStore;
  /** The commits of runs in the database. */
  packs: RunPacks;
  /** Plans and executes runs in this process. */
  host: RunHost;
}
