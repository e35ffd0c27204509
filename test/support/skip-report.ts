import type { Reporter, TestCase, TestModule, TestSuite, Vitest } from "vitest/node";
import { longTests, runsLongTests } from "./long-tests.ts";

/** Prints after the run how many tests were skipped, and why, and which were left out. */
export default class SkipReport implements Reporter {
  private fallback = "no reason given";

  onInit(vitest: Vitest): void {
    if (vitest.config.testNamePattern) this.fallback = "not selected by name";
  }

  onTestRunEnd(modules: ReadonlyArray<TestModule>): void {
    const counts = new Map<string, number>();
    for (const module of modules) {
      for (const test of module.children.allTests("skipped")) {
        const reason = reasonOf(test) ?? this.fallback;
        counts.set(reason, (counts.get(reason) ?? 0) + 1);
      }
    }
    if (!runsLongTests) process.stderr.write(`\n${longTests.length} long test files were left out: npm run test:all\n`);
    if (counts.size === 0) return;
    const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
    const lines = [...counts].sort((a, b) => b[1] - a[1]).map(([reason, count]) => `  ${count}  ${reason}\n`);
    process.stderr.write(`\n${total} skipped:\n${lines.join("")}\n`);
  }
}

function reasonOf(test: TestCase): string | undefined {
  const result = test.result();
  if (result.state === "skipped" && result.note) return result.note;
  for (let task: TestCase | TestSuite | TestModule = test; ; task = task.parent) {
    const { skipReason } = task.meta();
    if (skipReason !== undefined || task.type === "module") return skipReason;
  }
}
