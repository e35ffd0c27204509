/** A crew beside one agent on the same projects (O17): what is sent to the model, how long it takes, what comes out right. See bench/README.md. */
import { availableParallelism, loadavg } from "node:os";
import { dirname } from "node:path";
import { countTokens } from "gpt-tokenizer";
import { modelRunner } from "../src/agents/model.ts";
import type { Toolset } from "../src/agents/runner.ts";
import type { Sandbox } from "../src/agents/sandbox/access.ts";
import { findSandbox } from "../src/agents/sandbox.ts";
import type { App } from "../src/app.ts";
import type { Desk } from "../src/crew/agent/desk/place.ts";
import { deskTools } from "../src/crew/agent/desk.ts";
import type { CrewAgents } from "../src/crew/record/run-host.ts";
import { acceptedBranch } from "../src/crew/rules/branches.ts";
import { ok, unwrap } from "../src/kernel/result.ts";
import { type Heard, startModelServer } from "../test/support/model-wire.ts";
import { crewMind, errRate, soloMind } from "./crew/minds.ts";
import { moduleOf, planFor, projectFiles, rightOf, type Size, sizes, writeProject } from "./crew/project.ts";
import { checkRepeats } from "./crew/repeats.ts";
import { median, timed } from "./support/measure.ts";
import { openPlace, type Place } from "./support/place.ts";
import { atLeast, atMost, type Row, spell, type Table } from "./support/table.ts";
import { agent, newWorkspace, type Workspace } from "./support/workspace.ts";

const request = "Make answer() of each module return the text that is listed for it.";
const workers = 10;

async function main(wanted: string[]): Promise<void> {
  const place = openPlace();
  for (const signal of ["SIGINT", "SIGTERM"])
    process.once(signal, () => void place.leave().then(() => process.exit(1)));
  try {
    const sandbox = await findSandbox("auto", place.environment);
    const box = sandbox.ok ? sandbox.value : unwrap(await findSandbox("none", place.environment));
    const load = (loadavg()[0] ?? 0).toFixed(1);
    console.log(
      `${availableParallelism()} cores (load ${load}), Node ${process.versions.node}, sandbox ${box.name}, ${workers} workers`,
    );
    console.log(`Scripted model; tokens of the whole request body, counted by the tokenizer o200k.\n`);
    for (const size of sizes.filter(({ name }) => wanted.length === 0 || wanted.includes(name))) {
      console.log(spell(await compare(place, size, box)));
    }
  } finally {
    await place.leave();
  }
}

type Sent = { part: string; conversation: string; tokens: number };

/** Which agent a request came from, and how much was in it. */
function sentBy(heard: Heard): Sent {
  const has = (tool: string) => heard.tools.includes(tool);
  const part = has("finish_plan")
    ? "pm"
    : has("submit_output")
      ? "worker"
      : has("submit_verdict")
        ? "qc"
        : has("submit_preamble")
          ? "preamble"
          : "solo";
  return {
    part,
    conversation: `${part} ${heard.messages[0]?.text.slice(0, 400)}`,
    tokens: countTokens(JSON.stringify(heard.body)),
  };
}

async function compare(place: Place, size: Size, sandbox: Sandbox): Promise<Table> {
  const crew = await runCrew(place, size, sandbox);
  const solo = await runSolo(place, size, sandbox);
  const share = (part: number, whole: number) => (100 * part) / whole;
  const pm = Math.max(...largest(crew.sent, "pm"));
  const worker = largest(crew.sent, "worker");
  const total = (sent: Sent[]) => sent.reduce((sum, { tokens }) => sum + tokens, 0);
  const rows: Row[] = [
    {
      what: "one agent",
      figures: {
        seconds: solo.seconds,
        "input tokens": total(solo.sent),
        "largest context": Math.max(...solo.sent.map((s) => s.tokens)),
        "right %": share(solo.right, size.tasks - 1),
      },
    },
    {
      what: "crew",
      figures: {
        seconds: crew.seconds,
        "input tokens": total(crew.sent),
        "largest context": pm,
        "right %": share(crew.right, size.tasks - 1),
      },
    },
    {
      what: "worker's context, of the planner's",
      figures: { "largest context": median(worker) },
      ...(size.name === "small" ? {} : { target: atMost(5, share(median(worker), pm), "%") }),
    },
    {
      what: "errors that were accepted",
      figures: {},
      target: atMost(5, share(size.tasks - 1 - crew.right, size.tasks - 1), "%"),
    },
    { what: "repeats removed from contexts", figures: {}, target: atLeast(80, crew.deduplication, "%") },
    {
      what: "finding the repeats of one context",
      figures: { "P50 ms": crew.check.p50, "P99 ms": crew.check.p99, "one row, P50": crew.check.plain },
      target: atMost(10, crew.check.p50, "ms"),
    },
    { what: "retries", figures: {}, target: atMost(20, share(crew.retries, size.tasks), "%") },
    { what: "claims, P99", figures: { "P50 ms": crew.claimP50 }, target: atMost(50, crew.claimP99, "ms") },
    { what: "hands idle", figures: {}, target: atMost(5, crew.idle, "%") },
  ];
  const notes = [
    `workers err at ${errRate * 100} %, decided by task and attempt; one agent makes the same mistakes and nobody looks`,
    `crew: ${crew.sent.length} calls to the model, one agent: ${solo.sent.length}`,
  ];
  return { question: `${size.name}: ${size.tasks} tasks, ${size.files} files`, rows, notes };
}

