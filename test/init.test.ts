import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { allOperations } from "../src/operation-list.ts";
import { parseSchema } from "../src/wiki/schema.ts";
import { scribe, scriptorium, start } from "./support/commands.ts";
import { gitIn, read, temporaryFolder } from "./support/workspace.ts";

type Git = ReturnType<typeof gitIn>;

const ignored = "# Scriptorium: database, files of runs\n.scriptorium/\n/runs/run-*/\n/generated-agents/\n";

type Made = {
  repository: string;
  branch: string;
  created: string[];
  changed: string[];
  kept: string[];
  committed: { commit: string; files: string[] } | null;
  uncommitted: { file: string; reason: string }[];
  clients: { client: string; file: string }[];
  proof?: { ok: boolean };
};

/** A repository with one commit, and a home and PATH without any agent client. */
function repository() {
  const cwd = temporaryFolder();
  const home = temporaryFolder();
  const git = gitIn(cwd);
  git("init", "-q", "-b", "trunk");
  git("config", "user.name", "Ada");
  git("config", "user.email", "ada@example.org");
  writeFileSync(join(cwd, "README.md"), "mine\n");
  git("add", "-A");
  git("commit", "-qm", "Begin");
  const env = { HOME: home, PATH: "/usr/bin:/bin" };
  const init = (...args: string[]) => scriptorium(["init", ...args], { cwd, env });
  return { cwd, home, env, git, init };
}

/** Everything that init could have left: files, folders, refs and what git thinks of them. */
const stateOf = (cwd: string) => ({
  files: readdirSync(cwd, { recursive: true, withFileTypes: true })
    .filter((item) => !item.parentPath.startsWith(join(cwd, ".git")))
    .map((item) => join(item.parentPath, item.name))
    .sort(),
  status: existsSync(join(cwd, ".git")) ? gitIn(cwd)("status", "--porcelain") : "",
  refs: existsSync(join(cwd, ".git")) ? gitIn(cwd)("for-each-ref") : "",
});

test.each(["solo", "crew", "research"])(
  "K15: init makes a workspace of the template %s that is ready to use",
  async (template) => {
    const cwd = join(temporaryFolder(), "new");
    mkdirSync(cwd);
    const made = await scriptorium(["init", ".", "--template", template, "--json"], { cwd });
    expect(made).toMatchObject({ code: 0, stderr: "" });
    const { created, repository, committed } = made.json<Made>();
    expect(repository).toBe("new");
    const schema = parseSchema(read(join(cwd, "wiki/schema.yaml")), "wiki/schema.yaml");
    if (!schema.ok) throw new Error(schema.problem.message);
    for (const { id, title } of schema.value.sections) {
      expect(created).toContain(`wiki/${id}.md`);
      expect(read(join(cwd, `wiki/${id}.md`))).toBe(`---\ntitle: ${JSON.stringify(title)}\n---\n`);
    }
    expect(read(join(cwd, ".gitignore"))).toBe(ignored);
    expect(committed?.files).toEqual(created);
    expect(gitIn(cwd)("status", "--porcelain")).toBe("");
    const listed = await scriptorium(["entry", "list", "--json"], { cwd });
    expect(
      listed.json<{ version: number; wordCount: number }[]>().every((e) => e.version === 1 && e.wordCount === 0),
    ).toBe(true);
    expect((await scriptorium(["doctor"], { cwd })).code).toBe(0);
  },
);

test("K15: in an existing repository nothing of the user's is overwritten or committed", async () => {
  const cwd = temporaryFolder();
  const git = gitIn(cwd);
  git("init", "-q", "-b", "trunk");
  writeFileSync(join(cwd, ".gitignore"), "node_modules/");
  mkdirSync(join(cwd, "wiki"));
  writeFileSync(join(cwd, "wiki/vision.md"), "# My own vision\n");
  writeFileSync(join(cwd, "README.md"), "mine\n");
  const made = await scriptorium(["init", "--template", "crew", "--json"], { cwd });
  expect(made.json()).toMatchObject({ repository: "existing", kept: ["wiki/vision.md"] });
  expect(read(join(cwd, "wiki/vision.md"))).toBe("# My own vision\n");
  expect(read(join(cwd, ".gitignore"))).toBe(`node_modules/\n\n${ignored}`);
  expect(git("branch", "--list")).toBe("");
  expect((await scriptorium(["entry", "read", "vision"], { cwd })).stdout).toBe("# My own vision\n");
});

