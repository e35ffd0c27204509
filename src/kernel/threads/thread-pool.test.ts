import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { silent } from "../log.ts";
import { defaultLimits, threadPool } from "./thread-pool.ts";

/** A thread that spins, allocates or fails on request; otherwise it returns its thread id and the text. */
const worker = `
  import { readlinkSync } from "node:fs";
  import { parentPort, threadId } from "node:worker_threads";
  const hoard = [];
  parentPort.on("message", ({ text }) => {
    if (text === "spin") for (;;) ;
    // As a thread on a machine that has no time for it.
    if (text.startsWith("wait")) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(text.slice(5)));
    if (text === "hoard") for (;;) hoard.push(new Array(10_000).fill(text + hoard.length));
    if (text === "exit") process.exit(3);
    parentPort.postMessage(text === "fail" ? { error: text } : { answer: text + "@" + threadId });
  });
  let thread;
  try {
    thread = readlinkSync("/proc/thread-self").split("/").at(-1);
  } catch {}
  parentPort.postMessage({ ready: true, thread });
`;

function pool(limits: Partial<typeof defaultLimits> = {}) {
  const folder = mkdtempSync(join(tmpdir(), "scriptorium-pool-"));
  writeFileSync(join(folder, "worker.mjs"), worker);
  const made = threadPool<string, string>({
    file: pathToFileURL(join(folder, "worker.mjs")),
    log: silent,
    messageFor: (text) => ({ text }),
    limits: { ...defaultLimits, threads: 2, heapMb: 32, ...limits },
  });
  onTestFinished(async () => {
    await made.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const run = (text: string, client = "a", cancel = new AbortController()) =>
    made.run(text, { client, request: {} }, cancel.signal);
  return { ...made, run };
}

describe("S7: the threads of the renderer", () => {
  test("S7: a job that exceeds its time is stopped, and its thread is replaced", async () => {
    const { run, counts } = pool({ jobMs: 200 });
    expect(await run("spin")).toEqual({ kind: "slow" });
    expect(await run("next")).toMatchObject({ kind: "done", answer: expect.stringContaining("next@") });
    expect(counts()).toMatchObject({ slow: 1, done: 1, running: 0, waiting: 0 });
  });

  test.runIf(process.platform === "linux")(
    "S7: time in which a thread does not run is not counted, until a job has taken ten times as long",
    async () => {
      const { run, counts } = pool({ jobMs: 200, wallMs: 60_000 });
      expect(await run("wait 1000")).toMatchObject({ kind: "done" });
      expect(await run("spin")).toEqual({ kind: "slow" });
      const { run: runBriefly } = pool({ jobMs: 100, wallMs: 500 });
      expect(await runBriefly("wait 100000")).toEqual({ kind: "slow" });
      expect(counts()).toMatchObject({ slow: 1, done: 1, running: 0, waiting: 0 });
    },
  );

  test("S7: a job that exceeds its memory, fails or ends its thread leaves the others alone", async () => {
    const { run, counts } = pool({ jobMs: 60_000 });
    const ends = await Promise.all([run("hoard"), run("fail", "b"), run("exit", "c"), run("fine", "d")]);
    expect(ends.map(({ kind }) => kind)).toEqual(["memory", "failed", "failed", "done"]);
    expect(counts()).toMatchObject({ running: 0, waiting: 0 });
  });

  test("S7: one client never occupies the last thread", async () => {
    const { run, counts } = pool({ jobMs: 60_000 });
    const leave = new AbortController();
    const greedy = Array.from({ length: 5 }, () => run("spin", "greedy", leave));
    await expect.poll(() => counts().running).toBe(1);
    for (let nth = 0; nth < 3; nth++) expect(await run("quick", "other")).toMatchObject({ kind: "done" });
    expect(counts()).toMatchObject({ running: 1, waiting: 4 });
    leave.abort();
    await Promise.all(greedy);
  });

  test("S7: what nobody waits for leaves the queue, or its thread is stopped", async () => {
    const { run, counts } = pool({ jobMs: 60_000, graceMs: 50 });
    const leave = new AbortController();
    const jobs = Array.from({ length: 4 }, () => run("spin", "a", leave));
    await expect.poll(() => counts().running).toBe(1);
    leave.abort();
    expect(await Promise.all(jobs)).toEqual(jobs.map(() => ({ kind: "cancelled" })));
    await expect.poll(counts).toMatchObject({ running: 0, waiting: 0, cancelled: 4 });
  });

  test("S7: a short job that is cancelled does not cost its thread", async () => {
    const { run } = pool({ graceMs: 60_000 });
    const [, first = ""] = answerOf(await run("one")).split("@");
    const leave = new AbortController();
    const cancelled = run("two", "a", leave);
    leave.abort();
    expect(await cancelled).toEqual({ kind: "cancelled" });
    expect(answerOf(await run("three"))).toBe(`three@${first}`);
  });

  test("S7: there are never more threads than allowed, and idle ones end", async () => {
    const { run, counts } = pool({ threads: 3, idleMs: 100, jobMs: 100 });
    const most: number[] = [];
    const watch = setInterval(() => most.push(counts().threads), 5);
    onTestFinished(() => clearInterval(watch));
    await Promise.all(Array.from({ length: 12 }, (_, n) => run(n % 3 ? "spin" : "quick", `client ${n}`)));
    expect(Math.max(...most)).toBeLessThanOrEqual(3);
    await expect.poll(() => counts().threads).toBe(1);
  });
});

const answerOf = (outcome: { kind: string; answer?: string }) => outcome.answer ?? outcome.kind;
