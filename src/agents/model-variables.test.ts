import { expect, test } from "vitest";
import { allowed } from "./environment.ts";
import { modelVariables } from "./model-variables.ts";

const env = {
  PATH: "/bin",
  ANTHROPIC_API_KEY: "key",
  ANTHROPIC_ADMIN_KEY: "admin",
  AWS_SECRET_ACCESS_KEY: "secret",
  AWS_SESSION_TOKEN: "token",
  AWS_REGION: "eu-west-1",
  AWS_PROFILE: "production",
  CLOUD_ML_REGION: "global",
  VERTEX_REGION_CLAUDE_4_5_SONNET: "us-east5",
  GOOGLE_APPLICATION_CREDENTIALS: "/home/ada/key.json",
  OPENAI_API_KEY: "openai",
  OPENAI_ADMIN_KEY: "admin",
  GITHUB_TOKEN: "github",
};
const names = (runner: string, more: Record<string, string> = {}) =>
  Object.keys(allowed({ ...env, ...more }, modelVariables(runner, { ...env, ...more }))).sort();

test("S12, T19: an agent gets the variables of its own model by name, and no credentials of a cloud", () => {
  expect(names("claude")).toEqual(["ANTHROPIC_API_KEY", "PATH"]);
  expect(names("codex")).toEqual(["OPENAI_API_KEY", "PATH"]);
  expect(names("command")).toEqual(["PATH"]);
});

test("S12: credentials of a cloud are passed when Claude Code uses the model of that cloud", () => {
  const bedrock = names("claude", { CLAUDE_CODE_USE_BEDROCK: "1" });
  expect(bedrock).toEqual(expect.arrayContaining(["AWS_REGION", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"]));
  expect(bedrock).not.toContain("CLOUD_ML_REGION");
  expect(names("claude", { CLAUDE_CODE_USE_BEDROCK: "0" })).not.toContain("AWS_SECRET_ACCESS_KEY");
  const vertex = names("claude", { CLAUDE_CODE_USE_VERTEX: "1" });
  expect(vertex).toEqual(expect.arrayContaining(["CLOUD_ML_REGION", "VERTEX_REGION_CLAUDE_4_5_SONNET"]));
  expect(vertex.filter((name) => name.startsWith("AWS_"))).toEqual([]);
});
