import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { requestFrom, requestTemplates } from "../src/crew/plan/request-templates.ts";
import { whySteering } from "../src/kernel/steering-files.ts";
import { scriptorium } from "./support/commands.ts";
import { planned } from "./support/crew.ts";
import { crewOfOneModel } from "./support/crew-mind.ts";
import { newWorkspace, temporaryFolder } from "./support/workspace.ts";

function folderWith(files: Record<string, string>): string {
  const root = temporaryFolder();
  mkdirSync(join(root, "runs/templates"), { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(root, "runs/templates", name), text);
  return root;
}

const release = "---\ntitle: Release\nparameters:\n  - { name: version }\n---\nRelease {{version}}.\n";

test("U6: every bundled template is valid, and its required values alone make a request without gaps", () => {
  const { templates, problems } = requestTemplates(temporaryFolder());
  expect(problems).toEqual([]);
  expect(templates.map(({ name }) => name)).toEqual([
    ...["bug-fix", "dependency-upgrade", "docs", "feature", "refactor", "research"],
  ]);
  for (const { name, parameters, description } of templates) {
    const needed = parameters.filter(({ optional }) => !optional);
    const values = Object.fromEntries(needed.map((one) => [one.name, `<${one.name}>`]));
    const made = requestFrom(temporaryFolder(), { template: name, values, request: undefined });
    expect(made).toMatchObject({ ok: true, value: expect.stringContaining(`<${needed[0]?.name}>`) });
    expect(made.ok && made.value).not.toMatch(/\{\{|: +$|done when/m);
    expect(description).not.toBe("");
  }
});

test("U6: a workspace has templates of its own, which replace bundled ones of the same name", () => {
  const root = folderWith({ "release.md": release, "docs.md": release, "Not A Name.md": release, "notes.txt": "x" });
  const { templates, problems } = requestTemplates(root);
  expect(problems).toEqual([]);
  expect(templates.map(({ name, file }) => [name, file]).slice(0, 3)).toEqual([
    ["docs", "runs/templates/docs.md"],
    ["release", "runs/templates/release.md"],
    ["bug-fix", null],
  ]);
  expect(templates).toHaveLength(7);
  expect(requestFrom(root, { template: "release", values: {}, request: "2.0" })).toEqual({
    ok: true,
    value: "Release 2.0.",
  });
});

test("U6: an invalid template is left out with the file and the line, and a link is not followed", () => {
  const root = folderWith({
    "no-head.md": "Release.\n",
    "typo.md": "---\ntitle: Release\nparameter: []\n---\nRelease.\n",
    "unknown.md": "---\ntitle: Release\n---\nRelease {{version}}.\n",
    "unused.md": "---\ntitle: Release\nparameters: [{ name: version }]\n---\nRelease.\n",
    "empty.md": "---\ntitle: Release\n---\n\n",
  });
  writeFileSync(join(root, "secret.md"), release);
  symlinkSync(join(root, "secret.md"), join(root, "runs/templates/secret.md"));
  const { templates, problems } = requestTemplates(root);
  expect(templates.every(({ file }) => file === null)).toBe(true);
  expect(problems).toEqual([
    'runs/templates/empty.md: the text of the request is missing after "---"',
    'runs/templates/no-head.md: expected title and parameters between two lines "---"',
    expect.stringMatching(/symbolic link/),
    expect.stringMatching(/^runs\/templates\/typo\.md:3:1: .*parameters/),
    "runs/templates/unknown.md: {{version}} is not in parameters",
    "runs/templates/unused.md: the parameter version must be in the list once and in the text",
  ]);
  expect(requestFrom(root, { template: "typo", values: {}, request: undefined })).toMatchObject({
    problem: { code: "invalid", message: expect.stringContaining("typo.md:3:1") },
  });
});

test("U6: a refused value names what exists", () => {
  const root = temporaryFolder();
  const ask = (template: string, values: Record<string, string>, request?: string) => {
    const made = requestFrom(root, { template, values, request });
    return made.ok ? made.value : made.problem.message;
  };
  expect(ask("bugfix", {})).toBe("template bugfix does not exist; did you mean bug-fix?");
  expect(ask("bug-fix", {})).toBe("template bug-fix needs bug (what goes wrong)");
  expect(ask("bug-fix", { bug: "x", were: "y" })).toBe("template bug-fix has no parameter were; did you mean where?");
  expect(ask("bug-fix", { bug: "x" }, "y")).toContain("already has its first value");
});

test("U6, T4: a template instructs agents, so a deliverable that changes one is held", () => {
  expect(whySteering("runs/templates/bug-fix.md")).toBe("instructs agents");
  expect(whySteering("runs/notes.md")).toBeUndefined();
});

test("U6: the command plans a request from a template and lists templates with their parameters", async () => {
  const { root, app } = await newWorkspace({ config: await crewOfOneModel([planned("0"), planned("1.1")]) });
  const how = { cwd: root, env: { FAKE_KEY: "sk-1" } };
  const listed = await scriptorium(["plan", "--templates"], how);
  expect(listed.stdout).toContain("bug-fix  Reproduce a bug with a failing test");
  expect(listed.stdout).toContain("  where  Where (optional)");
  const without = await scriptorium(["plan", "--template", "bug-fix"], how);
  expect(without).toMatchObject({ code: 1, stderr: expect.stringContaining("template bug-fix needs bug") });
  const args = ["plan", "--template", "bug-fix", "--set", "where=src/a=b.ts", "The", "login", "fails", "--json"];
  const { run } = (await scriptorium(args, how)).json<{ run: string }>();
  const { request } = (await app.runs.find(run)) ?? {};
  expect(request).toContain("Fix this bug:\n\nThe login fails\n\nIt is probably here: src/a=b.ts");
  expect(request).not.toContain("Do not change");
});
