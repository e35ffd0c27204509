import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseSchema } from "../src/wiki/schema.ts";
import { scriptorium } from "./support/commands.ts";
import { gitIn, read, temporaryFolder } from "./support/workspace.ts";

test.each(["solo", "crew", "research"])(
  "K15: init makes a workspace of the template %s that is ready to use",
  async (template) => {
    const cwd = join(temporaryFolder(), "new");
    mkdirSync(cwd);
    const made = await scriptorium(["init", ".", "--template", template, "--json"], { cwd });
    expect(made).toMatchObject({ code: 0, stderr: "" });
    const { created, repository } = made.json<{ created: string[]; repository: string }>();
    expect(repository).toBe("new");
    const schema = parseSchema(read(join(cwd, "wiki/schema.yaml")), "wiki/schema.yaml");
    if (!schema.ok) throw new Error(schema.problem.message);
    for (const { id, title } of schema.value.sections) {
      expect(created).toContain(`wiki/${id}.md`);
      expect(read(join(cwd, `wiki/${id}.md`))).toBe(`---\ntitle: ${JSON.stringify(title)}\n---\n`);
    }
    expect(read(join(cwd, ".gitignore"))).toBe(".scriptorium/\n");
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
  expect(read(join(cwd, ".gitignore"))).toBe("node_modules/\n.scriptorium/\n");
  expect(git("branch", "--list")).toBe("");
  expect((await scriptorium(["entry", "read", "vision"], { cwd })).stdout).toBe("# My own vision\n");
});

test("K15: init twice changes nothing, and says what it left alone", async () => {
  const cwd = temporaryFolder();
  await scriptorium(["init"], { cwd });
  const before = gitIn(cwd)("rev-parse", "HEAD");
  const again = await scriptorium(["init", "--json"], { cwd });
  expect(again.json<{ created: string[] }>().created).toEqual([]);
  expect(gitIn(cwd)("rev-parse", "HEAD")).toBe(before);
});

test("K15: an unknown template names those there are; outside a workspace commands say how to make one", async () => {
  const cwd = temporaryFolder();
  expect(await scriptorium(["init", "--template", "nope"], { cwd })).toMatchObject({
    code: 1,
    stderr: "scriptorium: template nope does not exist; expected crew, research or solo\n",
  });
  expect(existsSync(join(cwd, "scriptorium.yaml"))).toBe(false);
  const lost = await scriptorium(["entry", "list"], { cwd });
  expect(lost.code).toBe(1);
  expect(lost.stderr).toContain("make a workspace with: scriptorium init");
});

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
  ["store: cloud\n", "scriptorium.yaml:1:1: store: expected files or database"],
  ["database: mysql://x\n", "scriptorium.yaml:1:1: database: expected sqlite, or a PostgreSQL URL"],
  ["a: 1\nb:\n\t- 2\n", "scriptorium.yaml:"],
  ["wiki: ../up\n", "scriptorium.yaml:1:1: wiki: expected a folder inside the workspace"],
  ["colour: red\n", "scriptorium.yaml:1:1: unknown key colour; expected name, wiki, sources"],
])("a bad scriptorium.yaml (%j) is one clear sentence with its place", async (text, message) => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, "scriptorium.yaml"), text);
  const ran = await scriptorium(["status"], { cwd });
  expect(ran.code).toBe(1);
  expect(ran.stderr).toContain(`scriptorium: ${message}`);
  expect(ran.stderr).not.toContain("    at ");
});
