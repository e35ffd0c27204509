import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { simulate, simulationTemplate } from "./simulation/world.ts";
import type { Proof } from "./support/proof.ts";

/** One seed is one order of everything that workers in three processes do on one store with a simulated clock. */
export const proof: Proof = {
  promise:
    "In simulations of workers that crash, pause beyond their lease and repeat themselves, C2, C3 and C5 hold and every task ends",
  async run(context) {
    // In memory, where the machine has a file system for that.
    const folder = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "scriptorium-simulation-"));
    context.atEnd(() => rmSync(folder, { recursive: true, force: true }));
    const template = await simulationTemplate(folder);
    const sums = { seeds: 0, claims: 0, steps: 0, refused: 0 };
    for (let seed = context.seed; Date.now() < context.until; seed++) {
      const { violations, claims, steps, refused } = await simulate(seed, folder, template);
      for (const suffix of ["", "-wal", "-shm"]) rmSync(join(folder, `${seed}.db${suffix}`), { force: true });
      sums.seeds++;
      sums.claims += claims;
      sums.steps += steps;
      sums.refused += refused;
      const again = `repeat with npm run prove -- --only simulation --seed ${seed}`;
      context.check(violations.length === 0, `seed ${seed}: ${violations.slice(0, 3).join("; ")}; ${again}`);
      context.note(
        `${sums.seeds} seeds from ${context.seed}: ${sums.claims} claims, ${sums.steps} steps, ${sums.refused} refused as late`,
      );
    }
  },
};
