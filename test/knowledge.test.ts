import { describe, expect, test } from "vitest";
import { asTool } from "../src/kernel/next-step.ts";
import { problemText, unwrap } from "../src/kernel/result.ts";
import { createSection } from "../src/review/proposals/section-operations.ts";
import { listEntries, searchEntries } from "../src/wiki/operations.ts";
import { agent, allEvents, type Backend, backends, newWorkspace, person, sampleSchema } from "./support/workspace.ts";

const ownStores: Backend[] = [
  { store: "./folder.mjs", engine: "sqlite" },
  { store: "./folder.mjs", engine: "postgres" },
];

/** The contract of the knowledge base. Whatever keeps the entries keeps all of this (K16). */
describe.each([...backends, ...ownStores])("K16: entries in $store on $engine", (backend) => {
  test("K3, K4: the catalogue tells everything but the texts", async () => {
    const { app } = await newWorkspace(backend);
    await write(app, "planner", "vision", "Three small words");
    const { entries } = unwrap(await app.knowledge(agent("planner")).listEntries());
    expect(entries.map((entry) => entry.id)).toEqual([
      "vision",
      "design",
      "api/errors",
      "notes",
      "glossary",
      "decisions",
    ]);
    const line = entries[0];
    expect(line).toMatchObject({ id: "vision", title: "Vision", lastAuthor: "planner", wordCount: 3 });
    expect(JSON.stringify(entries)).not.toContain("Three small words");
  });

  test("K3: what was committed is what is fetched, to the letter", async () => {
    const { app } = await newWorkspace(backend);
    const texts = [
      "# Title\n\nBody\n",
      "no newline at the end",
      "---\nlooks: like frontmatter\n---\n",
      "\n\nleading",
      "ünï ☂ 𝒻",
      " ",
    ];
    for (const text of texts) {
      await write(app, "planner", "vision", text);
      expect(await fetchText(app, "vision")).toBe(text);
    }
  });

  test("K7: a commit on the version that was read succeeds and says the new version", async () => {
    const { app } = await newWorkspace(backend);
    const before = await versionOf(app, "vision");
    const done = await app.knowledge(agent("planner")).commitEntry("vision", "one", before);
    expect(done).toEqual({ ok: true, value: { status: "success", version: before + 1 } });
  });

  test("K7: a stale commit changes nothing and gets the latest text and version", async () => {
    const { app } = await newWorkspace(backend);
    const version = await versionOf(app, "notes");
    await write(app, "planner", "notes", "first");
    const stale = await app.knowledge(agent("engineer")).commitEntry("notes", "second", version);
    expect(stale).toMatchObject({
      ok: false,
      problem: { code: "conflict", details: { latestContent: "first", latestVersion: version + 1 } },
    });
    expect(await fetchText(app, "notes")).toBe("first");
  });

  test("K7: changes under different headings come back merged, ready to commit", async () => {
    const { app } = await newWorkspace(backend);
    const base = "# A\n\nalpha\n\n# B\n\nbeta\n";
    await write(app, "planner", "notes", base);
    const version = await versionOf(app, "notes");
    await write(app, "planner", "notes", base.replace("alpha", "ALPHA"));
    const store = app.knowledge(agent("engineer"));
    const stale = await store.commitEntry("notes", base.replace("beta", "BETA"), version);
    if (stale.ok) throw new Error("expected a conflict");
    const { merged, merged_version } = stale.problem.details as { merged: string; merged_version: number };
    expect(merged).toBe("# A\n\nALPHA\n\n# B\n\nBETA\n");
    expect(await store.commitEntry("notes", merged, merged_version)).toMatchObject({ ok: true });
  });

  test("K7: changes under the same heading come back as base, theirs and yours", async () => {
    const { app } = await newWorkspace(backend);
    await write(app, "planner", "notes", "# A\n\nalpha\n");
    const version = await versionOf(app, "notes");
    await write(app, "planner", "notes", "# A\n\ntheirs\n");
    const stale = await app.knowledge(agent("engineer")).commitEntry("notes", "# A\n\nyours\n", version);
    expect(stale).toMatchObject({
      problem: { details: { base: "# A\n\nalpha\n", theirs: "# A\n\ntheirs\n", yours: "# A\n\nyours\n" } },
    });
    expect(stale).not.toMatchObject({ problem: { details: { merged: expect.anything() } } });
  });

  test("K7: of twenty commits on one version, one wins and nineteen are told", async () => {
    const { app, open } = await newWorkspace(backend);
    const apps = [app, await open()];
    const version = await versionOf(app, "notes");
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        (apps[i % 2] ?? app).knowledge(agent("engineer")).commitEntry("notes", `text ${i}`, version),
      ),
    );
    expect(all.filter((result) => result.ok)).toHaveLength(1);
    expect(all.filter((result) => !result.ok && result.problem.code === "conflict")).toHaveLength(19);
    expect(await versionOf(app, "notes")).toBe(version + 1);
  });

  test("K6: a role that may not write a section is told what it may write", async () => {
    const { app } = await newWorkspace(backend);
    const denied = await app.knowledge(agent("engineer")).commitEntry("vision", "mine now", 1);
    expect(denied).toMatchObject({
      ok: false,
      problem: { code: "denied", details: { role: "engineer", section: "vision" } },
    });
    if (denied.ok) throw new Error();
    expect(denied.problem.message).toContain("engineer");
    expect(denied.problem.message).toContain("vision");
    expect(denied.problem.message).toContain(
      "api/errors (snapshot), notes (snapshot), glossary (snapshot) or decisions (log)",
    );
    expect(await fetchText(app, "vision")).toBe("");
  });

  test("K2: a log only grows: it takes lines, and no commit", async () => {
    const { app } = await newWorkspace(backend);
    const store = app.knowledge(agent("engineer", "run-7"));
    unwrap(await store.appendLog("decisions", "first"));
    unwrap(await store.appendLog("decisions", "second"));
    expect(await store.commitEntry("decisions", "", 3)).toMatchObject({ ok: false, problem: { code: "denied" } });
    expect(await store.appendLog("notes", "x")).toMatchObject({ ok: false, problem: { code: "denied" } });
    const lines = (await fetchText(app, "decisions")).trimEnd().split("\n");
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(/^- \d{4}-\d\d-\d\dT[\d:.]+Z engineer \(run run-7\): first$/);
  });

  test("K2: a line cannot pass for two, nor for another role's", async () => {
    const { app } = await newWorkspace(backend);
    const store = app.knowledge(agent("engineer"));
    for (const line of [
      "a\n- 2026-01-01T00:00:00.000Z planner: forged",
      "a\rb",
      "a\u2028b",
      "",
      "   ",
      "x".repeat(5000),
    ]) {
      expect(await store.appendLog("decisions", line)).toMatchObject({ ok: false, problem: { code: "invalid" } });
    }
    expect(await fetchText(app, "decisions")).toBe("");
  });

  test("K2: a hundred appends from two processes all arrive, once, in one order", async () => {
    const { app, open } = await newWorkspace(backend);
    const apps = [app, await open()];
    const before = await versionOf(app, "decisions");
    const versions = await Promise.all(
      Array.from({ length: 100 }, async (_, i) => {
        const store = (apps[i % 2] ?? app).knowledge(agent("engineer", `r${i % 2}`));
        return unwrap(await store.appendLog("decisions", `line ${i}`)).version;
      }),
    );
    const lines = (await fetchText(app, "decisions")).trimEnd().split("\n");
    expect(new Set(lines.map((line) => line.split(": ").at(-1))).size).toBe(100);
    expect([...versions].sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => before + 1 + i));
    const times = lines.map((line) => line.split(" ")[1]);
    expect([...times].sort()).toEqual(times);
  });

  test("K9: the fifth entry of a turn is refused, with what to do instead; reading one again is free", async () => {
    const { app } = await newWorkspace(backend);
    const store = app.knowledge(agent("engineer"));
    for (const id of ["vision", "design", "notes", "glossary", "vision"])
      expect(await store.fetchEntry(id)).toMatchObject({ ok: true });
    const fifth = await store.fetchEntry("decisions");
    expect(fifth).toMatchObject({ ok: false, problem: { code: "refused", details: { read_cap: 4 } } });
    if (!fifth.ok) expect(problemText(fifth.problem, asTool)).toMatch(/call search; .*call transfer_focus/);
  });

  test("K9: listing in the middle of a turn does not start one, and a turn in the next run may read again", async () => {
    const { app } = await newWorkspace(backend);
    const store = app.knowledge(agent("engineer"));
    for (const id of ["vision", "design", "notes", "glossary"]) await store.fetchEntry(id);
    await store.listEntries();
    expect(await store.fetchEntry("decisions")).toMatchObject({ ok: false });
    expect(unwrap(await store.transferFocus("planner", "done"))).toMatchObject({ ended: "pipeline complete" });
    await store.listEntries();
    expect(await store.fetchEntry("decisions")).toMatchObject({ ok: true });
  });

  test("K9: read_cap in the schema is the cap", async () => {
    const { app } = await newWorkspace({ ...backend, schema: `${sampleSchema}read_cap: 1\n` });
    const store = app.knowledge(agent("planner"));
    expect(await store.fetchEntry("vision")).toMatchObject({ ok: true });
    expect(await store.fetchEntry("notes")).toMatchObject({ ok: false, problem: { code: "refused" } });
  });

  test("K5, K8: what one role hands over is what the next role finds first", async () => {
    const { app } = await newWorkspace(backend);
    const planner = app.knowledge(agent("planner"));
    const done = unwrap(await planner.transferFocus("architect", "read design first"));
    expect(done).toMatchObject({ status: "success", target: "architect", forced: false, step: 1 });
    const { handoff } = unwrap(await app.knowledge(agent("architect")).listEntries());
    expect(handoff).toMatchObject({ from: "planner", summary: "read design first", run: done.run, step: 1 });
    expect(unwrap(await app.knowledge(agent("engineer")).listEntries()).handoff).toBeNull();
  });

  test.each([
    ["backward", "planner"],
    ["self", "architect"],
  ])("K8: a %s handoff goes forward instead, and the attempt is on record", async (_what, target) => {
    const { app } = await newWorkspace(backend);
    const done = unwrap(await app.knowledge(agent("architect", "r-1")).transferFocus(target, "again please"));
    expect(done).toMatchObject({ target: "engineer", requested: target, forced: true });
    const forced = (await allEvents(app)).filter((event) => event.kind === "handoff-forced");
    expect(forced).toMatchObject([
      { actor: "architect", subject: "run:r-1", data: { requested: target, to: "engineer" } },
    ]);
  });

  test("K8: the last role's handoff ends the run, and a finished run takes no more", async () => {
    const { app } = await newWorkspace(backend);
    const engineer = app.knowledge(agent("engineer", "r-2"));
    expect(unwrap(await engineer.transferFocus("planner", "all done"))).toMatchObject({
      target: null,
      ended: "pipeline complete",
    });
    expect(await engineer.appendLog("decisions", "one more")).toMatchObject({
      ok: false,
      problem: { code: "refused" },
    });
  });

  test("K8, N3: max_steps is the number of steps", async () => {
    const roles = Array.from({ length: 7 }, (_, nth) => `role${nth}`);
    const schema = sampleSchema.replace(/pipeline: .*/, `pipeline: [${roles}]`);
    const { app } = await newWorkspace({ ...backend, schema });
    const hand = (step: number) => app.knowledge(agent(`role${step}`, "r-3")).transferFocus(`role${step + 1}`, "on");
    for (let step = 0; step < 4; step++) expect(unwrap(await hand(step))).toMatchObject({ target: `role${step + 1}` });
    expect(unwrap(await hand(4))).toMatchObject({ step: 5, target: null, ended: "max_steps reached" });
    expect(await hand(5)).toMatchObject({ ok: false, problem: { code: "refused" } });
  });

  test("K8: a handoff to a role that does not exist names those that do", async () => {
    const { app } = await newWorkspace(backend);
    const refused = await app.knowledge(agent("planner")).transferFocus("tester", "hello");
    expect(refused).toMatchObject({ ok: false, problem: { code: "invalid" } });
    if (!refused.ok) expect(refused.problem.message).toContain("planner, architect or engineer");
  });

  test("K14: every version says who, in which role, when, and what changed", async () => {
    const { app } = await newWorkspace(backend);
    await write(app, "planner", "notes", "one\n", "r-9");
    await write(app, "engineer", "notes", "two\n");
    const versions = await app.entries.history("notes");
    expect(versions.slice(0, 2)).toMatchObject([
      { author: "engineer", role: "engineer" },
      { author: "planner", role: "planner", run: "r-9" },
    ]);
    const last = versions[0]?.version ?? 0;
    expect(await app.entries.contentAt("notes", last - 1)).toBe("one\n");
    expect(await app.entries.contentAt("notes", last)).toBe("two\n");
    expect(await app.entries.contentAt("notes", last + 1)).toBeUndefined();
  });

  test("K14: every change is an event in the order it happened", async () => {
    const { app } = await newWorkspace(backend);
    await write(app, "planner", "notes", "one");
    unwrap(await app.knowledge(agent("engineer")).appendLog("decisions", "so be it"));
    const events = (await allEvents(app)).filter((event) => /committed|appended/.test(event.kind));
    expect(events.map(({ kind, actor, subject }) => ({ kind, actor, subject }))).toEqual([
      { kind: "entry-committed", actor: "planner", subject: "entry:notes" },
      { kind: "entry-appended", actor: "engineer", subject: "entry:decisions" },
    ]);
  });

  test("K10: search finds a passage at once after it was written, ranked, with the words marked", async () => {
    const { app } = await newWorkspace(backend);
    await write(app, "planner", "notes", "Retries wait twice as long each time.\n\nA lease ends by itself.");
    await write(app, "planner", "vision", "Nothing to do with it.");
    const found = unwrap(await searchEntries.perform(app, { query: "how long does a retry wait" }, agent("engineer")));
    expect(found.results[0]).toMatchObject({ id: "notes", title: "Notes" });
    expect(found.results[0]?.snippet).toContain("«Retries»");
    await write(app, "planner", "notes", "All gone.");
    expect(unwrap(await searchEntries.perform(app, { query: "retry" }, agent("engineer"))).results).toEqual([]);
  });

  test("K10: a search can be kept to a folder, finds beginnings of words, and takes any string", async () => {
    const { app } = await newWorkspace(backend);
    await write(app, "engineer", "api/errors", "A lease may expire.");
    await write(app, "planner", "notes", "The lease of the house.");
    const search = async (input: object) =>
      unwrap(await searchEntries.perform(app, input, person())).results.map((r) => r.id);
    expect(await search({ query: "lease", section: "api" })).toEqual(["api/errors"]);
    expect(await search({ query: "expi" })).toEqual(["api/errors"]);
    for (const query of [
      '"',
      "AND OR NOT",
      "a* (b",
      "lease'; DROP TABLE entries;--",
      "{}:^~",
      "NEAR(a b)",
      "𝒻",
      "' OR 1=1",
    ]) {
      expect(Array.isArray(await search({ query }))).toBe(true);
    }
  });

  test("K10: beyond fifty sections the catalogue shows folders, each with a line about what is in it", async () => {
    const { app } = await newWorkspace({ ...backend, schema: manySections(120) });
    const top = unwrap(await listEntries.perform(app, {}, agent("planner")));
    expect(top.entries.map((entry) => entry.id)).toEqual(["home"]);
    expect(top.folders).toContainEqual({ id: "area3", entries: 12 });
    const inside = unwrap(await listEntries.perform(app, { under: "area3" }, agent("planner")));
    expect(inside.entries).toHaveLength(12);
    expect(inside.entries[0]).toMatchObject({ id: "area3/s3", summary: "About 3" });
  });

  test("K11: a new section waits for a person, then stands in schema.yaml with its comments kept", async () => {
    const workspace = await newWorkspace(backend);
    const { app } = workspace;
    const wanted = {
      id: "api/limits",
      title: "Limits",
      mode: "log",
      writable_by: ["engineer"],
      description: "What we ran into.",
    };
    const asked = unwrap(await createSection.perform(app, wanted, agent("engineer")));
    expect(asked.status).toBe("pending");
    expect(unwrap(await app.schema()).sections.map((s) => s.id)).not.toContain("api/limits");
    expect(await app.knowledge(agent("engineer")).appendLog("api/limits", "x")).toMatchObject({
      problem: { code: "not_found" },
    });
    expect(await createSection.perform(app, wanted, agent("engineer"))).toMatchObject({
      problem: { code: "conflict" },
    });

    const { approveProposal } = await import("../src/review/proposals/operations.ts");
    expect(await approveProposal.perform(app, { id: asked.proposal_id }, agent("engineer"))).toMatchObject({
      problem: { code: "denied" },
    });
    unwrap(await approveProposal.perform(app, { id: asked.proposal_id, note: "yes" }, person("collaborator")));
    expect(await approveProposal.perform(app, { id: asked.proposal_id }, person())).toMatchObject({
      problem: { code: "conflict" },
    });
    expect(await app.knowledge(agent("engineer")).appendLog("api/limits", "64 open files")).toMatchObject({ ok: true });

    const { read } = await import("./support/workspace.ts");
    const text = read(workspace.file("wiki/schema.yaml"));
    expect(text.startsWith(sampleSchema.slice(0, sampleSchema.indexOf("pipeline")))).toBe(true);
    expect(text).toContain("# the architect's part");
    expect(text).toContain("id: api/limits");
  });

  test("K11: a new section that breaks a rule is refused with the field named", async () => {
    const { app } = await newWorkspace(backend);
    const good = { id: "x", title: "X", mode: "log", writable_by: ["engineer"], description: "d" };
    const bad: [object, string][] = [
      [{ ...good, id: "../etc" }, "id"],
      [{ ...good, mode: "table" }, "mode"],
      [{ ...good, writable_by: ["stranger"] }, "writable_by"],
      [{ ...good, title: "two\nlines" }, "title"],
      [{ ...good, extra: 1 }, "extra"],
    ];
    for (const [input, field] of bad) {
      const refused = await createSection.perform(app, input, agent("engineer"));
      expect(refused).toMatchObject({ ok: false, problem: { code: "invalid" } });
      if (!refused.ok) expect(refused.problem.message).toContain(field);
    }
  });

  test("what no backend could keep is refused before it is written", async () => {
    const { app } = await newWorkspace(backend);
    const store = app.knowledge(agent("planner"));
    const version = await versionOf(app, "notes");
    for (const text of ["nul \0 byte", "x".repeat(1_000_001), "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n"]) {
      expect(await store.commitEntry("notes", text, version)).toMatchObject({
        ok: false,
        problem: { code: "invalid" },
      });
    }
    expect(await store.fetchEntry("nowhere")).toMatchObject({ ok: false, problem: { code: "not_found" } });
  });
});

type App = Awaited<ReturnType<typeof newWorkspace>>["app"];

async function write(app: App, role: string, id: string, text: string, run?: string): Promise<void> {
  unwrap(await app.knowledge(agent(role, run)).commitEntry(id, text, await versionOf(app, id)));
}

const versionOf = async (app: App, id: string) => (await app.entries.fetch(id)).version;
const fetchText = async (app: App, id: string) => (await app.entries.fetch(id)).content;

function manySections(count: number): string {
  const line = (id: string, summary: string) =>
    `    - { id: ${id}, title: ${id}, mode: snapshot, writable_by: [planner], description: d, summary: ${summary} }\n`;
  const sections = Array.from({ length: count }, (_, i) => line(`area${i % 10}/s${i}`, `About ${i}`));
  return `schema:\n  sections:\n${line("home", "Start here")}${sections.join("")}pipeline: [planner]\nmax_steps: 3\n`;
}
