import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "web/**/*.test.ts", "test/**/*.test.ts"],
    globalSetup: "test/support/setup.ts",
    testTimeout: 30_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    // Real processes, file events and leases on a busy machine: CI gives a test that failed one more chance.
    retry: process.env.CI ? 1 : 0,
  },
});
