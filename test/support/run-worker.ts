import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { configuredAgents } from "../../src/crew/agent/parts.ts";
import { attemptsOf } from "../../src/store/queries/attempts.ts";
import { contextsOf } from "../../src/store/queries/contexts.ts";
import { executed, newRun, passes, planned, playing } from "./crew.ts";
import { authorship } from "./jobs.ts";
import { type engines, newWorkspace } from "./workspace.ts";

export type WorkerGiven = {
  /** The worker of crew.agents. */
  worker: Record<string, unknown>;
  /** More of the blocks agent and crew. */
  agent?: Record<string, unknown>;
  crew?: Record<string, unknown>;
  environment?: Record<string, string>;
  engine?: (typeof engines)[number];
  /** Goes on beside the worker. */
  beside?(root: string): Promise<void>;
};

/** Runs one worker in a crew whose verifier accepts everything; resolves with the record of the worker. */
export async function runWorker({ worker, agent, crew, environment, engine = "sqlite", beside }: WorkerGiven) {
  const made = await newWorkspace({ engine });
  const blocks = { agent: { ...authorship, ...agent }, crew: { agents: { worker }, outage_minutes: 0, ...crew } };
  const lines = Object.entries(blocks).map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`);
  appendFileSync(made.file("scriptorium.yaml"), lines.join(""));
  made.git("commit", "-qam", "Configure the crew");
  const app = await made.open();
  app.config.environment = { ...app.config.environment, ...environment };
  const configured = configuredAgents(app.config);
  const verifying = playing({ qc: passes });
  const agents: typeof configured = (part) => (part === "worker" ? configured(part) : verifying(part));
  const run = await newRun(app, [planned("0", { max_retries: 0 })]);
  await Promise.all([executed(app, run, agents, { workers: 1 }), beside?.(made.root)]);
  const [attempt] = await attemptsOf(app.db.read, { run });
  const [context] = (await contextsOf(app.db.read, { run })).filter((row) => row.part === "worker");
  if (!attempt || !context) throw new Error("the worker was not started");
  const log = readFileSync(join(app.config.agent?.logDir ?? "", `${context.id}.log`), "utf8");
  return { ...made, app, run, attempt, log, used: context.destinations ?? [] };
}
