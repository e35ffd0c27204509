import { expect, test } from "vitest";
import { unwrap } from "../src/kernel/result.ts";
import { newRun, planned } from "./support/crew.ts";
import { engines, newWorkspace } from "./support/workspace.ts";

test.each(engines)(
  "B8: a run ends although other processes note what it waits for at the same time (%s)",
  async (engine) => {
    const { app } = await newWorkspace({ engine });
    for (let round = 0; round < 5; round++) {
      const run = await newRun(app, [planned("0")]);
      unwrap(await app.runs.step(run, { type: "start" }, "Ada"));
      const note = () => app.runs.step(run, { type: "wait", reason: "the provider does not answer" }, "other");
      const ended = app.runs.step(run, { type: "finish", failed: 0 }, "Ada");
      await Promise.all([note(), note(), ended, note(), app.runs.step(run, { type: "proceed" }, "other")]);
      unwrap(await ended);
      expect((await app.runs.find(run))?.state).toBe("completed");
    }
  },
);
