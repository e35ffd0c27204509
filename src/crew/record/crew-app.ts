import type { JobsApp } from "../../jobs/jobs-app.ts";
import type { TasksApp } from "../../tasks/tasks-app.ts";
import type { AttemptRecord } from "./attempts.ts";
import type { RunHost } from "./run-host.ts";
import type { RunStore } from "./runs.ts";
import type { ContextStore } from "./sent-contexts.ts";

export interface CrewApp extends JobsApp, TasksApp {
  runs: RunStore;
  /** The phases of attempts, as the system records them. */
  attempts: AttemptRecord;
  /** What agents of the crew were sent and which tools they called. */
  contexts: ContextStore;
  /** Set while the workspace is served: plans and executes runs in the background. */
  host: RunHost | undefined;
}
