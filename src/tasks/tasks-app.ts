import type { CoreApp } from "../config/core-app.ts";
import type { TaskEngine } from "./engine.ts";

export interface TasksApp extends CoreApp {
  tasks: TaskEngine;
}