test("P14, P16: without --yes init says that it committed nothing, how to commit, and where agents' writes go", async () => {
  const { git, init } = repository();
  const made = await init();
  expect(made.code).toBe(0);
  expect(made.stdout).toContain("Nothing was committed: in an existing repository init commits only when you agree");
  expect(made.stdout).toMatch(/\n {2}git add scriptorium\.yaml wiki\/schema\.yaml .*\.gitignore\n {2}git commit -m/);
  expect(made.stdout).toContain("Agents' writes become commits on the branch that is checked out, now trunk.");
  expect(made.stdout).toContain(".gitignore: .scriptorium/, /runs/run-*/, /generated-agents/");
  expect(git("log", "--format=%s")).toBe("Begin");
});

test("P16: with --yes init commits its own files, and nothing that the person has changed or staged", async () => {
  const { cwd, git, init } = repository();
  writeFileSync(join(cwd, "staged.txt"), "staged\n");
  git("add", "staged.txt");
  writeFileSync(join(cwd, "README.md"), "mine, changed\n");
  writeFileSync(join(cwd, "AGENTS.md"), "# Not committed yet\n");
  const made = (await init("--yes", "--json")).json<Made>();
  expect(made).toMatchObject({ repository: "existing", branch: "trunk", changed: ["AGENTS.md"] });
  expect(made.uncommitted).toEqual([{ file: "AGENTS.md", reason: "it has uncommitted changes of yours" }]);
  expect(git("show", "--name-only", "--format=%s %an", "HEAD").split("\n").sort()).toEqual(
    ["Add Scriptorium Ada", "", ...made.created].sort(),
  );
  expect(git("status", "--porcelain")).toBe("M README.md\nA  staged.txt\n?? AGENTS.md");
  expect(git("diff", "--cached", "--name-only")).toBe("staged.txt");
  const after = await scribe(["append-log", "--id", "decisions", "--line", "chose SQLite"], { cwd });
  expect(after.code).toBe(0);
  expect(git("show", "--name-only", "--format=%an", "HEAD")).toBe("agent\n\nwiki/decisions.md");
});

test.each([
  ["HEAD is detached", (git: Git) => git("checkout", "-q", "--detach")],
  [
    "a merge is in progress",
    (_git: Git, cwd: string) => cpSync(join(cwd, ".git/refs/heads/trunk"), join(cwd, ".git/MERGE_HEAD")),
  ],
])("P16: while %s init writes, commits nothing and says why", async (reason, prepare) => {
  const { cwd, git, init } = repository();
  prepare(git, cwd);
  const made = await init("--yes");
  expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining(`Nothing was committed: ${reason}`) });
  expect(git("log", "--format=%s")).toBe("Begin");
});

test("P16: files that git ignores are written and named, not committed", async () => {
  const { cwd, git, init } = repository();
  writeFileSync(join(cwd, ".gitignore"), "wiki/\n");
  git("add", ".gitignore");
  git("commit", "-qm", "Ignore the wiki");
  const made = await init("--yes");
  expect(made.stdout).toContain("Not committed: wiki/overview.md (git ignores it).");
  expect(git("show", "--name-only", "--format=", "HEAD")).not.toContain("wiki/");
});

test("K15: init twice changes nothing, and says what it left alone", async () => {
  const { cwd, git, init } = repository();
  await init("--yes", "--connect", "claude,gemini");
  const [before, head] = [stateOf(cwd).files, git("rev-parse", "HEAD")];
  const again = (await init("--yes", "--connect", "claude,gemini", "--json")).json<Made>();
  expect(again).toMatchObject({ created: [], changed: [], committed: null, uncommitted: [], proof: { ok: true } });
  expect(stateOf(cwd).files).toEqual(before);
  expect(git("rev-parse", "HEAD")).toBe(head);
});

test("K15: init in a workspace with other folders fills those", async () => {
  const { cwd, init } = repository();
  writeFileSync(join(cwd, "scriptorium.yaml"), "name: Mine\nwiki: docs/notes\nsources: raw\n");
  const made = (await init("--json")).json<Made>();
  expect(made.created).toEqual(
    expect.arrayContaining(["docs/notes/schema.yaml", "docs/notes/overview.md", "raw/.gitkeep"]),
  );
  expect(existsSync(join(cwd, "wiki"))).toBe(false);
  expect(read(join(cwd, "docs/notes/schema.yaml"))).toMatch(
    /^# yaml-language-server: \$schema=\.\.\/\.\.\/\.scriptorium\//,
  );
});

test("P17: an unknown template is answered with the nearest; outside a workspace commands say how to make one", async () => {
  const cwd = temporaryFolder();
  expect(await scriptorium(["init", "--template", "sole"], { cwd })).toMatchObject({
    code: 1,
    stderr: "scriptorium: template sole does not exist; did you mean solo?\n",
  });
  expect(readdirSync(cwd)).toEqual([]);
  const lost = await scriptorium(["entry", "list"], { cwd });
  expect(lost.code).toBe(1);
  expect(lost.stderr).toContain("Create a workspace with: scriptorium init");
});

