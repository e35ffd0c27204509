import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { openApp } from "../src/app.ts";
import { loadConfig } from "../src/config/config.ts";
import { unwrap } from "../src/kernel/result.ts";
import { scribe, scriptorium, serveProcess } from "./support/commands.ts";
import { executed, newRun, passes, planned, playing, writes } from "./support/crew.ts";
import { skippedFor } from "./support/programs.ts";
import { atTerminal, keys } from "./support/terminal.ts";
import { freshDatabase, gitIn, temporaryFolder, testEnvironment } from "./support/workspace.ts";

/** A person's repository and home, with files that init and connect will edit. */
function place(files: Record<string, string> = theirFiles) {
  const root = temporaryFolder();
  const home = temporaryFolder();
  const git = gitIn(root);
  git("init", "-q", "-b", "trunk");
  git("config", "user.name", "Ada");
  git("config", "user.email", "ada@example.org");
  put(root, files);
  git("add", "-A");
  git("commit", "-qm", "Begin");
  const env = { HOME: home, PATH: "/usr/bin:/bin" };
  const run = (...args: string[]) => scriptorium(args, { cwd: root, env });
  return { root, home, git, env, run };
}

function put(root: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

/** With missing newlines, tabs, comments and Windows line ends, which must all come back. */
const theirFiles = {
  "README.md": "mine\n",
  ".gitignore": "node_modules/",
  "AGENTS.md": "# Rules\nBe kind.",
  ".mcp.json": '{"mcpServers":{"a":{"command":"x"}}}',
  ".vscode/mcp.json": '{\r\n\t// mine\r\n\t"servers": {},\r\n}\r\n',
  ".codex/config.toml": '# mine\nmodel = "o5"',
  "sources/report.txt": "theirs\n",
};

/** Every file outside .git with its bytes, and what git knows. */
const stateOf = (root: string, git: ReturnType<typeof gitIn>) => ({
  files: Object.fromEntries(
    readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((item) => !`${item.parentPath}/`.startsWith(`${root}/.git/`) && item.name !== ".git")
      .map((item) => [
        join(item.parentPath, item.name),
        item.isFile()
          ? readFileSync(join(item.parentPath, item.name), "latin1")
          : item.isSymbolicLink()
            ? "link"
            : "folder",
      ])
      .sort(),
  ),
  status: git("status", "--porcelain"),
  refs: git("for-each-ref", "--format=%(refname)"),
  worktrees: git("worktree", "list").split("\n").length,
  config: readFileSync(join(root, ".git/config"), "utf8"),
  staged: git("diff", "--cached", "--name-only"),
});

const everyClient = "claude,codex,cursor,vscode,gemini,opencode,qwen,copilot";

/** What people and agents do in a workspace: entries, a run of the crew with its files and branches, a client for all projects. */
async function work({ root, env, run }: ReturnType<typeof place>): Promise<void> {
  expect((await scribe(["append-log", "--id", "decisions", "--line", "chose SQLite"], { cwd: root, env })).code).toBe(
    0,
  );
  const text = { cwd: root, env, input: "# Status\n\nHalf done.\n" };
  expect((await scribe(["commit-entry", "--id", "status", "--version", "1"], text)).code).toBe(0);
  expect((await run("connect", "codex", "gemini", "--scope", "user", "--yes")).code).toBe(0);
  appendFileSync(join(root, "scriptorium.yaml"), "crew: {sandbox: none}\n");
  gitIn(root)("commit", "-qm", "Run without a sandbox", "scriptorium.yaml");
  const app = await openApp(unwrap(loadConfig(root, { ...testEnvironment(), ...env })));
  try {
    const id = await newRun(app, [planned("0"), planned("1.1")]);
    await executed(app, id, playing({ worker: writes(), qc: passes }));
    gitIn(root)("merge", "-q", "--no-edit", `scriptorium/${id}/accepted`);
    expect(readdirSync(join(root, "runs"))).toEqual([id]);
    expect(existsSync(join(root, "generated-agents"))).toBe(true);
  } finally {
    await app.close();
  }
}

describe("P16: scriptorium remove", () => {
  test("restores every byte of the repository and the home folder; only commits stay", async () => {
    const made = place();
    const { root, home, git, run } = made;
    put(home, { ".codex/config.toml": 'model = "o5"\n' });
    const before = stateOf(root, git);
    expect((await run("init", "--yes", "--skills", "--connect", everyClient)).code).toBe(0);
    await work(made);
    expect(git("for-each-ref", "refs/heads/scriptorium")).not.toBe("");

    const removed = await run("remove", "--yes", "--json");
    expect(removed).toMatchObject({ code: 0, stderr: "" });
    expect(removed.json()).toMatchObject({
      refs: ["refs/scriptorium/history"],
      deleted: expect.arrayContaining(["scriptorium.yaml", "wiki/status.md", ".scriptorium/", ".gemini/settings.json"]),
      changed: expect.arrayContaining(["AGENTS.md", ".gitignore", ".mcp.json", "~/.codex/config.toml"]),
      left: expect.arrayContaining(["sources/ (1 file, your sources)"]),
    });
    // The work of the run is the person's: they merged it.
    rmSync(join(root, "out"), { recursive: true });
    git("commit", "-qam", "Remove the work of the run");
    expect(stateOf(root, git)).toEqual(before);
    expect(git("diff", "HEAD", git("log", "--format=%H", "--grep", "^Begin$"))).toBe("");
    expect(git("log", "--format=%s", "-2")).toContain("Remove Scriptorium");
    expect(readFileSync(join(home, ".codex/config.toml"), "utf8")).toBe('model = "o5"\n');
    // Compiled code belongs to the installation, not to the workspace.
    const left = readdirSync(home, { recursive: true, encoding: "utf8" }).filter((path) => !path.startsWith(".cache"));
    expect(left.sort()).toEqual([".codex", ".codex/config.toml"]);
  });

  test("takes our lines out of files that people edited since, and out of a clone without a record", async () => {
    const { root, git, run } = place();
    await run("init", "--yes", "--connect", everyClient);
    for (const path of [".mcp.json", ".codex/config.toml", ".gemini/settings.json"]) git("add", path);
    appendFileSync(join(root, "AGENTS.md"), "\n## More rules\n");
    appendFileSync(join(root, ".gitignore"), "dist/\n");
    writeFileSync(
      join(root, ".mcp.json"),
      readFileSync(join(root, ".mcp.json"), "utf8").replace('"a":', '"b":{},"a":'),
    );
    git("commit", "-qam", "Edit");
    const clone = join(temporaryFolder(), "clone");
    git("clone", "-q", root, clone);
    gitIn(clone)("config", "user.name", "Bob");
    gitIn(clone)("config", "user.email", "bob@example.org");
    for (const folder of [root, clone]) {
      const removed = await scriptorium(["remove", "--yes"], { cwd: folder, env: { HOME: temporaryFolder() } });
      expect(removed).toMatchObject({ code: 0, stderr: "" });
      const text = (path: string) => readFileSync(join(folder, path), "utf8");
      expect(text("AGENTS.md")).toBe("# Rules\nBe kind.\n\n## More rules\n");
      expect(text(".gitignore")).toBe("node_modules/\ndist/\n");
      expect(JSON.parse(text(".mcp.json"))).toEqual({ mcpServers: { b: {}, a: { command: "x" } } });
      expect(text(".codex/config.toml").trimEnd()).toBe(theirFiles[".codex/config.toml"]);
      for (const gone of ["scriptorium.yaml", "wiki", ".scriptorium", ".gemini"])
        expect(existsSync(join(folder, gone))).toBe(false);
      expect(gitIn(folder)("status", "--porcelain")).toBe("");
    }
  });

  test("without a commit at init, it leaves the repository exactly as it was, without a commit of its own", async () => {
    const { root, git, run } = place();
    const [before, head] = [stateOf(root, git), git("rev-parse", "HEAD")];
    await run("init", "--connect", "cursor");
    expect((await run("remove", "--yes")).stdout).toMatch(/\nRemoved\.\n$/);
    expect(stateOf(root, git)).toEqual(before);
    expect(git("rev-parse", "HEAD")).toBe(head);
  });

  test("--dry-run lists everything and changes nothing; without a terminal it needs --yes", async () => {
    const { root, git, run } = place();
    await run("init", "--yes", "--connect", "claude");
    const before = stateOf(root, git);
    const listed = await run("remove", "--dry-run");
    for (const line of ["- scriptorium.yaml", "- .scriptorium/", "~ AGENTS.md", "- refs/scriptorium/history"])
      expect(listed.stdout).toContain(line);
    expect(await run("remove")).toMatchObject({ code: 1, stderr: expect.stringContaining("pass --yes to remove") });
    expect(stateOf(root, git)).toEqual(before);
  });

  test("--keep-wiki keeps the pages and their schema", async () => {
    const { root, git, run } = place();
    await run("init", "--yes");
    expect((await run("remove", "--keep-wiki", "--yes")).code).toBe(0);
    expect(existsSync(join(root, "wiki/schema.yaml"))).toBe(true);
    expect(existsSync(join(root, "wiki/status.md"))).toBe(true);
    expect(existsSync(join(root, "scriptorium.yaml"))).toBe(false);
    expect(git("status", "--porcelain")).toBe("");
  });

  test("--no-commit leaves the deletions for the person to commit, and says so", async () => {
    const { git, run } = place();
    await run("init", "--yes");
    const removed = await run("remove", "--no-commit", "--yes");
    expect(removed.stdout).toContain("The deletions are not committed (--no-commit): ");
    expect(git("status", "--porcelain")).toContain(" D scriptorium.yaml");
    expect(git("log", "-1", "--format=%s")).toBe("Add Scriptorium");
  });

  test("refuses to lose a page that was edited and not committed, unless --force", async () => {
    const { root, run } = place();
    await run("init", "--yes");
    writeFileSync(join(root, "wiki/status.md"), "# Mine, not committed\n");
    const refused = await run("remove", "--yes");
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("wiki/status.md has changes that are not committed"),
    });
    expect(existsSync(join(root, "scriptorium.yaml"))).toBe(true);
    expect((await run("remove", "--yes", "--force")).code).toBe(0);
    expect(existsSync(join(root, "wiki"))).toBe(false);
  });

  test("refuses to delete a branch with accepted work that is not merged", async () => {
    const { root, git, run } = place();
    await run("init", "--yes");
    git("branch", "scriptorium/run-1abc/accepted");
    git("branch", "scriptorium/run-1abc/task-1/attempt-1-1");
    git("branch", "scriptorium/mine");
    git("commit", "-q", "--allow-empty", "-m", "More");
    expect((await run("remove", "--dry-run", "--json")).json()).toMatchObject({ losses: [] });
    const tree = git("rev-parse", "HEAD^{tree}");
    const other = git("commit-tree", tree, "-p", "HEAD", "-m", "Accepted");
    git("update-ref", "refs/heads/scriptorium/run-1abc/accepted", other);
    const refused = await run("remove", "--yes");
    expect(refused.stderr).toContain("the branch scriptorium/run-1abc/accepted has accepted work that is not merged");
    expect((await run("remove", "--yes", "--force")).code).toBe(0);
    expect(git("branch", "--format=%(refname:short)")).toBe("scriptorium/mine\ntrunk");
    expect(existsSync(join(root, ".scriptorium"))).toBe(false);
  });

  test("leaves the person's own files alone: pages that were there before, and others in the same folders", async () => {
    const { root, git, run } = place({ "wiki/status.md": "# My own status\n", "wiki/notes.md": "theirs\n" });
    const before = stateOf(root, git);
    await run("init", "--yes");
    put(root, { "runs/mine.txt": "theirs\n", "generated-agents/mine.md": "theirs\n" });
    const removed = await run("remove", "--yes", "--json");
    expect(removed.json<{ left: string[] }>().left).toContain("wiki/ (2 files, not created by Scriptorium)");
    for (const path of ["runs/mine.txt", "generated-agents/mine.md"]) expect(existsSync(join(root, path))).toBe(true);
    for (const folder of ["runs", "generated-agents"]) rmSync(join(root, folder), { recursive: true });
    expect(stateOf(root, git)).toEqual(before);
  });

  test("passes over files that it cannot read and that do not mention it, and names the line of one that does", async () => {
    const { root, run } = place();
    await run("init", "--connect", "gemini");
    put(root, { ".cursor/mcp.json": "{ broken", ".qwen/settings.json": "// mine\n{}\n" });
    const settings = readFileSync(join(root, ".gemini/settings.json"), "utf8");
    writeFileSync(join(root, ".gemini/settings.json"), settings.slice(0, -4));
    expect((await run("remove", "--yes")).stderr).toMatch(
      /^scriptorium: \.gemini\/settings\.json:\d+:\d+: close brace expected/,
    );
    expect(existsSync(join(root, "scriptorium.yaml"))).toBe(true);
    writeFileSync(join(root, ".gemini/settings.json"), `// mine\n${settings}`);
    expect((await run("remove", "--yes")).code).toBe(0);
    expect(readFileSync(join(root, ".gemini/settings.json"), "utf8")).toMatch(/^\/\/ mine\n\{\s*\}\n$/);
  });

  test("follows no link out of the workspace", async () => {
    const { root, run } = place();
    await run("init", "--yes");
    const outside = temporaryFolder();
    put(outside, { "status.md": "theirs\n", "run-1abc/x.md": "theirs\n" });
    rmSync(join(root, "wiki"), { recursive: true });
    symlinkSync(outside, join(root, "wiki"));
    symlinkSync(outside, join(root, "runs"));
    expect((await run("remove", "--yes", "--force")).code).toBe(0);
    expect(readdirSync(outside).sort()).toEqual(["run-1abc", "status.md"]);
  });

  test("a record that a repository brings along cannot change the home folder", async () => {
    const { root, home, run } = place();
    await run("init", "--yes");
    const mine = "alias ll='ls -l'\n";
    put(home, { ".bashrc": mine, ".gemini/settings.json": '{"theme":"dark"}' });
    const { createHash } = await import("node:crypto");
    const hash = (text: string) => createHash("sha256").update(text).digest("hex");
    const edits = [
      { file: join(home, ".bashrc"), hash: hash(mine), madeFolders: [] },
      {
        file: join(home, ".gemini/settings.json"),
        hash: hash('{"theme":"dark"}'),
        madeFolders: [join(home, ".gemini")],
      },
    ];
    writeFileSync(join(root, ".scriptorium/setup.json"), JSON.stringify({ edits, kept: [] }));
    expect((await run("remove", "--yes", "--force")).code).toBe(0);
    expect(readFileSync(join(home, ".bashrc"), "utf8")).toBe(mine);
    expect(readFileSync(join(home, ".gemini/settings.json"), "utf8")).toBe('{"theme":"dark"}');
  });

  test(
    "refuses while a server runs, and names its process",
    skippedFor(process.platform === "linux" ? undefined : "only Linux tells which processes have a file open"),
    async () => {
      const { root, env, run } = place();
      await run("init", "--yes");
      const served = await serveProcess(root, env);
      const refused = await run("remove", "--yes");
      expect(refused).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(new RegExp(`in use by process ${served.child.pid} \\(.*serve`)),
      });
      expect(existsSync(join(root, "scriptorium.yaml"))).toBe(true);
      await served.stop();
      expect((await run("remove", "--yes")).code).toBe(0);
    },
  );

  test("says that a PostgreSQL database stays and how to remove it, without its password", async () => {
    const { root, git, run } = place();
    const url = new URL(await freshDatabase());
    await run("init", "--yes");
    appendFileSync(join(root, "scriptorium.yaml"), `database: ${url}\n`);
    git("commit", "-qam", "Use PostgreSQL");
    const removed = await run("remove", "--yes");
    expect(removed.stdout).toContain(
      `the PostgreSQL database ${url.pathname.slice(1)} on ${url.host}; to remove it: dropdb`,
    );
    if (url.password) expect(removed.stdout).not.toContain(url.password);
  });

  test(
    "asks at a terminal for the word remove",
    skippedFor(process.platform === "linux" ? undefined : "needs `script` of util-linux"),
    async () => {
      const { root, env, run } = place();
      await run("init", "--yes");
      const refused = atTerminal(["remove"], { cwd: root, env });
      await refused.answer("- scriptorium.yaml");
      await refused.answer("Type remove to confirm", "y", keys.enter);
      expect(await refused.end()).toMatchObject({ code: 1, screen: expect.stringContaining("nothing was removed") });
      expect(existsSync(join(root, "scriptorium.yaml"))).toBe(true);
      const removed = atTerminal(["remove"], { cwd: root, env });
      await removed.answer("Type remove to confirm", ..."remove", keys.enter);
      expect(await removed.end()).toMatchObject({ code: 0 });
      expect(existsSync(join(root, "scriptorium.yaml"))).toBe(false);
    },
  );
});
