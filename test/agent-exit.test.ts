import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { survivors } from "../src/agents/survivors.ts";
import { unwrap } from "../src/kernel/result.ts";
import { jobWorkspace, openTopic, over, pageText, runQueue, startJob } from "./support/jobs.ts";
import { type SlowKind, slowAgent, slowBlock } from "./support/slow-agents.ts";
import { temporaryFolder } from "./support/workspace.ts";

const text = pageText.replace("the button", "the green button");

async function jobOf(kind: SlowKind, exitMs: number, ignores: string[] = [], more: Record<string, unknown> = {}) {
  const bin = join(temporaryFolder(), "agent.mjs");
  writeFileSync(bin, slowAgent(kind, text, exitMs, ignores), { mode: 0o755 });
  const { app } = await jobWorkspace({ ...slowBlock[kind](bin), ...more });
  const topic = await openTopic(app);
  await runQueue(app);
  const { job_id } = unwrap(await startJob(app, { topic_id: topic }));
  const job = await over(app, job_id);
  expect(await survivors(job_id)).toEqual([]);
  return job;
}

test.each([
  ["acp", 1500],
  ["claude", 1500],
  ["codex", 1500],
  ["command", 1500],
] as const)("P12: an agent (%s) that takes %i ms to exit after its work has succeeded", async (kind, exitMs) => {
  const job = await jobOf(kind, exitMs);
  expect(job, job.message ?? "").toMatchObject({ status: "succeeded", exit_code: 0, error_tail: null });
});

test.each([
  ["acp", 60_000, []],
  ["acp", 60_000, ["SIGINT", "SIGTERM"]],
  ["claude", 60_000, ["SIGINT"]],
] as const)(
  "P12: an agent (%s) that has not exited %i ms after its work and ignores %j is stopped, and has succeeded",
  async (kind, exitMs, ignores) => {
    const job = await jobOf(kind, exitMs, [...ignores]);
    expect(job).toMatchObject({ status: "succeeded", message: expect.stringContaining("stopped") });
  },
);

test("P12: silence after the result is not idleness, and the time limit of the work is over with it", async () => {
  const job = await jobOf("claude", 8000, [], { idle_timeout: "6s", incorporate_timeout: "7s" });
  expect(job, job.message ?? "").toMatchObject({ status: "succeeded", exit_code: 0 });
});
