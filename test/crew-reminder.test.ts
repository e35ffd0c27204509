import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findSandbox } from "../src/agents/sandbox.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { attemptsOf } from "../src/store/queries/attempts.ts";
import { contextsOf } from "../src/store/queries/contexts.ts";
import { spentOn } from "../src/store/queries/spends.ts";
import { scriptoriumProcess } from "./support/commands.ts";
import { newRun, planned } from "./support/crew.ts";
import { fakeClaude } from "./support/fake-claude.ts";
import { newWorkspace, person, read } from "./support/workspace.ts";

const sandbox = (await findSandbox("auto", { PATH: process.env.PATH })).ok ? "auto" : "none";

/** A run of one task with Claude Code in every part. */
async function runWith(bin: string, args: string[] = [], more: Record<string, unknown> = {}) {
  const made = await newWorkspace();
  const agent = { author_name: "Crew", author_email: "crew@example.org", claude_bin: bin };
  const blocks = { agent, crew: { sandbox, reports: "facts" }, ...more };
  const text = Object.entries(blocks).map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`);
  appendFileSync(made.file("scriptorium.yaml"), text.join(""));
  made.git("commit", "-qam", "Configure the crew");
  const run = await newRun(made.app, [planned("0", { max_retries: 1 })]);
  const ran = await scriptoriumProcess(["execute", run, "--json", ...args], { cwd: made.root });
  const contexts = await contextsOf(made.app.db.read, { run });
  const logOf = (part: string) => {
    const context = contexts.find((row) => row.part === part);
    return read(join(made.root, ".scriptorium/agent-logs", `${context?.id}.log`));
  };
  return {
    ...made,
    run,
    contexts,
    sessions: (part: string) => logOf(part).match(/^arguments: /gm)?.length,
    limits: (part: string) => [...logOf(part).matchAll(/--max-budget-usd ([\d.]+)/g)].map(([, usd]) => Number(usd)),
    news: ran.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>),
    attempts: await attemptsOf(made.app.db.read, { run }),
  };
}

test("W10: a program that ends without delivering is reminded once, in the same attempt, and its usage is the sum", async () => {
  const bin = fakeClaude({ submit_output: 0.02 }, 0, { submit_output: "once", submit_verdict: "once" });
  const { app, contexts, news, attempts, sessions } = await runWith(bin, ["--budget-usd", "2"]);
  expect(news.at(-1)).toMatchObject({ state: "completed", tasks: { completed: 1 } });
  expect(attempts).toMatchObject([{ attempt: 1, phase: "qc_passed" }]);
  for (const part of ["worker", "qc"]) {
    const [context, ...more] = contexts.filter((row) => row.part === part);
    expect(more).toEqual([]);
    expect(context?.parts.at(-1)).toMatchObject({ name: "reminder", characters: expect.any(Number) });
    expect(context).toMatchObject({ input_tokens: 200, output_tokens: 20, cost_usd: part === "worker" ? 0.04 : 0.02 });
    expect(sessions(part)).toBe(2);
  }
  expect(sessions("preamble")).toBe(1);

  const told = news.filter(({ kind }) => kind === "agent-reminded").map(({ reason }) => reason);
  expect(told).toEqual([
    expect.stringMatching(/^\S+ ended without calling submit_output; it is started once more with a reminder$/),
    expect.stringMatching(/submit_verdict/),
  ]);
  const events = await app.db.read.selectFrom("events").select("kind").where("kind", "=", "agent-reminded").execute();
  expect(events).toHaveLength(2);
  const [task] = await app.db.read.selectFrom("tasks").select("id").execute();
  const record = unwrap(await operations.task_record.perform(app, { id: task?.id }, person()));
  expect(record.contexts.map(({ parts }) => parts.at(-1)?.name)).toEqual(["reminder", "reminder"]);
  const spent = await app.db.read.selectFrom("spends").select("usd").where("part", "=", "worker").execute();
  expect(spent).toEqual([{ usd: 0.04 }]);
});

test("W10: a program that never delivers gets one reminder in each attempt, and then the attempt counts as failed", async () => {
  const { attempts, news, sessions } = await runWith(fakeClaude({}, 0, { submit_output: "always" }));
  expect(news.at(-1)).toMatchObject({ state: "failed" });
  expect(attempts.map(({ phase }) => phase)).toEqual(["qc_failed", "qc_failed"]);
  expect(news.filter(({ kind }) => kind === "agent-reminded")).toHaveLength(2);
  expect(sessions("worker")).toBe(2);
  expect(news.find(({ kind }) => kind === "worker-failed")?.reason).toMatch(/ended without calling submit_output/);
});

test("W10, P10: the second session has what the first left of the budget as its limit", async () => {
  const bin = fakeClaude({ submit_output: 0.3 }, 0, { submit_output: "once" });
  const { app, run, news, limits } = await runWith(bin, ["--budget-usd", "0.52"]);
  const [first = 0, second = 0] = limits("worker");
  expect(second).toBeCloseTo(first - 0.3);
  expect(news.at(-1)).toMatchObject({ state: "stopped", reason: expect.stringMatching(/^the budget of the run is/) });
  expect((await spentOn(app.db.read, { run })).usd).toBeLessThanOrEqual(0.52);
});

test("W10: a verifier that reports its usage after its verdict ended its claim is not stopped by the lease", async () => {
  const claims = { lease_seconds: 10 };
  const { contexts, attempts } = await runWith(fakeClaude({ submit_verdict: 0.03 }, 0, {}, 6000), [], { claims });
  expect(attempts).toMatchObject([{ phase: "qc_passed" }]);
  expect(contexts.find(({ part }) => part === "qc")).toMatchObject({ ended: "exit", cost_usd: 0.03 });
});
