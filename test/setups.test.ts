import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { News } from "../src/crew/record/run-host.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { setupsOf } from "../src/store/queries/setups.ts";
import { executed, newRun, passes, planned, playing, writes } from "./support/crew.ts";
import { npmProject } from "./support/packages.ts";
import { needs } from "./support/programs.ts";
import { newWorkspace, person } from "./support/workspace.ts";

const npmTest = [{ criterion: "the tests pass", check: { run: ["npm", "test"], exits: 0 } }];

describe("W5: dependencies of a run", needs("bubblewrap"), () => {
  test("W5: npm test is green in the worktree of task 0 and in its checks, because npm ci ran once before", async () => {
    const { app } = await newWorkspace({ files: npmProject() });
    const run = await newRun(app, [planned("0", { verification: npmTest }), planned("1.1", { verification: npmTest })]);
    const ran: unknown[] = [];
    const news: News[] = [];
    const outcome = await executed(
      app,
      run,
      playing({
        worker: async (scene) => {
          ran.push(await scene.use("run_command", { run: ["npm", "test"] }));
          ran.push(await scene.use("run_command", { run: ["git", "status", "--porcelain"] }));
          await writes()(scene);
        },
        qc: passes,
      }),
      { news },
    );
    expect(outcome).toMatchObject({ state: "completed", reason: null });
    expect(ran).toMatchObject([
      { exit: 0, output: expect.stringContaining("greeting 1.0.0") },
      { exit: 0, output: "" },
      { exit: 0 },
      { exit: 0, output: "" },
    ]);
    expect(news.filter(({ kind }) => kind.startsWith("setup"))).toMatchObject([
      { kind: "setup-started", title: "npm ci" },
      { kind: "setup-finished", outcome: "installed" },
    ]);
    expect(await setupsOf(app.db.read, run)).toMatchObject([{ state: "installed", origin: "package-lock.json" }]);
  });
});
