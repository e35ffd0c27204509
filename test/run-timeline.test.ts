import { describe, expect, test } from "vitest";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { executed, newRun, passes, planned, playing, verdictOf, writes } from "./support/crew.ts";
import { backends, newWorkspace, person } from "./support/workspace.ts";

describe.each(backends)("the timeline of a run ($store, $engine)", (backend) => {
  test("O5: each attempt has its phases in order, in a lane of the worker that did it", async () => {
    const { app } = await newWorkspace({ ...backend, config: "crew: {sandbox: none}\n" });
    const run = await newRun(app, [planned("0"), planned("1.1"), planned("1.2")]);
    let rejections = 0;
    const rejectsOnce = playing({
      worker: writes(),
      qc: async (scene) => {
        if (scene.number === "1.1" && rejections++ === 0) await scene.use("submit_verdict", verdictOf(false));
        else await passes(scene);
      },
    });
    await executed(app, run, rejectsOnce, { budgetTokens: 100_000 });

    const timeline = unwrap(await operations.run_timeline.perform(app, { id: run }, person()));
    expect(timeline).toMatchObject({ running: false, earlier: false });
    expect(timeline.lanes.some(({ kind }) => kind === "worker")).toBe(true);
    const of = (number: string, attempt: number) =>
      timeline.stages.filter((one) => one.number === number && one.attempt === attempt);
    const busy = (number: string, attempt: number) =>
      of(number, attempt).flatMap(({ phase }) => (phase === "waiting" || phase === "preparing" ? [] : [phase]));
    expect(busy("1.1", 1)).toEqual(["work", "checks", "verification"]);
    expect(busy("1.1", 2)).toEqual(["work", "checks", "verification", "merge"]);
    expect(of("1.1", 1).at(-1)).toMatchObject({ outcome: "failed" });
    expect(of("1.1", 2).at(-1)).toMatchObject({ outcome: "passed" });
    for (const { lane, start_ms, end_ms } of timeline.stages) {
      expect(timeline.lanes[lane]).toBeDefined();
      expect(end_ms).toBeGreaterThanOrEqual(start_ms);
      expect(end_ms).toBeLessThanOrEqual(timeline.now_ms);
    }

    const last = unwrap(await operations.run_timeline.perform(app, { id: run, limit: 1 }, person()));
    expect(last.earlier).toBe(true);
    expect(new Set(last.stages.flatMap(({ task, attempt }) => (task ? [`${task} ${attempt}`] : []))).size).toBe(1);
  });

  test("W7: a rerun task has the phases of its first and of its repeated attempt, which has the same number", async () => {
    const { app } = await newWorkspace({ ...backend, config: "crew: {sandbox: none}\n" });
    const run = await newRun(app, [planned("0"), planned("1.1")]);
    const agents = (word: string) => playing({ worker: writes((number) => `${number} ${word}\n`), qc: passes });
    await executed(app, run, agents("first"));
    unwrap(await operations.rerun_run.perform(app, { id: run, from: "1.1", confirm: true }, person()));
    await executed(app, run, agents("second"));
    const { stages } = unwrap(await operations.run_timeline.perform(app, { id: run }, person()));
    const byEpoch = new Map<number | null, string[]>();
    for (const { number, attempt, epoch, phase } of stages) {
      if (number !== "1.1" || phase === "waiting" || phase === "preparing") continue;
      expect(attempt).toBe(1);
      byEpoch.set(epoch, [...(byEpoch.get(epoch) ?? []), phase]);
    }
    const [first, second] = [...byEpoch.values()];
    expect(first).toEqual(["work", "checks", "verification"]);
    expect(second).toEqual(["work", "checks", "verification", "merge"]);
  });

  test("O5: usage grows to what the agents used, and what is left of the budget follows from it", async () => {
    const { app } = await newWorkspace({ ...backend, config: "crew: {sandbox: none}\n" });
    const run = await newRun(app, [planned("0"), planned("1.1")]);
    await executed(app, run, playing({ worker: writes(), qc: passes }), { budgetTokens: 100_000 });
    const burn = unwrap(await operations.run_burn.perform(app, { id: run }, person()));
    const usage = unwrap(await operations.run_usage.perform(app, { id: run }, person()));
    const used = usage.models.reduce((sum, { tokens }) => sum + (tokens ?? 0), 0);
    expect(burn.series.reduce((sum, { tokens }) => sum + (tokens.at(-1) ?? 0), 0)).toBe(used);
    for (const { tokens } of burn.series) expect(tokens).toEqual([...tokens].sort((a, b) => a - b));
    expect(burn.series.map(({ part }) => part)).toEqual(expect.arrayContaining(["worker", "qc"]));
    expect(burn.budget).toEqual({ tokens: 100_000, usd: null });
    expect(burn.left).toEqual({ tokens: expect.any(Number), usd: null });
    expect(burn.left.tokens).toBeLessThan(100_000);
  });

  test("O5: a run that does not exist has no timeline", async () => {
    const { app } = await newWorkspace(backend);
    expect(await operations.run_timeline.perform(app, { id: "run-0" }, person())).toMatchObject({
      ok: false,
      problem: { code: "not_found" },
    });
  });
});
