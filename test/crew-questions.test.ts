import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { inbox } from "../src/crew/report/inbox.ts";
import { showRun } from "../src/crew/run-operations.ts";
import { unwrap } from "../src/kernel/result.ts";
import { contextsOf } from "../src/store/queries/contexts.ts";
import { executed, newRun, type Play, passes, planned, playing, writes } from "./support/crew.ts";
import { allEvents, engines, newWorkspace, person } from "./support/workspace.ts";

const config = (questions: string) => `crew: {sandbox: none, reports: facts, questions: ${questions}}\n`;
const tasks = [planned("0", { notes: "The port is 4750; 80 is taken." })];

/** Asks, and reads the answer until it is there or `give` says stop. */
const asks =
  (told: { answer?: unknown; by?: unknown }, rounds = 200): Play =>
  async (scene) => {
    const { id } = await scene.use("ask", { question: "Which port?" });
    for (let i = 0; i < rounds; i++) {
      // Another call in between, as a worker goes on with its work.
      await scene.use("search_entries", { query: `port ${i}` });
      const read = await scene.use("ask", { id });
      if (read.status === "answered") Object.assign(told, { answer: read.answer, by: read.answered_by });
      if (read.status === "answered") break;
      await sleep(50);
    }
    await writes()(scene);
  };

describe.each(engines)("questions of workers on %s", (engine) => {
  test("O15, W13: the planner answers from the plan and its notes; the worker reads it in the same attempt", async () => {
    const { app } = await newWorkspace({ engine, config: config("pm") });
    const run = await newRun(app, tasks);
    const told: { answer?: unknown; by?: unknown } = {};
    let heard = "";
    const agents = playing({
      worker: asks(told, 20),
      qc: passes,
      pm: async (scene) => {
        heard = scene.told;
        expect(scene.spec.tools?.operations.map(({ name }) => name)).toEqual(["submit_answer"]);
        expect(await scene.use("submit_answer", { answer: "a", pass_on: "b" })).toMatchObject({ code: "invalid" });
        await scene.use("submit_answer", { answer: "4750, as the notes say" });
      },
    });
    expect(await executed(app, run, agents)).toMatchObject({ state: "completed" });
    expect(told).toEqual({ answer: "4750, as the notes say", by: expect.stringMatching(/^pm-/) });
    expect(heard).toContain("80 is taken");
    expect(heard).toContain("Which port?");
    expect(heard.length).toBeLessThan(6000);
    const [question] = unwrap(await showRun.perform(app, { id: run }, person())).questions;
    expect(question).toMatchObject({ answered_by: expect.stringMatching(/^pm-/), passed_on: null });
    const kinds = (await allEvents(app)).filter(({ kind }) => kind === "question-answered");
    expect(kinds).toMatchObject([{ actor: expect.stringMatching(/^pm-/) }]);
  });

  test("O15: a question that the planner passes on, or fails at, waits in the inbox with the reason, once", async () => {
    const { app } = await newWorkspace({ engine, config: config("pm") });
    const run = await newRun(app, tasks);
    const waiting: object[] = [];
    let pms = 0;
    const agents = playing({
      qc: passes,
      pm: async ({ use }) => {
        if (++pms === 1) await use("submit_answer", { pass_on: "only the owner knows" });
        else throw new Error("the model is gone");
      },
      worker: async (scene) => {
        await scene.use("ask", { question: "Which port?" });
        await scene.use("ask", { question: "Which host?" });
        for (let i = 0; i < 100; i++) {
          const found = unwrap(await inbox.perform(app, {}, person())).runs[0]?.questions ?? [];
          if (found.length === 2 && found.every(({ passed_on }) => passed_on !== null)) {
            waiting.push(...found);
            break;
          }
          await sleep(50);
        }
        await writes()(scene);
      },
    });
    expect(await executed(app, run, agents)).toMatchObject({ state: "completed" });
    expect(waiting).toMatchObject([
      { question: "Which port?", passed_on: "only the owner knows" },
      { question: "Which host?", passed_on: "the planner did not answer: the model is gone" },
    ]);
    expect(pms).toBe(2);
  });
});

test("O15: without crew.questions: pm no planner is started, and the question waits for a person", async () => {
  const { app } = await newWorkspace({ config: config("person") });
  const run = await newRun(app, tasks);
  await executed(app, run, playing({ worker: asks({}, 2), qc: passes }));
  expect((await contextsOf(app.db.read, { run })).map(({ part }) => part)).not.toContain("pm");
  expect(unwrap(await showRun.perform(app, { id: run }, person())).questions).toMatchObject([{ answer: null }]);
});
