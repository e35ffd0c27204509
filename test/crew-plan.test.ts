import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ask, getTaskContext, submitOutput, submitPlan, submitVerdict } from "../src/crew/operations.ts";
import { inbox } from "../src/crew/report/inbox.ts";
import { taskRecord } from "../src/crew/report/task-history.ts";
import { answerQuestion, metrics, runReport, showRun } from "../src/crew/run-operations.ts";
import { doctor } from "../src/doctor/doctor.ts";
import { unwrap } from "../src/kernel/result.ts";
import { createSection } from "../src/review/proposals/section-operations.ts";
import { openTopic } from "../src/review/topics/operations.ts";
import type { Claim } from "../src/tasks/engine.ts";
import { crewAgent, passing, plannedRun, planOf, spent, work } from "./support/plans.ts";
import { agent, allEvents, newWorkspace, person, sampledEngines } from "./support/workspace.ts";

describe.each(sampledEngines)("plans on %s", (engine) => {
  test("O3: a plan becomes a file that people edit and a graph of tasks, and an edit takes effect", async () => {
    const { app } = await newWorkspace({ engine });
    const wanted = planOf([{ number: "0" }, { number: "1.1" }, { number: "1.2", depends_on: ["1.1"], max_retries: 1 }]);
    const made = unwrap(await submitPlan.perform(app, { ...wanted, request: "Make it so" }, agent("planner")));
    expect(made.tasks.map((task) => task.number)).toEqual(["0", "1.1", "1.2"]);
    const state = async () => unwrap(await showRun.perform(app, { id: made.run }, person()));
    expect(await state()).toMatchObject({
      state: "planned",
      title: "A small plan",
      request: "Make it so",
      tasks: [
        { number: "0", state: "pending" },
        { number: "1.1" },
        { number: "1.2", depends_on: ["1.1"], max_retries: 1 },
      ],
    });
    // Whatever names no dependency waits for the environment to be validated.
    expect((await app.tasks.dependencies(made.tasks[1]?.id ?? "")).map((task) => task.id)).toEqual([made.tasks[0]?.id]);

    const file = readFileSync(made.chain, "utf8");
    writeFileSync(made.chain, file.replace("## Task 1.2: Task number 1.2", "## Task 1.2: Something better"));
    const { run } = unwrap(await app.runs.readBack(made.run, "Ada"));
    expect(run.plan?.tasks[2]?.title).toBe("Something better");
    expect((await state()).tasks.map((task) => task.title)).toEqual([
      "Task number 0",
      "Task number 1.1",
      "Something better",
    ]);
    expect(await app.tasks.list({ run: made.run, limit: 50 })).toHaveLength(3);

    writeFileSync(made.chain, file.replace("- Max retries: 1", "- Max retries: lots"));
    expect(await app.runs.readBack(made.run, "Ada")).toMatchObject({
      ok: false,
      problem: { message: expect.stringMatching(/^chain-output\.md:\d+: .*expected a number, not "lots"/) },
    });
    expect((await state()).tasks).toHaveLength(3);
  });

  test("O3: a bad plan goes back with every mistake by its field, and nothing is kept", async () => {
    const { app } = await newWorkspace({ engine });
    const wanted = planOf([{ number: "0" }, { number: "1.1" }]);
    const [zero, one] = wanted.tasks;
    const bad = {
      ...wanted,
      request: "x",
      tasks: [zero, { ...one, depends_on: ["1.7"], worker_role: "", verification: [] }],
    };
    expect(await submitPlan.perform(app, bad, agent("planner"))).toMatchObject({
      ok: false,
      problem: {
        code: "invalid",
        details: {
          issues: expect.arrayContaining([
            { path: "tasks.1.worker_role", message: expect.any(String) },
            { path: "tasks.1.verification", message: expect.stringContaining("at least one") },
          ]),
        },
      },
    });
    const circular = {
      ...wanted,
      request: "x",
      tasks: [zero, { ...one, depends_on: ["1.2"] }, { ...one, number: "1.2", depends_on: ["1.1"] }],
    };
    expect(await submitPlan.perform(app, circular, agent("planner"))).toMatchObject({
      problem: { message: expect.stringContaining("1.1 → 1.2 → 1.1") },
    });
    expect(await app.runs.list(10)).toEqual([]);
  });

  test("two runs of the same plan share nothing: task ids belong to their run", async () => {
    const { app } = await newWorkspace({ engine });
    const wanted = planOf([{ number: "0" }]);
    const [a, b] = [await plannedRun(app, wanted), await plannedRun(app, wanted)];
    expect(a.id("0")).not.toBe(b.id("0"));
    await work(app, a.id("0"), "w-1", "made by a");
    const [first, second] = [
      unwrap(await showRun.perform(app, { id: a.run }, person())),
      unwrap(await showRun.perform(app, { id: b.run }, person())),
    ];
    expect([first.tasks[0]?.state, second.tasks[0]?.state]).toEqual(["worker_completed", "pending"]);
    expect(app.runs.chainPath(a.run)).not.toBe(app.runs.chainPath(b.run));
  });
});

