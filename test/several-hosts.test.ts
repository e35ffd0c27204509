import { describe, expect, onTestFinished, test } from "vitest";
import { openApp } from "../src/app.ts";
import { claimReport } from "../src/crew/record/agent-reports.ts";
import { openRunPacks } from "../src/crew/record/run-packs.ts";
import { unwrap } from "../src/kernel/result.ts";
import type { Database } from "../src/store/database.ts";
import { newRun, planned } from "./support/crew.ts";
import { engines, newWorkspace } from "./support/workspace.ts";

describe.each(engines)("several hosts, on %s", (engine) => {
  test("M1: a run stores a commit although the run that shared its pack is cleaned meanwhile", async () => {
    const { app, git } = await newWorkspace({ engine, config: "crew: { packs: always }\n" });
    git("commit", "--quiet", "--allow-empty", "-m", "base");
    const base = git("rev-parse", "HEAD");
    git("commit", "--quiet", "--allow-empty", "-m", "work");
    const commit = git("rev-parse", "HEAD");
    const runs = [await newRun(app, [planned("0")]), await newRun(app, [planned("0")])] as const;
    for (const run of runs) unwrap(await app.packs.begin(run, async () => base));
    unwrap(await app.packs.publish(runs[0], commit));

    let writes = 0;
    const db: Database = {
      ...app.db,
      engine,
      async write(work, how) {
        if (++writes === 2) await app.db.write((tx) => app.packs.remove(tx, runs[0]));
        return app.db.write(work, how);
      },
    };
    unwrap(await openRunPacks({ ...app, db }).publish(runs[1], commit));
    await app.db.write((tx) => app.packs.remove(tx, runs[0]));
    const stored = await app.db.read
      .selectFrom("run_commits")
      .innerJoin("git_packs", "git_packs.id", "run_commits.pack_id")
      .innerJoin("git_pack_chunks", "git_pack_chunks.pack_id", "git_packs.id")
      .select(["run_commits.run_id", "git_packs.complete"])
      .where("commit_id", "=", commit)
      .execute();
    expect(stored).toEqual([{ run_id: runs[1], complete: 1 }]);
  });

  test("M10: a machine whose clock is an hour ahead does not take over a report that another one is writing", async () => {
    const { app } = await newWorkspace({ engine });
    const run = await newRun(app, [planned("0")]);
    const wanted = { run_id: run, kind: "final" as const, about: "outcome", task_id: null, part: "pm" as const };
    expect(await claimReport(app, wanted)).toBe(true);
    const elsewhere = { process: "elsewhere:7:7:1a.2b.3c.4d" };
    await app.db.write((tx) => tx.updateTable("agent_reports").set(elsewhere).execute());
    const ahead = await openApp(app.config, { now: () => new Date(Date.now() + 3_600_000) });
    onTestFinished(() => ahead.close());
    expect(await claimReport(ahead, wanted)).toBe(false);
    const long = new Date(Date.now() - 3_600_000).toISOString();
    await app.db.write((tx) => tx.updateTable("agent_reports").set({ started_at: long }).execute());
    expect(await claimReport(app, wanted)).toBe(true);
  });
});
