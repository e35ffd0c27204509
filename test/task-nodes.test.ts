import { describe, expect, test } from "vitest";
import { runReport } from "../src/crew/run-operations.ts";
import { queryNodes } from "../src/graph/list-operations.ts";
import { getNode } from "../src/graph/operations.ts";
import { unwrap } from "../src/kernel/result.ts";
import { createTodo } from "../src/tasks/operations.ts";
import { executed, newRun, type Play, passes, planned, playing, verdictOf, writes } from "./support/crew.ts";
import { agent, engines, newWorkspace, person } from "./support/workspace.ts";

const fails: Play = async (scene) => {
  if (scene.number === "") {
    const lists = { root_causes: ["it never looked"], recommendations: ["look"] };
    return void (await scene.use("submit_report", {
      content: { timeline: "twice", score_progression: "40, 40", ...lists },
    }));
  }
  return scene.number === "1.1" ? void (await scene.use("submit_verdict", verdictOf(false))) : passes(scene);
};

describe.each(engines)("the node of a task on %s", (engine) => {
  test("O5, W14: agents read roles, criteria, verdict, attempts, output and failure report on the task's node", async () => {
    const { app } = await newWorkspace({ engine, config: "crew: {sandbox: none}\n" });
    const run = await newRun(app, [planned("0"), planned("1.1", { max_retries: 1 }), planned("1.2")]);
    const seen: Record<string, unknown>[] = [];
    const idOf = async (number: string) =>
      `task:${(await app.runs.tasks(run)).find((one) => one.number === number)?.task.id}`;
    const first = await idOf("0");
    const agents = playing({
      qc: fails,
      worker: async (scene) => {
        if (scene.number === "1.2") seen.push(await scene.use("memory_get_node", { id: first, fields: ["*"] }));
        await writes()(scene);
      },
    });
    await executed(app, run, agents, { workers: 1 });

    // By an agent of the run, while it goes on.
    expect(seen[0]?.properties).toMatchObject({
      state: "completed",
      phase: "qc_passed",
      number: "0",
      worker_role: "an engineer",
      qc_role: "a critical reviewer",
      verification: [{ criterion: "0 is made" }],
      attempt: 1,
      max_retries: 2,
      qc_score: 92,
      qc_feedback: "It is as asked.",
      qc_attempt_metrics: [
        {
          attempt: 1,
          score: 92,
          input_tokens: 100,
          output_tokens: 10,
          messages: 2,
          context_tokens: expect.any(Number),
        },
      ],
      output: "made 0",
    });

    const failed = await idOf("1.1");
    const fields = [
      ...["state", "attempt", "max_retries", "qc_score", "qc_feedback", "qc_issues", "qc_required_fixes"],
      ...["qc_attempt_metrics", "depends_on", "files_changed", "commit", "output"],
    ];
    const node = unwrap(await getNode.perform(app, { id: failed, fields }, agent("engineer")));
    expect(node.properties).toMatchObject({
      state: "failed",
      attempt: 2,
      max_retries: 1,
      qc_score: 40,
      qc_issues: ["it is wrong", "the verifier says FAIL", expect.any(String)],
      qc_required_fixes: ["make it right"],
      depends_on: [first],
      files_changed: ["out/1.1.txt"],
      commit: expect.stringMatching(/^[0-9a-f]{40}/),
      output: "made 1.1",
    });
    expect(node.properties?.qc_attempt_metrics).toHaveLength(2);
    const report = unwrap(await getNode.perform(app, { id: failed, fields: ["qc_failure_report"] }, agent("engineer")));
    expect(report.properties?.qc_failure_report).toMatchObject({
      facts: { root_causes: [{ cause: "it is wrong", attempts: [1, 2] }, {}] },
      analysis: { root_causes: ["it never looked"] },
    });
    const names = unwrap(await getNode.perform(app, { id: failed }, agent("engineer"))).names ?? [];
    expect(names.join()).not.toMatch(/secret|notes|epoch/);

    const query = async (property: string, op: string, value: unknown) =>
      unwrap(await queryNodes.perform(app, { type: "task", where: [{ property, op, value }] }, agent("engineer")))
        .nodes.map(({ id }) => id)
        .sort();
    expect(await query("qc_score", "lt", 80)).toEqual([failed]);
    expect(await query("state", "eq", "failed")).toEqual([failed]);
    expect(await query("worker_role", "contains", "engineer")).toHaveLength(3);

    // O11: the report links the nodes.
    const { content } = unwrap(await runReport.perform(app, { id: run }, person()));
    expect(content).toContain(`[${failed}](/tasks/${failed.slice(5)})`);
  });

  test("W14: the node of a task outside runs has no fields of a run, and an unknown one is refused", async () => {
    const { app } = await newWorkspace({ engine });
    const todo = unwrap(await createTodo.perform(app, { title: "A todo" }, person()));
    const node = unwrap(await getNode.perform(app, { id: `task:${todo.id}` }, agent("engineer")));
    expect(node.names).toContain("state");
    expect(node.names).not.toContain("worker_role");
    expect(await getNode.perform(app, { id: "task:none" }, agent("engineer"))).toMatchObject({ ok: false });
  });
});
