import { expect, test } from "vitest";
import { changedInstallScripts, whySteering } from "./steering-files.ts";

const steering = [
  "CLAUDE.md",
  "docs/CLAUDE.md",
  "claude.md",
  "Agents.MD",
  "AGENTS.md.",
  "AGENTS.md ",
  "AGENTS.md::$DATA",
  "CLAU\u200cDE.md",
  "\uff23LAUDE.md",
  ".cursor/mcp.json",
  ".Cursor/rules/a.mdc",
  "pkg/.gemini/settings.json",
  ".claude/settings.json",
  ".codex/config.toml",
  ".opencode/agent/x.md",
  "opencode.jsonc",
  ".mcp.json",
  ".vscode/tasks.json",
  ".idea/runConfigurations/x.xml",
  ".husky/pre-commit",
  ".githooks/pre-push",
  "lefthook.yml",
  ".pre-commit-config.yaml",
  ".envrc",
  "sub/.envrc",
  ".devcontainer/devcontainer.json",
  ".gitattributes",
  "deep/er/.gitattributes",
  ".gitmodules",
  ".github/workflows/ci.yml",
  ".gitlab-ci.yml",
  ".npmrc",
  ".yarnrc.yml",
  ".pnpmfile.cjs",
  "scriptorium.yaml",
  ".scriptorium-x/y",
  ".scriptorium/scriptorium.db",
  "generated-agents/worker-1.md",
  "CLAUDE~1.MD",
  "GITATT~1",
];

test.each(steering)("S9: %j is confirmed by a person", (path) => {
  expect(whySteering(path)).toEqual(expect.any(String));
  expect(whySteering(path.normalize("NFD"))).toEqual(expect.any(String));
});

test.each([
  "README.md",
  "Makefile",
  "src/claude.ts",
  "docs/agents.md.txt",
  "docs/about-CLAUDE.md",
  "cursor/rules.md",
  "github/workflows/ci.yml",
  ".github/ISSUE_TEMPLATE.md",
  "package.json",
  "a~b.txt",
  ".vscode",
])("S9: %j is an ordinary deliverable", (path) => {
  expect(whySteering(path)).toBeUndefined();
});

test("S9: of package.json only what a package manager runs unasked counts", () => {
  const before = JSON.stringify({ scripts: { test: "vitest", prepare: "husky" } });
  const changed = (scripts: object, more: object = {}) =>
    changedInstallScripts(before, JSON.stringify({ scripts, ...more }));
  expect(changed({ test: "vitest run", prepare: "husky" })).toEqual([]);
  expect(changed({ test: "vitest" })).toEqual([]);
  expect(changed({ prepare: "husky && ./x" })).toEqual(["scripts.prepare"]);
  expect(changed({ prepare: "husky", postinstall: "./x" })).toEqual(["scripts.postinstall"]);
  expect(changed({ prepare: "husky" }, { packageManager: "yarn@9.9.9" })).toEqual(["packageManager"]);
  expect(changedInstallScripts(undefined, JSON.stringify({ scripts: { install: "./x" } }))).toEqual([
    "scripts.install",
  ]);
  expect(changedInstallScripts(before, "{")).toHaveLength(1);
  expect(changedInstallScripts(before, undefined)).toEqual([]);
});
