import type { ReviewApp } from "../review/review-app.ts";
import type { JobStore } from "./jobs.ts";

export interface JobsApp extends ReviewApp {
  jobs: JobStore;
}
