/** The views of a run, as the address has them and as people read them. */
export const tabs = {
  graph: "Tasks",
  list: "List",
  plan: "Plan",
  report: "Report",
  figures: "Metrics",
  transcript: "Transcript",
  timeline: "Timeline",
  activity: "Activity",
} as const;
export type Tab = keyof typeof tabs;
