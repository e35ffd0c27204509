import { unwrap } from "../../src/kernel/result.ts";
import type { Claim, TaskEngine } from "../../src/tasks/engine.ts";
import { percentile } from "../support/measure.ts";

/** What a system did with the jobs it was given. */
export type Figures = { "jobs/s": number; "claim P50 ms"?: number; "claim P99 ms"?: number };

const at = "bench";
const atOnce = 1000;

/** `count` tasks, the first `width` of them free and each other behind one of the `width` before it. */
export async function createJobs(tasks: TaskEngine, count: number, width = count): Promise<void> {
  let before: string[] = [];
  for (let from = 0; from < count; from += Math.min(atOnce, width)) {
    const size = Math.min(atOnce, width, count - from);
    const wanted = Array.from({ length: size }, (_, index) => ({
      title: `Job ${from + index}`,
      description: "",
      dependsOn: width < count ? before.slice(index, index + 1) : [],
      priority: 0,
      run: null,
      maxRetries: 2,
    }));
    before = unwrap(await tasks.createMany(wanted, at)).map((task) => task.id);
  }
}

/** Workers that do nothing but take and end tasks, each so many at a time, until none is left. */
export async function workThrough(tasks: TaskEngine, workers: number, count: number, atATime = 1): Promise<Figures> {
  const waits: number[] = [];
  let done = 0;
  const began = performance.now();
  async function work(name: string) {
    let claims = await take(name);
    while (claims.length > 0 && done < count) {
      const [ended, next] = await Promise.all([
        Promise.all(claims.map((claim) => tasks.step(claim.task.id, { type: "finish", output: "" }, name, claim))),
        take(name),
      ]);
      for (const one of ended) unwrap(one);
      done += ended.length;
      claims = next;
      // Behind others nothing may be ready just now.
      while (claims.length === 0 && done < count) {
        await new Promise((soon) => setImmediate(soon));
        claims = await take(name);
      }
    }
  }
  async function take(name: string): Promise<Claim[]> {
    const asked = performance.now();
    const claims = await Promise.all(Array.from({ length: atATime }, () => tasks.claim(name)));
    const got = claims.filter((claim) => claim !== undefined);
    if (got.length > 0) waits.push(performance.now() - asked);
    return got;
  }
  await Promise.all(Array.from({ length: workers }, (_, n) => work(`w${n}`)));
  const seconds = (performance.now() - began) / 1000;
  if (done !== count) throw new Error(`${done} of ${count} tasks were done`);
  return {
    "jobs/s": Math.round(count / seconds),
    "claim P50 ms": percentile(waits, 0.5),
    "claim P99 ms": percentile(waits, 0.99),
  };
}