/** The largest request of each conversation of a part: what its context had come to. */
function largest(sent: Sent[], part: string): number[] {
  const found = new Map<string, number>();
  for (const { conversation, tokens } of sent.filter((one) => one.part === part)) {
    found.set(conversation, Math.max(found.get(conversation) ?? 0, tokens));
  }
  return [...found.values()];
}

async function workspaceFor(place: Place, size: Size, sandbox: Sandbox): Promise<{ made: Workspace; app: App }> {
  const made = await newWorkspace(place, {
    entries: new Map([["vision", "Answers in every module.\n"]]),
    logs: ["handoffs"],
  });
  writeProject(made.root, projectFiles(size));
  const crew = { sandbox: sandbox.name === "none" ? "none" : "auto", read: [dirname(dirname(process.execPath))] };
  writeProject(made.root, new Map([["scriptorium.yaml", `name: Bench\ncrew: ${JSON.stringify(crew)}\n`]]));
  await made.git("add", "-A");
  await made.git("commit", "-qm", "The project");
  const app = await made.open();
  place.onLeave(() => app.close());
  return { made, app };
}

const rightIn = async ({ tasks }: Size, read: (path: string) => Promise<string>) => {
  let right = 0;
  for (let n = 1; n < tasks; n++) if ((await read(moduleOf(n))).includes(`"${rightOf(n)}"`)) right++;
  return right;
};

async function runCrew(place: Place, size: Size, sandbox: Sandbox) {
  const { made, app } = await workspaceFor(place, size, sandbox);
  const sent: Sent[] = [];
  const think = crewMind(size, planFor(size));
  const server = await startModelServer((heard) => {
    sent.push(sentBy(heard));
    return think(heard);
  });
  place.onLeave(server.close);
  const runner = modelRunner({ providers: { fake: { kind: "anthropic", baseUrl: `${server.url}/v1`, key: "k" } } });
  const agents: CrewAgents = () => ok({ runner, model: "fake/model", role: "engineer", env: {} });
  let run = "";
  const ms = await timed(async () => {
    const planning = unwrap(await app.host.plan(request, { brief: false, by: "Ada", agents }));
    ({ run } = unwrap(await planning.ended));
    const executing = unwrap(await app.host.execute(run, { workers, by: "Ada", agents }));
    const done = unwrap(await executing.ended);
    if (done.state !== "completed") console.log(`  ${done.run} is ${done.state}: ${done.reason}`);
  });
  const right = await rightIn(size, (path) => made.git("show", `${acceptedBranch(run)}:${path}`));
  const attempts = await app.db.read.selectFrom("attempts").select("is_retry").where("run_id", "=", run).execute();
  const record = await app.db.read
    .selectFrom("run_workers")
    .selectAll()
    .where("run_id", "=", run)
    .executeTakeFirstOrThrow();
  const contexts = await app.db.read.selectFrom("contexts").selectAll().where("run_id", "=", run).execute();
  const repeated = contexts.reduce((sum, row) => sum + row.repeat_characters, 0);
  const removed = contexts.reduce((sum, row) => sum + row.removed_characters, 0);
  return {
    sent,
    right,
    seconds: ms / 1000,
    retries: attempts.filter((row) => row.is_retry === 1).length,
    claimP50: record.claim_p50_ms,
    claimP99: record.claim_p99_ms,
    idle: (100 * record.idle_ms) / (record.idle_ms + record.busy_ms),
    check: await checkRepeats(app),
    deduplication: repeated === 0 ? 100 : (100 * removed) / repeated,
  };
}

/** The same model, the same tools, one conversation, nobody who verifies. */
async function runSolo(place: Place, size: Size, sandbox: Sandbox) {
  const { made, app } = await workspaceFor(place, size, sandbox);
  const sent: Sent[] = [];
  const think = soloMind(size);
  const server = await startModelServer((heard) => {
    sent.push(sentBy(heard));
    return think(heard);
  });
  place.onLeave(server.close);
  const { signal } = new AbortController();
  const desk: Desk = {
    folder: made.root,
    write: true,
    sandbox,
    limits: app.config.crew.limits,
    env: place.environment,
    run: "solo",
    commandMs: 60_000,
    signal,
  };
  const operations = deskTools(desk);
  const tools: Toolset = {
    operations,
    call: async (name, raw) => {
      const operation = operations.find((one) => one.name === name);
      if (!operation) throw new Error(`no tool ${name}`);
      return operation.perform(app, raw, agent());
    },
  };
  const runner = modelRunner({ providers: { fake: { kind: "anthropic", baseUrl: `${server.url}/v1`, key: "k" } } });
  const spec = {
    id: "solo",
    prompt: `${request}\n\n${planFor(size)
      .map((task) => task.requirements)
      .join("\n")}`,
    cwd: made.root,
    env: {},
  };
  const ms = await timed(() =>
    runner.run({ ...spec, model: "fake/model", tools, limits: { wallMs: 3_600_000 } }, signal),
  );
  const { readFile } = await import("node:fs/promises");
  const right = await rightIn(size, (path) => readFile(`${made.root}/${path}`, "utf8"));
  return { sent, right, seconds: ms / 1000 };
}

await main(process.argv.slice(2));
