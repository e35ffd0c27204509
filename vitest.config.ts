import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "web/**/*.test.ts", "test/**/*.test.ts"],
    globalSetup: "test/support/setup.ts",
    // How long to wait before giving up is no measurement: a busy machine may take its time.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000, interval: 20 } },
    maxWorkers: 2,
    // Real processes, file events and leases on a busy machine: CI gives a test that failed one more chance.
    retry: process.env.CI ? 1 : 0,
  },
});
