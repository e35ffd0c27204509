import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as z from "zod";
import type { Sandbox } from "../../agents/sandbox/access.ts";
import { type Operation, operation } from "../../kernel/operation.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { filterFiles } from "../../store/git/filtered-files.ts";
import { failedGit } from "../../store/git/run-git.ts";
import { lastRefusedCall } from "../../store/queries/contexts.ts";
import type { Desk } from "../agent/desk/place.ts";
import { deskTools } from "../agent/desk.ts";
import { usableProviders } from "../agent/parts.ts";
import {
  briefInstructions,
  type CrewFacts,
  planInstructions,
  planPrompt,
  researchHeading,
  researchInstructions,
} from "../agent/planner-prompts.ts";
import { runWithoutTask } from "../agent/run-without-task.ts";
import type { Staff } from "../agent/staff.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { readDraft } from "../record/plan-draft.ts";
import type { Planned, Research } from "../record/run-host.ts";
import { detectedSetup } from "../record/setup-spec.ts";
import { surveyOf } from "../record/task-context.ts";
import { answerTokensOf, boundsFor } from "../rules/breakers.ts";
import { carryPlanning, type Planning } from "./carry-plan.ts";
import { draftTools } from "./draft-tools.ts";

const briefBounds = { toolCalls: 5, messages: 15 };
const planBounds = { toolCalls: 200, messages: 600 };

/** Plans a run that was created for a request: an optional brief (O2), then the planner (O3). */
export async function planRun(
  crew: Staff,
  { id, request }: { id: string; request: string },
  { brief, ...how }: Planning & { brief: boolean },
): Promise<Result<Planned>> {
  const { app } = crew;
  const planning = { ...how, kind: "planner" as const };
  const done = await carryPlanning(app, id, planning, (signal) => briefAndPlan(crew, id, request, brief, signal));
  if (!done.ok) return done;
  const tasks = (await app.runs.tasks(id)).map(({ number, task }) => ({ id: task.id, number, title: task.title }));
  return ok({ run: id, chain: app.runs.chainPath(id), tasks });
}

/** Has the planner study the repository for a request, without planning; its findings become part of the brief. */
export async function researchRun(
  crew: Staff,
  { id, request }: { id: string; request: string },
  how: Planning,
): Promise<Result<Research>> {
  const { app } = crew;
  const done = await carryPlanning(app, id, { ...how, kind: "researcher" }, async (signal) => {
    const prompt = planPrompt(request, null, await surveyOf(app), []);
    const { commit } = await app.git.head();
    const agent = { run: id, system: researchInstructions, prompt, tools: [submitResearch], commit };
    return runPlanner(crew, { ...agent, delivers: "submit_research" }, signal);
  });
  if (!done.ok) return done;
  // Any process may plan it now.
  await app.runs.step(id, { type: "reopen" }, how.by, { carried_by: "", carrier_until: null });
  return ok({ run: id, request, findings: (await app.runs.find(id))?.brief ?? "" });
}

async function briefAndPlan(
  crew: Staff,
  run: string,
  request: string,
  brief: boolean,
  signal: AbortSignal,
): Promise<Result<true>> {
  const briefed = brief
    ? await briefOf(crew, run, request, signal)
    : ok((await crew.app.runs.find(run))?.brief ?? null);
  if (!briefed.ok) return briefed;
  const tasks = await readDraft(crew.app, run);
  const prompt = planPrompt(request, briefed.value, await surveyOf(crew.app), tasks);
  const system = planInstructions(await crewFacts(crew));
  const { commit } = await crew.app.git.head();
  const ran = await runPlanner(
    crew,
    { run, system, prompt, tools: draftTools, delivers: "finish_plan", commit },
    signal,
  );
  return ran.ok || (await readDraft(crew.app, run)).length === 0
    ? ran
    : refuse("refused", keptDraft(ran.problem.message, run));
}

const keptDraft = (message: string, run: string) =>
  `${message}; the tasks that it submitted are kept, continue with: scriptorium plan --resume ${run}`;

type Agent = {
  run: string;
  system: string;
  prompt: string;
  tools: Operation<CrewApp>[];
  delivers: string;
  /** The commit that it reads; undefined in a repository without one. */
  commit: string | undefined;
};

/** Starts a planner that reads a commit and delivers with one of the tools given. */
export async function runPlanner(
  crew: Staff,
  { run, system, prompt, tools, delivers, commit }: Agent,
  signal: AbortSignal,
): Promise<Result<true>> {
  const looking = await checkout(crew.app, commit);
  try {
    const operations = [
      ...tools,
      ...crew.operationsFor("pm"),
      ...deskTools({ ...readOnly, limits: crew.app.config.crew.limits, folder: looking.folder, run, signal }),
    ];
    const agent = { part: "pm" as const, run, system, prompt, operations, delivers };
    const ran = await runWithoutTask(crew, { ...agent, bounds: planBounds, folder: looking.folder }, signal);
    if (!ran.ok) return ran;
    if (ran.value.delivered) return ok(true);
    if (ran.value.failure) return refuse("refused", ran.value.failure);
    const mistake = await lastMistake(crew, run, delivers);
    return refuse(
      "refused",
      mistake === undefined
        ? `the planner ended without ${product(delivers)}: ${ran.value.why}`
        : `the planner submitted no valid ${product(delivers).replace(/^a /, "")}: ${mistake}`,
    );
  } finally {
    await looking.close();
  }
}

const product = (delivers: string) => (delivers === "submit_research" ? "findings" : "a plan");

