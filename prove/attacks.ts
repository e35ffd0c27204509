import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { attacksIn } from "../scripts/reference/attacks.ts";
import type { Context, Proof } from "./support/proof.ts";
import { shuffled } from "./support/shuffled.ts";

/** The attacks are tests: each file of them is one run of vitest, and each test in it one try. */
export const proof: Proof = {
  promise: "No attack in [Attacks](reference/attacks.md) succeeds",
  weight: 3,
  async run(context) {
    const files = [...new Set(attacksIn(process.cwd()).map(({ file }) => file))];
    let done = 0;
    for (const file of shuffled(files, context.random)) {
      if (Date.now() > context.until) break;
      const results = await runFile(context, file);
      if (!results) break;
      done++;
      for (const { fullName, status, failureMessages } of results) {
        if (status === "pending" || status === "skipped" || status === "todo") continue;
        context.check(status === "passed", `${file}: ${fullName}: ${failureMessages[0]?.split("\n")[0] ?? ""}`);
      }
      context.note(`${done} of ${files.length} files`);
    }
  },
};

type Result = { fullName: string; status: string; failureMessages: string[] };

/** Undefined when the time is over. */
async function runFile(context: Context, file: string): Promise<Result[] | undefined> {
  const report = join(mkdtempSync(join(context.folder, "attack-")), "report.json");
  const options = ["--reporter=json", `--outputFile=${report}`, "-t", "(^| )([A-Z]\\d+, )*[TS]\\d+(, [A-Z]\\d+)*: "];
  const vitest = spawn(process.execPath, ["node_modules/vitest/vitest.mjs", "run", file, ...options], {
    stdio: "ignore",
    detached: true,
  });
  let hasEnded = false;
  const stop = () => {
    if (!hasEnded) process.kill(-(vitest.pid ?? 0), "SIGKILL");
  };
  const timer = setTimeout(stop, context.until - Date.now() + 60_000);
  // It has a process group of its own, and would outlive the proofs.
  context.atEnd(stop);
  const signal = await new Promise<string | null>((ended) => vitest.on("close", (_, by) => ended(by)));
  hasEnded = true;
  clearTimeout(timer);
  if (signal) return undefined;
  const { testResults } = JSON.parse(readFileSync(report, "utf8")) as { testResults: { assertionResults: Result[] }[] };
  return testResults.flatMap(({ assertionResults }) => assertionResults);
}
