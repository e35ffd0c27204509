import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { type Script, scriptedRunner } from "../../src/agents/scripted.ts";
import { type AgentSetup, setUpAgent } from "../../src/agents/setup.ts";
import { skillsFolder } from "../../src/agents/skills.ts";
import { openToolSocket } from "../../src/agents/tool-socket.ts";
import type { App } from "../../src/app.ts";
import type { Job } from "../../src/jobs/job.ts";
import { openQueue } from "../../src/jobs/queue.ts";
import { ok, unwrap } from "../../src/kernel/result.ts";
import { allOperations, operations } from "../../src/operation-list.ts";
import { type Backend, newWorkspace, person, type TestWorkspace } from "./workspace.ts";

export const pageText = "# Deploy\n\nPush the button.\n\nWait for the light.\n";

const personas = "personas:\n  - { name: newcomer, description: Someone on their first day. }\n";

export const authorship = { author_name: "Scriptorium agent", author_email: "agent@example.org" };

/** A workspace with a page to discuss, a persona to write for, and an agent block. */
export async function jobWorkspace(
  agent: Record<string, unknown> = {},
  backend: Partial<Backend> = {},
): Promise<TestWorkspace> {
  const made = await newWorkspace(backend);
  mkdirSync(join(made.root, "docs"));
  writeFileSync(join(made.root, "docs/deploy.md"), pageText);
  made.git("add", "-A");
  made.git("commit", "-qm", "Say how to deploy");
  const config = join(made.root, "scriptorium.yaml");
  const block = JSON.stringify({ ...authorship, ...agent });
  writeFileSync(config, `${readFileSync(config, "utf8")}${personas}agent: ${block}\n`);
  await made.app.close();
  return { ...made, app: await made.open() };
}

/** A small program in the workspace's state folder, to be an agent. */
export function program(root: string, text: string, mode = 0o755): string {
  const file = join(root, ".scriptorium", `agent-${Math.random().toString(36).slice(2)}`);
  writeFileSync(file, text.startsWith("#!") ? text : `#!/bin/sh\n${text}\n`);
  chmodSync(file, mode);
  return file;
}

export async function openTopic(app: App, kind: "change" | "question" = "change", path = "docs/deploy.md") {
  const quote = path === "docs/deploy.md" ? { quote: "Push the button." } : {};
  const opened = await operations.open_topic.perform(
    app,
    { source_path: path, kind, content: "Which button?", ...quote },
    person(),
  );
  return unwrap(opened).id;
}

export const startJob = (app: App, input: Record<string, unknown>) =>
  operations.start_job.perform(app, { kind: "incorporate", ...input }, person("collaborator"));

/** A queue of this process, with a script for an agent or the one that the configuration names. */
export async function runQueue(app: App, script?: Script) {
  const quick = { interruptMs: 100, terminateMs: 100 };
  const made = script ? ok(scripted(app, script)) : setUpAgent(app.config, quick);
  const setup = () => made;
  const queue = await openQueue(app, { setup, operations: allOperations, serveTools: openToolSocket, adopts: true });
  onTestFinished(() => queue.stop());
  return queue;
}

function scripted(app: App, script: Script): AgentSetup {
  if (!app.config.agent) throw new Error("no agent block");
  return {
    agent: app.config.agent,
    runner: scriptedRunner(script),
    scribe: "/bin/false",
    scribeFiles: [],
    skills: skillsFolder(),
    env: {},
  };
}

/** The job once it is over. */
export async function over(app: App, id: string): Promise<Job> {
  await expect.poll(async () => (await app.jobs.find(id))?.completed_at, { interval: 20 }).toBeTruthy();
  return (await app.jobs.find(id)) as Job;
}