test("P17: inside another workspace init is refused, unless --nested asks for it", async () => {
  const { cwd, init } = repository();
  await init();
  const refused = await init("inner");
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`is inside the workspace ${cwd}; work there`),
  });
  expect(existsSync(join(cwd, "inner"))).toBe(false);
  expect((await init("inner", "--nested")).code).toBe(0);
  expect(existsSync(join(cwd, "inner/scriptorium.yaml"))).toBe(true);
});

describe("P3: instructions for agents", () => {
  test("the block goes to AGENTS.md, and to CLAUDE.md where Claude Code is connected; the person's text stays", async () => {
    const { cwd, init } = repository();
    writeFileSync(join(cwd, "CLAUDE.md"), "# Rules\nBe kind.");
    await init("--yes", "--connect", "claude");
    expect(read(join(cwd, "CLAUDE.md"))).toMatch(
      /^# Rules\nBe kind\.\n\n<!-- scriptorium:begin -->\n[\s\S]*<!-- scriptorium:end -->\n$/,
    );
    const block = read(join(cwd, "AGENTS.md"));
    expect(block.split("\n").filter((line) => line !== "").length).toBeLessThanOrEqual(11);
    const tools = new Set(allOperations.map(({ name }) => name));
    const named = [...block.matchAll(/`(\w+)`/g)].map(([, word]) => word ?? "");
    const words = ["scriptorium", "decisions", "status", "conflict", "scribe"];
    expect(named.filter((word) => !tools.has(word) && !words.includes(word))).toEqual([]);
  });

  test.each([
    ["imports it", (cwd: string) => writeFileSync(join(cwd, "CLAUDE.md"), "# Rules\n\n@AGENTS.md\n")],
    ["is a link to it", (cwd: string) => symlinkSync("AGENTS.md", join(cwd, "CLAUDE.md"))],
  ])("CLAUDE.md is left alone when it %s", async (_how, prepare) => {
    const { cwd, init } = repository();
    writeFileSync(join(cwd, "AGENTS.md"), "# Mine\n");
    prepare(cwd);
    const made = (await init("--yes", "--connect", "claude", "--json")).json<Made>();
    expect(made.changed).toEqual(["AGENTS.md"]);
    expect(read(join(cwd, "AGENTS.md")).match(/scriptorium:begin/g)).toHaveLength(1);
  });

  test("a template with a pipeline names the handoff, and --no-instructions writes none", async () => {
    const { cwd, init } = repository();
    await init("--yes", "--template", "crew", "--no-instructions");
    expect(existsSync(join(cwd, "AGENTS.md"))).toBe(false);
    await init("--yes");
    expect(read(join(cwd, "AGENTS.md"))).toContain("`transfer_focus`");
  });

  test("a block without its end is refused with the file, and nothing is written", async () => {
    const { cwd, init } = repository();
    writeFileSync(join(cwd, "AGENTS.md"), "<!-- scriptorium:begin -->\n");
    const before = stateOf(cwd);
    expect(await init("--yes")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("AGENTS.md has <!-- scriptorium:begin --> without"),
    });
    expect(stateOf(cwd)).toEqual(before);
  });
});

test("P3: --yes connects the clients that are installed, and --connect exactly those that it names", async () => {
  const { cwd, home, env } = repository();
  mkdirSync(join(home, "bin"));
  writeFileSync(join(home, "bin/gemini"), "#!/bin/sh\necho 1.2.3\n");
  chmodSync(join(home, "bin/gemini"), 0o755);
  const withGemini = { cwd, env: { ...env, PATH: `${join(home, "bin")}:${env.PATH}` } };
  const made = (await scriptorium(["init", "--yes", "--json"], withGemini)).json<Made>();
  expect(made).toMatchObject({ clients: [{ client: "gemini", file: ".gemini/settings.json" }], proof: { ok: true } });
  // Started from a clone, the entry names a path of this machine.
  expect(made.uncommitted).toMatchObject([{ file: ".gemini/settings.json" }]);
  const none = await scriptorium(["init", "--yes", "--connect", "none", "--json"], withGemini);
  expect(none.json<Made>().clients).toEqual([]);
  expect((await scriptorium(["init", "--connect", "codx"], withGemini)).stderr).toContain("did you mean codex?");
});

