// Removes each defence in prove/mutations.json in turn, in a copy of this repository, and expects its test to fail.
//   npm run mutations [-- --only "claim secret"]
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
/** @typedef {{ defence: string, file: string, from: string, to: string, test: string, name: string }} Mutation */
/** @type {Mutation[]} */
const mutations = JSON.parse(readFileSync("prove/mutations.json", "utf8"));
const { values } = parseArgs({ options: { only: { type: "string" } } });
const chosen = mutations.filter(({ defence }) => values.only === undefined || defence === values.only);
if (chosen.length === 0) {
  console.error(`no defence ${values.only}; there are: ${mutations.map(({ defence }) => defence).join(", ")}`);
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), "scriptorium-mutations-"));
let survived = 0;
try {
  execFileSync("git", ["clone", "--quiet", ".", folder]);
  symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
  for (const mutation of chosen) {
    const problem = problemOf(mutation);
    if (problem) survived++;
    console.log(
      `${problem ? "MISSED" : "caught"}  ${mutation.defence} (${mutation.test})${problem ? `: ${problem}` : ""}`,
    );
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(`${chosen.length - survived} of ${chosen.length} removed defences are caught by their test`);
process.exitCode = survived > 0 ? 1 : 0;

/** @param {Mutation} mutation */
function problemOf({ file, from, to, test, name }) {
  const path = join(folder, file);
  const text = readFileSync(path, "utf8");
  if (text.split(from).length !== 2) return `${file} does not contain ${JSON.stringify(from)} exactly once`;
  const before = run(test, name);
  if (before.failed > 0 || before.passed === 0)
    return `without the change: ${before.passed} passed, ${before.failed} failed`;
  writeFileSync(
    path,
    text.replace(from, () => to),
  );
  const after = run(test, name);
  writeFileSync(path, text);
  return after.failed > 0 ? undefined : `the test still passes (${after.passed} passed)`;
}

/**
 * @param {string} test
 * @param {string} name
 */
function run(test, name) {
  const report = join(folder, "report.json");
  rmSync(report, { force: true });
  const options = ["--reporter=json", `--outputFile=${report}`, "-t", name];
  spawnSync(process.execPath, ["node_modules/vitest/vitest.mjs", "run", test, ...options], {
    cwd: folder,
    stdio: "ignore",
    timeout: 600_000,
  });
  const { numPassedTests: passed, numFailedTests: failed } = JSON.parse(readFileSync(report, "utf8"));
  return { passed, failed };
}