/** Facts about the crew for the planner's prompt. */
export async function crewFacts(crew: Staff): Promise<CrewFacts> {
  const { config } = crew.app;
  const detected = await detectedSetup(crew.app);
  const desk = deskTools({ write: true } as Desk);
  return {
    workerTools: [...desk, ...crew.operationsFor("worker")].map(({ name }) => name),
    toolCalls: boundsFor("worker", null).toolCalls,
    answerTokens: { worker: answerTokensOf(config.crew, "worker"), pm: answerTokensOf(config.crew, "pm") },
    commandSeconds: config.crew.command_seconds,
    attemptMinutes: config.crew.attempt_minutes,
    setup: detected && { command: detected.command.join(" "), from: detected.lockfile },
    models: usableProviders(config, "worker"),
  };
}

async function briefOf(crew: Staff, run: string, request: string, signal: AbortSignal): Promise<Result<string | null>> {
  const operations = [submitBrief];
  const agent = { part: "brief" as const, run, system: briefInstructions, prompt: request, operations };
  const ran = await runWithoutTask(crew, { ...agent, delivers: "submit_brief", bounds: briefBounds }, signal);
  if (!ran.ok) return ran;
  if (ran.value.failure && !ran.value.delivered) return refuse("refused", ran.value.failure);
  if (!ran.value.delivered) return refuse("refused", `the brief writer ended without a brief: ${ran.value.why}`);
  return ok((await crew.app.runs.find(run))?.brief ?? null);
}

const item = z.string().trim().min(1).max(2000);

const submitBrief = operation({
  name: "submit_brief",
  summary: "Submit the specification that you wrote for the request.",
  guidance: "Complete enough that a planner needs nothing else. List assumptions and open questions separately.",
  effect: "writes",
  touches: [],
  callers: ["agent"],
  group: "crew",
  input: z.object({
    specification: z.string().trim().min(1).max(50_000).describe("What is asked for, precisely"),
    assumptions: z.array(item).max(50).default([]).describe("Assumptions where the request is silent"),
    context: z.array(item).max(50).default([]).describe("What a planner should know or read"),
    ambiguities: z.array(item).max(50).default([]).describe("Open questions"),
  }),
  output: z.object({ run: z.string() }),
  async run(app: CrewApp, { specification, assumptions, context, ambiguities }, caller) {
    const crew = caller.kind === "agent" ? caller.crew : undefined;
    if (crew?.part !== "brief")
      return refuse("denied", "only the agent that was started to write the brief can submit it");
    const text = [
      specification,
      ...list("Assumptions", assumptions),
      ...list("Context", context),
      ...list("Ambiguities", ambiguities),
    ];
    const kept = await app.runs.setBrief(crew.run, text.join("\n\n"), crew.agent);
    return kept.ok ? ok({ run: crew.run }) : kept;
  },
});

const list = (title: string, items: string[]) =>
  items.length === 0 ? [] : [`## ${title}`, items.map((one) => `- ${one}`).join("\n")];

const submitResearch = operation({
  name: "submit_research",
  summary: "Submit what you found out for the request.",
  guidance: "A planner that has seen nothing else plans from it: name paths, functions and commands exactly.",
  effect: "writes",
  touches: [],
  callers: ["agent"],
  group: "crew",
  input: z.object({
    findings: z.string().trim().min(1).max(50_000).describe("How the code that the request touches works today"),
    files: z.array(item).max(200).default([]).describe("Files that the work touches, each with the reason"),
    commands: z.array(item).max(50).default([]).describe("Commands that build and test it"),
    alternatives: z.array(item).max(50).default([]).describe("Possible ways, with their costs"),
    questions: z.array(item).max(50).default([]).describe("What you could not find out"),
  }),
  output: z.object({ run: z.string() }),
  async run(app: CrewApp, { findings, files, commands, alternatives, questions }, caller) {
    const crew = caller.kind === "agent" ? caller.crew : undefined;
    if (crew?.part !== "pm") return refuse("denied", "only the planner that was started for this run can submit it");
    const text = [
      researchHeading,
      findings,
      ...list("Files", files),
      ...list("Commands", commands),
      ...list("Alternatives", alternatives),
      ...list("Open questions", questions),
    ];
    const kept = await app.runs.setBrief(crew.run, text.join("\n\n"), crew.agent);
    return kept.ok ? ok({ run: crew.run }) : kept;
  },
}) as unknown as Operation<CrewApp>;

/** A checkout of a commit for the planner to read; it does not contain the token and the database. */
async function checkout(app: CrewApp, commit: string | undefined): Promise<{ folder: string; close(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "scriptorium-plan-"));
  const added = commit ? await app.git.addWorktree(folder, commit) : undefined;
  if (added && added.code !== 0) throw failedGit(["worktree"], added);
  if (commit) {
    const gitDir = await app.git.text(["-C", folder, "rev-parse", "--absolute-git-dir"]);
    await filterFiles(app.git, { folder, gitDir }, commit);
  }
  const { prefix } = await app.git.place();
  return {
    folder: commit ? join(folder, prefix) : folder,
    async close() {
      await rm(folder, { recursive: true, force: true });
      if (commit) await app.git.pruneWorktrees();
    },
  };
}

const nowhere: Sandbox = {
  name: "none",
  hasOwnLoopback: false,
  home: undefined,
  wrap() {
    throw new Error("a planner runs no commands");
  },
};
const readOnly = { write: false, sandbox: nowhere, env: {}, commandMs: 0 };

/** The error of the last plan, or else of the last tasks, that were refused. */
async function lastMistake({ app }: Staff, run: string, delivers: string): Promise<string | undefined> {
  const answer =
    (await lastRefusedCall(app.db.read, run, delivers)) ?? (await lastRefusedCall(app.db.read, run, "add_plan_tasks"));
  return answer && /"error":"((?:[^"\\]|\\.)*)/.exec(answer)?.[1]?.slice(0, 500);
}