describe("P11, P16: an init that does not come to its end leaves the folder as it was", () => {
  test("when the database cannot be opened", async () => {
    const { cwd, env } = repository();
    writeFileSync(join(cwd, ".gitignore"), "x\n");
    const before = stateOf(cwd);
    const url = { SCRIPTORIUM_DATABASE_URL: "postgres://127.0.0.1:1/none" };
    const made = await scriptorium(["init", "--yes", "--connect", "claude,codex"], { cwd, env: { ...env, ...url } });
    expect(made).toMatchObject({ code: 1, stderr: expect.stringContaining("init failed and left nothing behind") });
    expect(stateOf(cwd)).toEqual(before);
    expect(read(join(cwd, ".gitignore"))).toBe("x\n");
  });

  test("in a folder that did not exist and had no repository", async () => {
    const parent = temporaryFolder();
    const env = { SCRIPTORIUM_DATABASE_URL: "postgres://127.0.0.1:1/none" };
    expect((await scriptorium(["init", "a/b/c", "--yes"], { cwd: parent, env })).code).toBe(1);
    expect(readdirSync(parent)).toEqual([]);
  });

  test("when git cannot commit", async () => {
    const { cwd, git, init } = repository();
    writeFileSync(join(cwd, ".git/refs/heads/trunk.lock"), "");
    const before = stateOf(cwd);
    expect(await init("--yes")).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/git could not commit .*nothing was left behind/s),
    });
    expect(stateOf(cwd)).toEqual(before);
    expect(git("diff", "--cached", "--name-only")).toBe("");
  });

  test.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)("when %s comes in the middle", async (signal) => {
    const { cwd, home, env } = repository();
    const before = stateOf(cwd);
    const slow = slowGit(home);
    const child = start("scriptorium.js", ["init", "--yes", "--connect", "claude"], cwd, {
      ...env,
      PATH: `${slow.bin}:${env.PATH}`,
    });
    await expect.poll(slow.reached, { timeout: 20_000 }).toBe(true);
    expect(existsSync(join(cwd, "wiki/schema.yaml"))).toBe(true);
    child.kill(signal);
    slow.release();
    expect(await new Promise((done) => child.on("close", done))).toBe(1);
    expect(stateOf(cwd)).toEqual(before);
  });

  test("and after a kill that nothing can catch, init again completes the workspace", async () => {
    const { cwd, home, env, init } = repository();
    const slow = slowGit(home);
    const child = start("scriptorium.js", ["init", "--yes"], cwd, { ...env, PATH: `${slow.bin}:${env.PATH}` });
    await expect.poll(slow.reached, { timeout: 20_000 }).toBe(true);
    child.kill("SIGKILL");
    slow.release();
    await new Promise((done) => child.on("close", done));
    expect((await init("--yes")).code).toBe(0);
    expect((await scriptorium(["doctor"], { cwd, env })).code).toBe(0);
  });
});

/** A git on PATH that stops before it records the first versions, until it is released. */
function slowGit(home: string) {
  const bin = join(home, "slow");
  mkdirSync(bin);
  const real = execFileSync("sh", ["-c", "command -v git"], { encoding: "utf8" }).trim();
  const wait = `touch ${bin}/reached; while [ ! -e ${bin}/go ]; do sleep 0.05; done`;
  writeFileSync(join(bin, "git"), `#!/bin/sh\ncase "$*" in *fast-import*) ${wait};; esac\nexec ${real} "$@"\n`);
  chmodSync(join(bin, "git"), 0o755);
  return { bin, reached: () => existsSync(join(bin, "reached")), release: () => writeFileSync(join(bin, "go"), "") };
}

test("K12: editors can complete schema.yaml and scriptorium.yaml by the JSON Schemas beside them", async () => {
  const cwd = temporaryFolder();
  await scriptorium(["init"], { cwd });
  const schema = JSON.parse(read(join(cwd, ".scriptorium/schemas/schema.json")));
  expect(schema.properties.schema.properties.sections.items.required).toEqual([
    "id",
    "title",
    "mode",
    "writable_by",
    "description",
  ]);
  expect(read(join(cwd, "wiki/schema.yaml"))).toMatch(
    /^# yaml-language-server: \$schema=\.\.\/\.scriptorium\/schemas\/schema\.json\n/,
  );
  expect(read(join(cwd, "scriptorium.yaml"))).toMatch(/^# yaml-language-server: \$schema=/);
});

test.each([
  ["name: [1]\n", "scriptorium.yaml:1:1: name: expected text, not [1]"],
  ["store: cloud\n", "scriptorium.yaml:1:1: store: expected files, database, or the path of a module"],
  ["database: mysql://x\n", "scriptorium.yaml:1:1: database: expected sqlite, or a PostgreSQL URL"],
  ["a: 1\nb:\n\t- 2\n", "scriptorium.yaml:"],
  ["wiki: ../up\n", "scriptorium.yaml:1:1: wiki: expected a folder inside the workspace"],
  ["colour: red\n", "scriptorium.yaml:1:1: unknown key colour; expected name, "],
])("a bad scriptorium.yaml (%j) is one clear sentence with its place", async (text, message) => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, "scriptorium.yaml"), text);
  const ran = await scriptorium(["status"], { cwd });
  expect(ran.code).toBe(1);
  expect(ran.stderr).toContain(`scriptorium: ${message}`);
  expect(ran.stderr).not.toContain("    at ");
});
