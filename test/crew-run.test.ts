import { appendFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { News } from "../src/crew/crew.ts";
import { acceptedBranch } from "../src/crew/worktree.ts";
import { attemptsOf } from "../src/store/runs.ts";
import { executed, newRun, passes, planned, playing, verdictOf, writes } from "./support/crew.ts";
import { engines, newWorkspace, type TestWorkspace } from "./support/workspace.ts";

/** Tests that run none of an agent's programs need no sandbox, and must pass where there is none. */
async function workspace(engine: (typeof engines)[number]): Promise<TestWorkspace> {
  const made = await newWorkspace({ engine });
  appendFileSync(made.file("scriptorium.yaml"), "crew: {sandbox: none}\nclaims: {strategy: queue, lease_seconds: 5}\n");
  made.git("commit", "-qam", "Run without a sandbox");
  return { ...made, app: await made.open() };
}

describe.each(engines)("a run on %s", (engine) => {
  test("O5, O8, O9: work is verified, a failed attempt goes back with what was wrong, and what passes is merged", async () => {
    const { app, git } = await workspace(engine);
    const tasks = [planned("0"), planned("1.1"), planned("1.2", { depends_on: ["1.1"] })];
    const run = await newRun(app, tasks);
    const told: string[] = [];
    const news: News[] = [];
    const agents = playing({
      worker: async (scene) => {
        if (scene.number === "1.1") told.push(scene.told);
        await writes((number) => (scene.retry ? `${number} right\n` : `${number} wrong\n`))(scene);
      },
      qc: async (scene) => {
        const { text } = (await scene.use("read_file", { path: `out/${scene.number}.txt` })) as { text?: string };
        if (scene.number === "1.1" && text?.includes("wrong")) {
          await scene.use(
            "submit_verdict",
            verdictOf(false, { evidence: [{ criterion: 1, met: false, quote: "wrong", from: "out/1.1.txt" }] }),
          );
        } else await passes(scene);
      },
    });
    const outcome = await executed(app, run, agents, { news });
    expect(outcome).toMatchObject({ state: "completed", tasks: { all: 3, completed: 3, lost: 0 } });
    expect(git("show", `${acceptedBranch(run)}:out/1.1.txt`)).toBe("1.1 right");
    expect(git("show", `${acceptedBranch(run)}:out/1.2.txt`)).toBe("1.2 wrong");
    expect(git("status", "--porcelain")).toBe("?? runs/");
    expect(git("worktree", "list").split("\n")).toHaveLength(1);

    expect(told).toHaveLength(2);
    expect(told[1]).toContain("made 1.1");
    expect(told[1]).toContain("make it right");
    expect(told[1]).toContain("It is not as asked.");
    const [task] = (await app.runs.tasks(run)).filter((row) => row.number === "1.1");
    const attempts = await attemptsOf(app.db.read, { task: task?.task_id ?? "" });
    expect(attempts.map((row) => [row.attempt, row.phase, row.files_changed])).toEqual([
      [1, "qc_failed", '["out/1.1.txt"]'],
      [2, "qc_passed", '["out/1.1.txt"]'],
    ]);
    expect(news.map((one) => one.kind)).toContain("retry");
  });
});