describe.each(sampledEngines)("attempts on %s", (engine) => {
  test("O5: each phase is on record with its figures, by the system and in order", async () => {
    const { app } = await newWorkspace({ engine });
    const { run, id } = await plannedRun(app, planOf([{ number: "0" }]));
    const task = id("0");
    await work(app, task, "w-1", "The environment is fine.");
    const { epoch, secret } = unwrap(await app.attempts.claimQc(task, "q-1"));
    const qc = crewAgent("qc", run, "q-1", { task, epoch, secret });
    const judged = unwrap(await submitVerdict.perform(app, passing(1, "environment is fine"), qc));
    expect(judged).toEqual({ outcome: "PASS", void: false, objections: [], state: "qc_passed" });
    expect(unwrap(await app.attempts.accept(task, "hash of The environment is fine.", "crew")).state).toBe("completed");
    const [row] = await app.db.read.selectFrom("attempts").selectAll().execute();
    expect(row).toMatchObject({
      attempt: 1,
      phase: "qc_passed",
      worker: "w-1",
      verifier: "q-1",
      is_retry: 0,
      output: "The environment is fine.",
      input_tokens: 100,
      tool_calls: 2,
      messages: 3,
      context_tokens: 80,
      cost_usd: null,
    });
    const kinds = (await allEvents(app)).filter((event) => event.subject === `task:${task}`).map((event) => event.kind);
    expect(kinds).toEqual([
      "task-created",
      "task-claim",
      "attempt-started",
      "output-submitted",
      "task-submit",
      "attempt-worker-completed",
      "task-verify",
      "attempt-qc-started",
      "task-pass",
      "verdict-given",
      "task-accept",
      "attempt-accepted",
    ]);
    const last = (await allEvents(app)).at(-1);
    expect(last?.data).toMatchObject({
      final_score: 90,
      passed_on_attempt: 1,
      totals: { attempts: 1, input_tokens: 100, cost_usd: null },
    });
  });

  test("O5: an output is kept to 50,000 characters, and its whole length is known", async () => {
    const { app } = await newWorkspace({ engine });
    const { id } = await plannedRun(app, planOf([{ number: "0" }]));
    await work(app, id("0"), "w", "x".repeat(60_000));
    const [row] = await app.db.read.selectFrom("attempts").select(["output", "output_characters"]).execute();
    expect([row?.output?.length, row?.output_characters]).toEqual([50_000, 60_000]);
  });

  test("O9: max retries 2 means three attempts; each retry carries what the one before made and why it failed; then the reports", async () => {
    const { app } = await newWorkspace({ engine });
    const check = { run: ["npm", "test"], exits: 0 };
    const { run, id } = await plannedRun(
      app,
      planOf([
        { number: "0" },
        { number: "1.1", depends_on: ["0"], verification: [{ criterion: "tests pass", check }] },
        { number: "1.2", depends_on: ["1.1"] },
      ]),
    );
    await accept(app, run, id("0"));
    const task = id("1.1");
    const contexts: string[] = [];
    for (const attempt of [1, 2, 3]) {
      contexts.push(unwrap(await getTaskContext.perform(app, { id: task, kind: "worker" }, person())).context ?? "");
      await work(app, task, `w-${attempt}`, `try number ${attempt}`);
      const { epoch, secret, attempt: judgedAttempt } = unwrap(await app.attempts.claimQc(task, `q-${attempt}`));
      const failed = {
        criterion: 1,
        passed: false,
        detail: `${4 - attempt} tests failed`,
        deliverableHash: `hash of try number ${attempt}`,
        durationMs: 5,
      };
      unwrap(await app.attempts.recordChecks({ task, epoch, secret }, judgedAttempt, [failed], "crew"));
      const verdict = { ...passing(1, "try number"), score: 80 + attempt, required_fixes: ["make the tests pass"] };
      const judged = unwrap(
        await submitVerdict.perform(app, verdict, crewAgent("qc", run, `q-${attempt}`, { task, epoch, secret })),
      );
      expect(judged.outcome).toBe("FAIL");
      expect(judged.objections.join()).toContain(`${4 - attempt} tests failed`);
      const settled = unwrap(await app.attempts.settle(task, "crew"));
      expect(settled.task.state).toBe(attempt < 3 ? "preparing_retry" : "failed");
    }
    expect(contexts[0]).not.toContain("Problems of earlier attempts");
    for (const words of ["try number 1", "3 tests failed", "make the tests pass", "attempt 1"])
      expect(contexts[1]).toContain(words);
    for (const words of ["try number 2", "2 tests failed", "3 tests failed"]) expect(contexts[2]).toContain(words);
    const reasons = await app.db.read
      .selectFrom("attempts")
      .select(["attempt", "is_retry", "retry_reason"])
      .where("task_id", "=", task)
      .orderBy("epoch")
      .execute();
    expect(reasons).toEqual([
      { attempt: 1, is_retry: 0, retry_reason: null },
      { attempt: 2, is_retry: 1, retry_reason: expect.stringContaining("3 tests failed") },
      { attempt: 3, is_retry: 1, retry_reason: expect.stringContaining("2 tests failed") },
    ]);
    unwrap(await app.runs.step(run, { type: "start" }, "Ada"));
    unwrap(await app.runs.step(run, { type: "finish", failed: 1 }, "Ada"));
    const { content } = unwrap(await runReport.perform(app, { id: run }, person()));
    for (const words of [
      "Not completed",
      "1 of 3 tasks accepted, 1 failed, 1 blocked",
      "Waiting for you",
      "Task 1.1 failed",
      "81 → 82 → 83",
      "lowest 81, highest 83, average 82",
      "1.2 (Task number 1.2) cannot start",
      "Root causes",
      "Lessons",
      "the score was improving",
    ])
      expect(content, words).toContain(words);
    expect(unwrap(await showRun.perform(app, { id: run }, person()))).toMatchObject({
      state: "failed",
      reason: "one task was not accepted",
      tasks: [{ state: "completed" }, { state: "failed", attempts: 3 }, { state: "blocked" }],
    });
  });

  test("O7: a worker that was stopped at a limit has failed its attempt, and its partial work goes to the next", async () => {
    const { app } = await newWorkspace({ engine });
    const { id } = await plannedRun(app, planOf([{ number: "0" }]));
    const task = id("0");
    const { epoch, secret } = unwrap(await app.tasks.lock(task, "w-1")) as Claim;
    unwrap(await app.attempts.begin({ task, epoch, secret }, "w-1"));
    const reason = "limit of 15 tool calls reached";
    expect(
      unwrap(await app.attempts.failWork({ task, epoch, secret }, { reason, partial: "half a bridge" }, spent, "crew"))
        .state,
    ).toBe("qc_failed");
    unwrap(await app.attempts.settle(task, "crew"));
    const context = unwrap(await getTaskContext.perform(app, { id: task, kind: "worker" }, person())).context;
    expect(context).toContain("half a bridge");
    expect(context).toContain(reason);
  });

  test("O7: an attempt that was stopped has no verdict and no score; task, report and history say why it failed", async () => {
    const { app } = await newWorkspace({ engine });
    const { run, id } = await plannedRun(app, planOf([{ number: "0", max_retries: 0 }]));
    const task = id("0");
    const { epoch, secret } = unwrap(await app.tasks.lock(task, "w-1")) as Claim;
    unwrap(await app.attempts.begin({ task, epoch, secret }, "w-1"));
    const reason = "limit of 15 tool calls reached";
    unwrap(await app.attempts.failWork({ task, epoch, secret }, { reason, partial: "half a bridge" }, spent, "crew"));
    expect(await app.tasks.find(task)).toMatchObject({
      epoch,
      result: { output: "half a bridge", score: null, feedback: reason },
    });
    const kinds = (await allEvents(app)).filter(({ subject }) => subject === `task:${task}`).map(({ kind }) => kind);
    expect(kinds.slice(-2)).toEqual(["task-fail", "attempt-worker-failed"]);
    unwrap(await app.attempts.settle(task, "crew"));
    const history = unwrap(await taskRecord.perform(app, { id: task }, person()));
    expect(history.attempts).toMatchObject([{ phase: "qc_failed", stopped_because: reason, verdicts: [] }]);
    expect(history.failure).toMatchObject({
      timeline: [{ outcome: "stopped", score: null, verifier: null, reason }],
      root_causes: [{ cause: reason, attempts: [1] }],
    });
    const { content } = unwrap(await runReport.perform(app, { id: run }, person()));
    expect(content).toContain(`Attempt 1 was stopped: ${reason}`);
    const { findings } = unwrap(await doctor.perform(app, {}, person()));
    for (const check of ["tasks", "attempts"])
      expect(findings.find((one) => one.check === check)).toMatchObject({ state: "ok" });
  });

  test("H7: doctor finds an attempt whose phase contradicts its task", async () => {
    const { app } = await newWorkspace({ engine });
    const { id } = await plannedRun(app, planOf([{ number: "0" }]));
    await work(app, id("0"), "w-1", "mine");
    const check = async () =>
      unwrap(await doctor.perform(app, {}, person())).findings.find((one) => one.check === "attempts");
    expect(await check()).toMatchObject({ state: "ok" });
    await app.db.write((tx) => tx.updateTable("attempts").set({ phase: "qc_passed" }).execute());
    expect(await check()).toMatchObject({
      state: "problem",
      message: `attempts disagree with their tasks: ${id("0")} is worker_completed, its attempt qc_passed`,
    });
  });

  test("T6: a claim that was lost can neither submit, complete nor ask, and what it had is marked as abandoned", async () => {
    const { app } = await newWorkspace({ engine });
    const { run, id } = await plannedRun(app, planOf([{ number: "0" }]));
    const task = id("0");
    const old = unwrap(await app.tasks.lock(task, "w-1")) as Claim;
    unwrap(await app.attempts.begin({ task, epoch: old.epoch, secret: old.secret }, "w-1"));
    unwrap(await app.tasks.release(task, "Ada", { force: true }));
    await work(app, task, "w-2", "mine");
    const late = crewAgent("worker", run, "w-1", { task, epoch: old.epoch, secret: old.secret });
    expect(await submitOutput.perform(app, { output: "late" }, late)).toMatchObject({ problem: { code: "conflict" } });
    expect(await ask.perform(app, { question: "may I?" }, late)).toMatchObject({ problem: { code: "conflict" } });
    expect(
      await app.attempts.completeWork(
        { task, epoch: old.epoch, secret: old.secret },
        { hash: "h", filesChanged: [], branch: null, commit: null },
        spent,
        "w-1",
      ),
    ).toMatchObject({ ok: false });
    const rows = await app.db.read
      .selectFrom("attempts")
      .select(["epoch", "phase", "output"])
      .orderBy("epoch")
      .execute();
    expect(rows).toEqual([
      { epoch: 1, phase: "abandoned", output: null },
      { epoch: 2, phase: "worker_completed", output: "mine" },
    ]);
  });

  test("O8: who did the work cannot verify it, whoever else it says it is", async () => {
    const { app } = await newWorkspace({ engine });
    const { run, id } = await plannedRun(app, planOf([{ number: "0" }]));
    const task = id("0");
    await work(app, task, "w-1", "done");
    expect(await app.attempts.claimQc(task, "w-1")).toMatchObject({
      problem: { code: "denied", message: expect.stringContaining("may not verify it") },
    });
    const { epoch, secret } = unwrap(await app.attempts.claimQc(task, "q-1"));
    for (const caller of [
      agent("engineer"),
      crewAgent("worker", run, "w-1", { task, epoch, secret }),
      crewAgent("pm", run, "pm", { task, epoch, secret }),
    ])
      expect(await submitVerdict.perform(app, { ...passing(1, "done"), task, epoch }, caller)).toMatchObject({
        problem: { code: "denied" },
      });
    expect(await submitVerdict.perform(app, passing(1, "done"), person())).toMatchObject({
      problem: { code: "denied" },
    });
    const another = crewAgent("qc", run, "q-9", { task: "task-other", epoch });
    expect(await submitVerdict.perform(app, { ...passing(1, "done"), task }, another)).toMatchObject({
      problem: { code: "denied" },
    });
    expect((await app.tasks.find(task))?.state).toBe("qc_executing");
  });

  test("O8: a verdict holds for the content it was given on; changed content voids it", async () => {
    const { app } = await newWorkspace({ engine });
    const { run, id } = await plannedRun(app, planOf([{ number: "0" }]));
    const task = id("0");
    await work(app, task, "w-1", "done", "h1");
    const { epoch, secret } = unwrap(await app.attempts.claimQc(task, "q-1"));
    unwrap(await submitVerdict.perform(app, passing(1, "done"), crewAgent("qc", run, "q-1", { task, epoch, secret })));
    expect(await app.attempts.accept(task, "h2", "crew")).toMatchObject({
      problem: { code: "conflict", message: expect.stringContaining("changed after its verdict") },
    });
    expect(await app.attempts.accept(task, "h1", "crew")).toMatchObject({
      problem: { message: expect.stringContaining("no passing verdict") },
    });
    expect((await app.tasks.find(task))?.state).toBe("qc_failed");
    expect(unwrap(await app.attempts.settle(task, "crew")).task.state).toBe("preparing_retry");
    const [verdict] = await app.db.read.selectFrom("verdicts").select(["voided_at", "void_reason"]).execute();
    expect(verdict).toMatchObject({ voided_at: expect.any(String), void_reason: expect.stringContaining("changed") });
  });

  test("what people have open on a page that a task touches is one more criterion for its verifier", async () => {
    const { app, root } = await newWorkspace({ engine });
    writeFileSync(join(root, "guide.md"), "# Guide\n\nRetry for ever.\n");
    unwrap(
      await openTopic.perform(
        app,
        { source_path: "guide.md", quote: "Retry for ever.", content: "Say how often." },
        person(),
      ),
    );
    const { run, id } = await plannedRun(app, planOf([{ number: "0", files: ["guide.md"] }]));
    const task = id("0");
    await work(app, task, "w-1", "done");
    const { epoch, secret } = unwrap(await app.attempts.claimQc(task, "q-1"));
    const told = unwrap(await getTaskContext.perform(app, { id: task, kind: "qc" }, person())).context;
    expect(told).toMatch(/^2\. The open topic is answered: guide\.md at "Retry for ever\.": Say how often\.$/m);
    const qc = crewAgent("qc", run, "q-1", { task, epoch, secret });
    expect(await submitVerdict.perform(app, passing(1, "done"), qc)).toMatchObject({
      problem: { code: "invalid", message: expect.stringContaining("no evidence for criterion 2") },
    });
    expect(unwrap(await submitVerdict.perform(app, passing(2, "done"), qc))).toMatchObject({ outcome: "PASS" });
  });

  test("O15: a question waits in the inbox beside what else does, is answered once, and told to the next attempt", async () => {
    const { app } = await newWorkspace({ engine });
    const { run, id } = await plannedRun(app, planOf([{ number: "0" }]));
    const task = id("0");
    const { epoch, secret } = unwrap(await app.tasks.lock(task, "w-1")) as Claim;
    unwrap(await app.attempts.begin({ task, epoch, secret }, "w-1"));
    const worker = crewAgent("worker", run, "w-1", { task, epoch, secret });
    unwrap(await app.runs.step(run, { type: "start" }, "crew"));
    const waiting = async () => unwrap(await inbox.perform(app, {}, person("reader")));
    expect(await waiting()).toEqual({
      waiting: 0,
      proposals: [],
      plan_changes: [],
      runs: [],
      files: [],
      gates: [],
      recheck: [],
      settings: [],
      topics: [],
      for_you: [],
      waiting_for_you: 0,
    });
    const asked = unwrap(await ask.perform(app, { question: "Which port?" }, worker));
    const section = {
      id: "risks",
      title: "Risks",
      mode: "log",
      writable_by: ["engineer"],
      description: "What may go.",
    };
    unwrap(await createSection.perform(app, section, agent("planner")));
    unwrap(await app.runs.step(run, { type: "stop", cause: "other", reason: "the budget is used up" }, "crew"));
    expect(await waiting()).toMatchObject({
      waiting: 3,
      proposals: [{ kind: "section", subject: "risks" }],
      runs: [{ id: run, reason: "the budget is used up", questions: [{ id: asked.id, task: "0" }] }],
    });
    expect(unwrap(await ask.perform(app, { question: "Which port?" }, worker)).id).toBe(asked.id);
    expect(await answerQuestion.perform(app, { id: asked.id, answer: "4750" }, agent("engineer"))).toMatchObject({
      problem: { code: "denied" },
    });
    unwrap(await answerQuestion.perform(app, { id: asked.id, answer: "4750" }, person()));
    unwrap(await app.runs.step(run, { type: "start" }, "crew"));
    expect(await waiting()).toMatchObject({ waiting: 1, runs: [] });
    expect(await answerQuestion.perform(app, { id: asked.id, answer: "no" }, person())).toMatchObject({
      problem: { code: "conflict" },
    });
    expect(unwrap(await ask.perform(app, { id: asked.id }, worker))).toMatchObject({
      status: "answered",
      answer: "4750",
    });
    expect(unwrap(await getTaskContext.perform(app, { id: task, kind: "worker" }, worker)).context).toContain("4750");
    const figures = unwrap(await metrics.perform(app, { run }, person())).figures;
    expect(figures.find((one) => one.name === "handoff_completeness")).toMatchObject({
      value: 0,
      counted: "questions: 1; tasks: 1",
    });
  });
});

async function accept(app: Parameters<typeof work>[0], run: string, task: string) {
  await work(app, task, "w-0", "all well", "h0");
  const { epoch, secret } = unwrap(await app.attempts.claimQc(task, "q-0"));
  unwrap(
    await submitVerdict.perform(app, passing(1, "all well"), crewAgent("qc", run, "q-0", { task, epoch, secret })),
  );
  unwrap(await app.attempts.accept(task, "h0", "crew"));
}
