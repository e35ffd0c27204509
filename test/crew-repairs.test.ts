import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { App } from "../src/app.ts";
import type { News } from "../src/crew/record/run-host.ts";
import type { PlanTask } from "../src/crew/rules/plan.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { executed, newRun, planned, playing, type Scene, verdictOf } from "./support/crew.ts";
import { recordEqualsRows } from "./support/replay.ts";
import { allEvents, engines, newWorkspace, person } from "./support/workspace.ts";

/** Workers of text tasks; a verifier that fails every task whose requirements contain "impossible". */
const crew = (told: Record<string, string[]> = {}) =>
  playing({
    async worker({ number, told: prompt, use }: Scene) {
      told[number] = [...(told[number] ?? []), prompt];
      await use("submit_output", { output: `made ${number}${prompt.includes("impossible") ? " badly" : ""}` });
      return undefined;
    },
    async qc({ number, told: prompt, use }: Scene) {
      const met = !prompt.includes("badly");
      await use(
        "submit_verdict",
        verdictOf(met, { evidence: [{ criterion: 1, met, quote: `made ${number}`, from: "output" }] }),
      );
      return undefined;
    },
  });

const text = (number: string, more: Partial<PlanTask> = {}) =>
  planned(number, { deliverable: "text", max_retries: 0, verification: [{ criterion: "It is made" }], ...more });

const failing = [
  text("0"),
  text("1.1", { requirements: "Do the impossible." }),
  text("1.2", { depends_on: ["1.1"] }),
  text("1.3"),
];

const edit = (app: App, run: string, change: (chain: string) => string) => {
  const file = app.runs.chainPath(run);
  writeFileSync(file, change(readFileSync(file, "utf8")));
};
const statesOf = async (app: App, id: string) =>
  Object.fromEntries(
    unwrap(await operations.show_run.perform(app, { id }, person())).tasks.map(({ number, state }) => [number, state]),
  );
const idOf = async (app: App, run: string, number: string) =>
  (await app.runs.tasks(run)).find((task) => task.number === number)?.task_id ?? "";
const retry = async (app: App, run: string, number: string) =>
  operations.update_todo.perform(app, { id: await idOf(app, run, number), status: "reopened" }, person());

describe.each(engines)("W7: a plan that has started, on %s", (engine) => {
  test("a failed task that a person edits in the file runs with its new text, and what is done stays", async () => {
    const { app } = await newWorkspace({ engine, config: "crew: { sandbox: none }\n" });
    const run = await newRun(app, failing);
    const told: Record<string, string[]> = {};
    await executed(app, run, crew(told));
    expect(await statesOf(app, run)).toMatchObject({ "0": "completed", "1.1": "failed", "1.3": "completed" });

    edit(app, run, (chain) =>
      chain
        .replace("Do the impossible.", "Do what can be done.")
        .replace(
          "## Task 1.2:",
          "## Task 1.4: New\n\n- Worker: A\n- QC: B\n- Deliverable: text\n\n### Requirements\n\nNew work\n\n### Verification\n\n1. It is made\n\n### Execution\n\n- Write it\n\n## Task 1.2:",
        )
        .replace("- Depends on: 1.1", "- Depends on: 1.1, 1.4"),
    );
    const { diff = "" } = unwrap(await retry(app, run, "1.1")) as { diff?: string };
    expect(diff).toMatch(/-Do the impossible\.\n\+Do what can be done\./);
    await recordEqualsRows(app);
    const news: News[] = [];
    await executed(app, run, crew(told), { news });
    expect(news.filter(({ kind }) => kind === "plan-changed")).toEqual([]);
    expect(await statesOf(app, run)).toEqual({
      "0": "completed",
      "1.1": "completed",
      "1.2": "completed",
      "1.3": "completed",
      "1.4": "completed",
    });
    expect(told["1.1"]?.at(-1)).toContain("Do what can be done.");
    expect([told["0"]?.length, told["1.3"]?.length]).toEqual([1, 1]);
    const changes = (await allEvents(app)).filter(({ kind }) => kind === "run-plan-changed");
    expect(changes).toMatchObject([{ data: { changed: ["1.1", "1.2"], added: ["1.4"], removed: [], diff } }]);
    const task = await idOf(app, run, "1.1");
    const attempts = await app.db.read.selectFrom("attempts").select("attempt").where("task_id", "=", task).execute();
    // Counted anew from the retry.
    expect(attempts).toEqual([{ attempt: 1 }, { attempt: 1 }]);
    await recordEqualsRows(app);
  });

  test("resuming reads the file, shows the diff and names the failed tasks that wait for a retry", async () => {
    const { app } = await newWorkspace({ engine, config: "crew: { sandbox: none }\n" });
    const run = await newRun(app, failing);
    await executed(app, run, crew());
    edit(app, run, (chain) => chain.replace("Do the impossible.", "Do what can be done."));
    const news: News[] = [];
    await executed(app, run, crew(), { news });
    const failed = await idOf(app, run, "1.1");
    const [changed] = news.filter(({ kind }) => kind === "plan-changed");
    expect(changed?.reason).toContain("+Do what can be done.");
    expect(changed?.reason).toContain(`task 1.1 has ended; run it with its new text: scriptorium task retry ${failed}`);
  });

  test("a change of a completed task or of the request is refused with what to do, an unstarted task can be removed, and nothing is half saved", async () => {
    const { app } = await newWorkspace({ engine, config: "crew: { sandbox: none }\n" });
    const run = await newRun(app, failing);
    await executed(app, run, crew());
    const before = readFileSync(app.runs.chainPath(run), "utf8");
    edit(app, run, (chain) =>
      chain.replace("Do the impossible.", "Something else.").replace("Make 1.3 so.", "Make 1.3 otherwise."),
    );
    expect(await retry(app, run, "1.1")).toMatchObject({
      ok: false,
      problem: {
        code: "conflict",
        message: `task 1.3 is completed and cannot be changed; restore it in the plan, or declare it wrong first: scriptorium task overturn ${await idOf(app, run, "1.3")} --reason "…"`,
      },
    });
    expect(await statesOf(app, run)).toMatchObject({ "1.1": "failed" });
    edit(app, run, () =>
      before.replace(/## Task 1\.1:[\s\S]*?(?=## Task 1\.2:)/, "").replace("- Depends on: 1.1\n", ""),
    );
    expect(await retry(app, run, "1.1")).toMatchObject({
      problem: { message: expect.stringContaining("task 1.1 has been started and cannot be removed") },
    });
    edit(app, run, () => before.replace("Do it", "Do something else"));
    expect(await retry(app, run, "1.1")).toMatchObject({
      problem: { message: expect.stringContaining("the request of a run cannot be changed") },
    });
    expect((await app.runs.find(run))?.plan?.tasks).toHaveLength(4);

    const { content, text_hash: base_hash } = unwrap(await operations.show_plan.perform(app, { id: run }, person()));
    const without = content.replace("Do something else", "Do it").replace(/## Task 1\.2:[\s\S]*?(?=## Task 1\.3:)/, "");
    const saved = unwrap(await operations.save_plan.perform(app, { id: run, content: without, base_hash }, person()));
    expect(saved.diff).toContain("-## Task 1.2");
    expect(Object.keys(await statesOf(app, run))).toEqual(["0", "1.1", "1.3"]);
    expect(await operations.save_plan.perform(app, { id: run, content: without, base_hash }, person())).toMatchObject({
      ok: false,
      problem: { code: "conflict" },
    });
    await recordEqualsRows(app);
  });
});
