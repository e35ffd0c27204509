import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { App } from "../src/app.ts";
import { loadConfig } from "../src/config/config.ts";
import { refreshPerspective } from "../src/jobs/perspective-operations.ts";
import type { Caller } from "../src/kernel/caller.ts";
import { unwrap } from "../src/kernel/result.ts";
import { getPersona, listPersonas, putPerspective, showPerspective } from "../src/review/perspectives/operations.ts";
import { staleBecause } from "../src/review/perspectives/perspectives.ts";
import { scriptorium } from "./support/commands.ts";
import { agent, allEvents, backends, newWorkspace, person, testEnvironment } from "./support/workspace.ts";

const path = "docs/deploy.md";
const own = "personas:\n  - name: auditor\n    description: Wants proof of every step.\n";
const text = `---\ntitle: Deploy\n${own}---\n\nWe deploy on Fridays.\n`;
const config = `agent:\n  author_name: Larkspur Scribe\n  author_email: scribe@example.org
personas:
  - name: new colleague
    description: Started this week, knows git, knows nothing of us.
    guidance: Short.
  - name: auditor
    description: The workspace's own auditor.
`;

const workspace = (options: object = {}) => newWorkspace({ ...options, config, files: { [path]: text } });

const persona = async (app: App, name = "new colleague", page = path) =>
  unwrap(await getPersona.perform(app, { source_path: page, name }, agent("engineer")));

async function tell(app: App, words: string, changed: object = {}, page = path) {
  const { name, persona_sha, source_sha } = await persona(app, "new colleague", page);
  const told = { source_path: page, persona: name, persona_sha, source_sha, content: words, ...changed };
  return putPerspective.perform(app, told, { ...agent("engineer"), job: "j-1" } as Caller);
}

const show = (app: App, name = "new colleague", page = path) =>
  showPerspective.perform(app, { source_path: page, persona: name }, person("reader"));

describe.each(backends)("R5: perspectives, with entries in $store on $engine", (backend) => {
  test("R5: a page re-told is kept, and stale but readable once the page changes", async () => {
    const { app } = await workspace(backend);
    const page = "wiki/vision.md";
    const { version } = await app.entries.fetch("vision");
    unwrap(await app.knowledge(agent("planner")).commitEntry("vision", "# Far\n\nAhead.\n", version));
    expect(await show(app, "new colleague", page)).toMatchObject({ problem: { code: "not_found" } });
    expect(unwrap(await tell(app, "# Hello\n\nYou are new.\n", {}, page))).toEqual({ status: "success", stale: false });
    expect(unwrap(await show(app, "new colleague", page))).toMatchObject({
      content: "# Hello\n\nYou are new.\n",
      stale: false,
      because: [],
      job_id: "j-1",
    });
    const before = await persona(app, "new colleague", page);
    unwrap(await app.knowledge(agent("planner")).commitEntry("vision", "# Near\n\nBehind.\n", version + 1));
    expect(unwrap(await show(app, "new colleague", page))).toMatchObject({ stale: true, because: ["page"] });
    const late = await tell(app, "# Late\n", { source_sha: before.source_sha }, page);
    expect(unwrap(late), "the page moved while the agent wrote").toEqual({ status: "success", stale: true });
    unwrap(await tell(app, "# Anew\n", {}, page));
    expect(unwrap(await show(app, "new colleague", page))).toMatchObject({ content: "# Anew\n", stale: false });

    for (let i = 0; i < 6; i++) {
      const { version } = await app.entries.fetch("vision");
      unwrap(await app.knowledge(agent("planner")).commitEntry("vision", `# ${i}\n`, version));
      unwrap(await tell(app, `told ${i}\n`, {}, page));
    }
    const rows = await app.db.read.selectFrom("perspectives").select("text").orderBy("at").execute();
    expect(
      rows.map((row) => row.text),
      "a cache stays small",
    ).toEqual([1, 2, 3, 4, 5].map((i) => `told ${i}\n`));
    const event = (await allEvents(app)).find((e) => e.kind === "perspective-written");
    expect(event).toMatchObject({ subject: `page:${page}`, data: { persona_name: "new colleague", job_id: "j-1" } });
  });
});

