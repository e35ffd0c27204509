/**
 * Files that instruct agents or run programs without being asked: when an agent starts, a folder is opened, a commit
 * is made, packages are installed, a branch is pushed. Content that an agent wrote there acts with a person's rights,
 * so that a person confirms it first. Files that a person runs on purpose, such as a Makefile, are not in the list.
 *
 * `name` is a file and `name/` a folder, at any depth; `a/b/` a folder in a folder. A `*` stands for any characters
 * of a name.
 */
const lists: Readonly<Record<string, readonly string[]>> = {
  "instructs agents": [
    "CLAUDE.md",
    "CLAUDE.local.md",
    "AGENT.md",
    "AGENTS.md",
    "AGENTS.override.md",
    "GEMINI.md",
    "QWEN.md",
    "WARP.md",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    ".clinerules/",
    ".roorules*",
    ".goosehints",
    ".rules",
    ".aider*",
    ".github/copilot-instructions.md",
    ".github/instructions/",
    ".github/prompts/",
    ".github/agents/",
    ".github/chatmodes/",
    "generated-agents/",
    "runs/templates/",
  ],
  "configures agents, which may then run programs": [
    ".agents/",
    ".amp/",
    ".augment/",
    ".claude/",
    ".claude-plugin/",
    ".codex/",
    ".continue/",
    ".copilot/",
    ".cursor/",
    ".gemini/",
    ".goose/",
    ".junie/",
    ".kilocode/",
    ".kiro/",
    ".opencode/",
    ".qwen/",
    ".roo/",
    ".trae/",
    ".windsurf/",
    "opencode.json*",
    ".mcp.json",
    "mcp.json",
  ],
  "configures an editor, which may then run programs": [
    ".vscode/",
    "*.code-workspace",
    ".idea/",
    ".zed/",
    ".fleet/",
    ".exrc",
    ".nvimrc",
    ".nvim.lua",
    ".vimrc",
    ".dir-locals.el",
    ".devcontainer/",
    ".devcontainer.json",
    ".gitpod.yml",
    ".codesandbox/",
  ],
  "runs programs when the folder is entered": [".envrc", "mise.toml", ".mise.toml", ".mise/"],
  "configures git, which may then run programs": [".gitattributes", ".gitmodules", ".gitconfig"],
  "runs programs on commits": [
    ".husky/",
    ".githooks/",
    "lefthook*.yml",
    "lefthook*.yaml",
    ".lefthook*",
    ".pre-commit-config.yaml",
    ".pre-commit-hooks.yaml",
    ".lintstagedrc*",
    "lint-staged.config.*",
    ".overcommit.yml",
  ],
  "runs programs when packages are installed": [
    ".npmrc",
    ".yarnrc*",
    ".yarn/",
    ".pnpmfile.*",
    "pnpm-workspace.yaml",
    "bunfig.toml",
    "binding.gyp",
    ".cargo/",
  ],
  "runs programs in CI": [
    ".github/workflows/",
    ".github/actions/",
    ".gitlab-ci.yml",
    ".gitlab/ci/",
    ".circleci/",
    ".buildkite/",
    ".woodpecker/",
    ".woodpecker.yml",
    ".drone.yml",
    ".travis.yml",
    ".gitea/workflows/",
    ".forgejo/workflows/",
    "appveyor.yml",
    "azure-pipelines*.yml",
    "bitbucket-pipelines.yml",
    "cloudbuild.yaml",
    "Jenkinsfile",
  ],
  "configures Scriptorium": ["scriptorium.yaml", ".scriptorium*", ".scriptorium*/"],
};

type Pattern = { why: string; isFolder: boolean; parts: RegExp[] };

const patterns: Pattern[] = Object.entries(lists).flatMap(([why, names]) =>
  names.map((name) => ({
    why,
    isFolder: name.endsWith("/"),
    parts: foldedPath(name)
      .split("/")
      .filter((part) => part !== "")
      .map((part) => new RegExp(`^${part.split("*").map(escaped).join("[^/]*")}$`, "u")),
  })),
);

/** What a file at this path does unasked, as a phrase without a subject; undefined for an ordinary file. */
export function whySteering(path: string): string | undefined {
  const parts = foldedPath(path).split("/");
  // Windows finds a file by its short name too, and such a name says nothing about the long one.
  if (parts.some((part) => /~\d+(\.[^.]{0,3})?$/.test(part))) return "may be the short name of another file on Windows";
  return patterns.find((pattern) => matches(pattern, parts))?.why;
}

function matches({ isFolder, parts: wanted }: Pattern, parts: readonly string[]): boolean {
  const isAt = (from: number) => wanted.every((part, i) => part.test(parts[from + i] ?? ""));
  // A folder needs a file below it, or the file itself would be one.
  const last = parts.length - wanted.length - (isFolder ? 1 : 0);
  if (!isFolder) return last >= 0 && isAt(last);
  return Array.from({ length: Math.max(0, last + 1) }, (_, from) => from).some(isAt);
}

/**
 * The path as the most forgiving file system reads it: without case, composed, without characters that HFS+ ignores,
 * and without the trailing dots, spaces and stream names that NTFS ignores.
 */
export function foldedPath(path: string): string {
  return path
    .normalize("NFKC")
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, "")
    .toLowerCase()
    .split(/[/\\]/)
    .map((part) => part.replace(/:.*$/s, "").replace(/(?<![. ])[. ]+$/, ""))
    .join("/");
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** Scripts of package.json that package managers run without being asked. */
const installScripts = ["preinstall", "install", "postinstall", "preprepare", "prepare", "postprepare", "prepublish"];

/** The install scripts and other such settings that differ between two versions of a package.json. */
export function changedInstallScripts(before: string | undefined, after: string | undefined): string[] {
  const [old, now] = [settingsIn(before), settingsIn(after)];
  if (!now) return after === undefined ? [] : ["the file, which is not valid JSON"];
  return [...now].filter(([key, value]) => old?.get(key) !== value).map(([key]) => key);
}

function settingsIn(text: string | undefined): Map<string, string> | undefined {
  if (text === undefined) return new Map();
  try {
    const { scripts, packageManager, trustedDependencies, pnpm } = JSON.parse(text.replace(/^\ufeff/, ""));
    const hooks = installScripts.map((name) => [`scripts.${name}`, scripts?.[name]] as const);
    const others = Object.entries({ packageManager, trustedDependencies, pnpm });
    return new Map(
      [...hooks, ...others].flatMap(([key, value]) => (value === undefined ? [] : [[key, JSON.stringify(value)]])),
    );
  } catch {
    return undefined;
  }
}
