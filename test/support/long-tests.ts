/**
 * Test files that `npm test` leaves out, so that it takes five minutes: real agent CLIs, packed packages, the
 * commands of the docs, most browser tests, and attacks with many processes. `npm run test:all` and CI run them, and
 * so does `npx vitest run` with the name of a file.
 */
export const longTests = [
  "agent-exit",
  "agents-real",
  "budgets.browser",
  "claim-secrets",
  "connect-real",
  "crash",
  "crew-cli",
  "decisions",
  "demo",
  "docs-commands",
  "embedding-model",
  "git-content",
  "hidden.browser",
  "hostile-repository",
  "mcp-conformance",
  "model-failures",
  "network-real",
  "package",
  "pages.browser",
  "plugin-real",
  "rendering",
  "rendering.browser",
  "runs.browser",
  "sandbox",
  "sessions.browser",
  "signed-approvals",
  "site.browser",
  "steering",
  "trust.browser",
].map((name) => `test/${name}.test.ts`);

export const runsLongTests =
  Boolean(process.env.SCRIPTORIUM_TEST_LONG) || process.argv.some((argument) => argument.includes(".test"));