describe("R5: personas", () => {
  test("R5: of the workspace and of the page, whose own come first", async () => {
    const { app } = await workspace();
    const { personas } = unwrap(await listPersonas.perform(app, { source_path: path }, person("reader")));
    expect(personas.map((p) => [p.name, p.from])).toEqual([
      ["auditor", "page"],
      ["new colleague", "workspace"],
    ]);
    expect(await persona(app, "auditor")).toMatchObject({ description: "Wants proof of every step." });
    const all = unwrap(await listPersonas.perform(app, {}, person("reader"))).personas;
    expect(all.map((p) => p.name)).toEqual(["new colleague", "auditor"]);
    expect(await getPersona.perform(app, { source_path: path, name: "king" }, agent("engineer"))).toMatchObject({
      problem: { code: "not_found", message: expect.stringContaining("expected auditor or new colleague") },
    });
  });

  test("R5: another word in a persona makes what was told for it stale, and a late text a conflict", async () => {
    const { app, open, root } = await workspace();
    unwrap(await tell(app, "# Hello\n"));
    const { persona_sha } = await persona(app);
    writeFileSync(join(root, "scriptorium.yaml"), `name: Test\n${config.replace("knows git", "knows nothing at all")}`);
    const later = await open();
    expect(unwrap(await show(later))).toMatchObject({ stale: true, because: ["persona"], content: "# Hello\n" });
    expect(await tell(later, "# Late\n", { persona_sha })).toMatchObject({ problem: { code: "conflict" } });
    const made = { sourceSha: "a", personaSha: "b", skillSha: "c" };
    expect(staleBecause(made, { sourceSha: "x", personaSha: "b", skillSha: "y" })).toEqual(["page", "skill"]);
  });

  test("a mistake in a definition is told with its line, and one page's mistake harms no other page", async () => {
    const { app, root } = await workspace();
    writeFileSync(join(root, path), text.replace("description:", "desription:"));
    expect(await show(app)).toMatchObject({
      problem: { code: "invalid", message: expect.stringMatching(/docs\/deploy\.md:\d+:\d+: .*personas/) },
    });
    expect(
      unwrap(await listPersonas.perform(app, { source_path: "wiki/vision.md" }, person("reader"))).personas,
    ).toHaveLength(2);
    for (const [wrong, said] of [
      [config.replace("new colleague", '"new\\ncolleague"'), /single line/],
      [config.replace("name: auditor", "name: new colleague"), /same name/],
    ] as const) {
      writeFileSync(join(root, "scriptorium.yaml"), wrong);
      const loaded = loadConfig(root, testEnvironment());
      expect(!loaded.ok && loaded.problem.message).toMatch(said);
    }
  });
});

test("R5: what is no perspective of a page is refused, and nothing is kept", async () => {
  const { app } = await workspace();
  const refused: [object, string, RegExp][] = [
    [{ source_sha: "0".repeat(40) }, "invalid", /is not a known version/],
    [{ persona: "king" }, "not_found", /no persona "king"/],
    [{ persona_sha: "x" }, "conflict", /the description of persona .* changed/],
    [{ source_path: "../deploy.md" }, "invalid", /not a valid page path/],
    [{ content: "  \n" }, "invalid", /empty/],
    [{ content: "a\0b" }, "invalid", /NUL/],
    [{ content: "a\ud800" }, "invalid", /UTF-8/],
  ];
  for (const [changed, code, said] of refused) {
    expect(await tell(app, "# Hello\n", changed), said.source).toMatchObject({
      problem: { code, message: expect.stringMatching(said) },
    });
  }
  expect(await show(app)).toMatchObject({ problem: { code: "not_found" } });
  for (const caller of [agent("engineer"), person("reader")]) {
    const asked = { source_path: path, persona: "new colleague" };
    expect(await refreshPerspective.perform(app, asked, caller)).toMatchObject({ problem: { code: "denied" } });
  }
});

test("R5: whoever asks for the same text at once gets the same job, and none when it is up to date", async () => {
  const { app, root } = await workspace();
  const refresh = (name = "new colleague", more: object = {}) =>
    refreshPerspective.perform(app, { source_path: path, persona: name, ...more }, person());
  const answers = (await Promise.all([refresh(), refresh(), refresh()])).map(unwrap);
  expect(new Set(answers.map((answer) => answer.job_id)).size).toBe(1);
  expect(answers.map((answer) => answer.status).sort()).toEqual(["running", "running", "started"]);
  expect(await refresh("auditor"), "one job in flight per page").toMatchObject({ problem: { code: "conflict" } });
  unwrap(await app.jobs.cancel(answers[0]?.job_id ?? "", "Ada Lovelace"));
  unwrap(await tell(app, "# Hello\n"));
  expect(unwrap(await refresh())).toEqual({ status: "fresh", job_id: null });
  expect(unwrap(await refresh("new colleague", { force: true }))).toMatchObject({ status: "started" });

  const shown = await scriptorium(["perspective", "show", path, "--persona", "new colleague"], { cwd: root });
  expect(shown).toMatchObject({ code: 0, stdout: "# Hello\n" });
  const fresh = await scriptorium(["perspective", "refresh", path, "--persona", "new colleague", "--json"], {
    cwd: root,
  });
  expect(fresh.json()).toEqual({ status: "fresh", job_id: null });
});
