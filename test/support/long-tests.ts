/**
 * Test files that `npm test` leaves out, so that it takes five minutes: real agent CLIs, packed packages, the
 * commands of the docs, most browser tests, and attacks with many processes. `npm run test:all` and CI run them, and
 * so does `npx vitest run` with the name of a file. The same runs have all cases of the matrices that `npm test`
 * samples: `backends` and `sampledEngines` in workspace.ts, and tests with the options `long` in programs.ts.
 */
export const longTests = [
  "agent-exit",
  "agents-real",
  "backup",
  "budgets.browser",
  "claim-secrets",
  "connect-real",
  "crash",
  "crew-cli",
  "decisions",
  "demo",
  "disk-faults",
  "docs-commands",
  "doctor-clean",
  "doctor-damage",
  "doctor-fix",
  "embedding-model",
  "evidence",
  "failed-run.browser",
  "focus.browser",
  "git-content",
  "hidden.browser",
  "hostile-repository",
  "mcp-conformance",
  "model-failures",
  "network",
  "network-real",
  "own-store",
  "package",
  "pages.browser",
  "plugin-real",
  "public-repository",
  "rendering",
  "rendering.browser",
  "repositories",
  "runs.browser",
  "sandbox",
  "sessions.browser",
  "setup-managers",
  "signed-approvals",
  "site.browser",
  "steering",
  "store-move",
  "trust.browser",
].map((name) => `test/${name}.test.ts`);

export const runsLongTests =
  Boolean(process.env.SCRIPTORIUM_TEST_LONG) || process.argv.some((argument) => argument.includes(".test"));
