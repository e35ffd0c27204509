// Runs the proofs in prove/ against the commands as they ship, for a limited time.
import { execFileSync, spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { exitCodeOf, withBundle } from "./bundle.mjs";

// Building counts as well: the caller asked for minutes of their time.
const began = Date.now();
process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const names = readdirSync("prove")
  .filter((file) => file.endsWith(".ts"))
  .map((file) => basename(file, ".ts"));

const problem = await main();
if (problem) {
  console.error(problem);
  process.exitCode = 2;
}

async function main() {
  const { values, problem } = readOptions();
  if (problem) return problem;
  const { minutes, seed, only } = values;
  const chosen = only ?? names;
  const unknown = chosen.find((name) => !names.includes(name));
  if (unknown) return `no proof ${unknown}; there are: ${names.join(", ")}`;
  if (!(Number(minutes) > 0)) return `--minutes ${minutes}: expected a number above 0`;
  if (!/^\d+$/.test(seed)) return `--seed ${seed}: expected a whole number`;

  const flags = [`--minutes ${minutes}`, ...(only ?? []).map((name) => `--only ${name}`), `--seed ${seed}`];
  const plan = {
    names: chosen,
    seed: Number(seed),
    until: began + Number(minutes) * 60_000,
    command: `npm run prove -- ${flags.join(" ")}`,
    commit: commit(),
    page: "docs/proof.md",
    // The page has a row for each proof; a run of a few would drop the others.
    isWhole: !only,
  };
  const entries = { main: "prove/support/main.ts", ...Object.fromEntries(names.map((n) => [n, `prove/${n}.ts`])) };
  process.exitCode = await withBundle("prove", entries, (folder) =>
    exitCodeOf(spawn(process.execPath, [join(folder, "prove/main.js"), JSON.stringify(plan)], { stdio: "inherit" })),
  );
  return undefined;
}

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        minutes: { type: "string", default: "19" },
        seed: { type: "string", default: String(began % 1_000_000) },
        only: { type: "string", multiple: true },
      },
    });
    return { values };
  } catch (error) {
    return { problem: `${error.message}\nusage: npm run prove -- [--minutes 19] [--only <proof>] [--seed 7]` };
  }
}

function commit() {
  const git = (...args) => execFileSync("git", args, { encoding: "utf8" }).trim();
  const changed = git("status", "--porcelain", "--", ".", ":!docs/proof.md");
  return `${git("rev-parse", "--short=10", "HEAD")}${changed ? " with uncommitted changes" : ""}`;
}
