import { tmpdir } from "node:os";
import { defineConfig } from "vitest/config";
import { longTests, runsLongTests } from "./test/support/long-tests.ts";

export default defineConfig({
  test: {
    // Timeouts end a hang; they are no measurement, for a loaded machine may be ten times slower. So they
    // stand here and not with each test.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 60_000, interval: 20 } },
    // For code that reads the environment of the process; see testEnvironment in test/support/workspace.ts.
    env: { SCRIPTORIUM_TRUSTED_FOLDERS: tmpdir(), SCRIPTORIUM_TEST_LONG: runsLongTests ? "1" : "" },
    // More than the two cores of CI: tests wait for processes, disks and timers.
    maxWorkers: 3,
    // Tests kill real processes and wait for leases; CI repeats a failed one twice, so that a loaded machine does not fail a change.
    retry: process.env.CI ? 2 : 0,
    // The files of a worker share its modules: importing src/ for each file costs more than most files.
    isolate: false,
    reporters: ["default", "./test/support/skip-report.ts"],
    projects: [
      {
        extends: true,
        test: { name: "unit", include: ["src/**/*.test.ts", "web/**/*.test.ts"] },
      },
      {
        extends: true,
        test: {
          name: "system",
          include: ["test/**/*.test.ts"],
          exclude: runsLongTests ? [] : longTests,
          globalSetup: "test/support/setup.ts",
        },
      },
    ],
  },
});
