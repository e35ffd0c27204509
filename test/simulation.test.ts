import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { simulate, simulationTemplate } from "../prove/simulation/world.ts";
import { temporaryFolder } from "./support/workspace.ts";

async function simulation() {
  const folder = temporaryFolder();
  const template = await simulationTemplate(folder);
  let copies = 0;
  return async (seed: number, damage?: (sql: string) => string) => {
    // The file of a seed must not exist yet.
    const own = join(folder, String(++copies));
    mkdirSync(own);
    return simulate(seed, own, template, damage);
  };
}

test("C2, C3, C5: hold in simulations of workers that crash, pause and repeat themselves, with each strategy", async () => {
  const run = await simulation();
  for (const seed of [0, 1, 2]) {
    const { violations, claims, refused } = await run(seed);
    expect(violations).toEqual([]);
    expect(claims).toBeGreaterThan(10);
    expect(refused).toBeGreaterThan(0);
  }
});

test("C2: equal seeds of the simulation give equal histories", async () => {
  const run = await simulation();
  const [first, second, other] = [await run(5), await run(5), await run(8)];
  expect(second).toEqual(first);
  expect(other.trace).not.toBe(first.trace);
});

test("C2: the simulation notices when the fence is taken out of the store's UPDATE", async () => {
  const run = await simulation();
  let changed = 0;
  const withoutFence = (sql: string) => {
    if (!/^\s*UPDATE tasks SET state/i.test(sql)) return sql;
    changed++;
    return sql
      .replace(/AND version = \?/, "AND coalesce(version = ?, 1) IN (0, 1)")
      .replace(/AND epoch = \?/, "AND (epoch = ?) IN (0, 1)")
      .replace(/AND secret_hash IS \?/, "AND (secret_hash IS ?) IN (0, 1)")
      .replace(/AND coalesce\(lease_until, 0\) >= \?/, "AND (coalesce(lease_until, 0) >= ?) IN (0, 1)");
  };
  const found: string[] = [];
  for (let seed = 0; seed < 12 && found.length === 0; seed++) found.push(...(await run(seed, withoutFence)).violations);
  expect(changed).toBeGreaterThan(0);
  expect(found.join("\n")).toMatch(/C[24]: /);
});
