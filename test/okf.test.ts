import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import type { App } from "../src/app.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { parseConcept } from "../src/review/okf/document.ts";
import { scriptorium } from "./support/commands.ts";
import { agent, engines, newWorkspace, person, temporaryFolder } from "./support/workspace.ts";

/** A bundle of our own with every field that version 0.2 publishes, and some that it does not. */
const bundle: Record<string, string> = {
  "index.md": '---\nokf_version: "0.2"\n---\n\n# Tables\n\n* [Orders](tables/orders.md) - one row an order\n',
  "log.md": "# Update log\n\n## 2026-05-22\n* **Creation**: Began.\n",
  "tables/orders.md": `---
type: Warehouse Table
title: "Orders: all channels"
description: One row per completed order.
resource: https://warehouse.example/tables/orders
tags: [sales, orders, "yes", "2026"]
owner: { team: ledger, pager: 12 }
generated: { by: reference_agent/model-2, at: 2026-05-28T14:30:00Z }
verified:
  - { by: human:ahormati, at: 2026-06-25T09:00:00Z }
  - { by: process:finance-nightly, at: 2026-06-26T02:00:00Z }
status: stable
stale_after: 2030-09-23
sources:
  - id: export-schema
    resource: https://vendor.example/schema
    title: Export schema
    author: team:docs
    usage_count: 5000
    last_modified: 2026-05-30
    usage_window: { from: 2026-05-01, to: 2026-05-31 }
  - resource: all queries of project X
usage_window: { from: 2026-06-01, to: 2026-06-30 }
---

# Schema

| Column | Type |
|---|---|
| \`order_id\` | STRING |

Joined with [customers](/tables/customers.md).[^export-schema]

[^export-schema]: Export schema
`,
  "tables/customers.md":
    "---\ntype: Warehouse Table\nstatus: deprecated\nverified: { by: human:bea, at: 2026-06-25T09:00:00Z }\n---\n\nGone since *May*.\n",
  "computations/revenue.md": `---
type: Attested Computation
title: Revenue
runtime: warehouse
parameters:
  - { name: year, type: integer, required: true }
computation: references/revenue.sql
executor:
  resource: references/run.md
  receipt: [job_id, executed_sql, result]
attester:
  resource: references/equality.py
generated: { by: human:ada, at: 2026-06-20T22:53:05Z }
---

# Computation

    SELECT 1
`,
  "plain.md": "---\ntype: Playbook\ntimestamp: '2026-05-28T22:53:05+00:00'\n---\n\nStep one.\n",
};
const filesOf = (files: Record<string, string>) => Object.entries(files).map(([path, content]) => ({ path, content }));
const load = async (app: App, more: object = {}) =>
  unwrap(
    await operations.import_okf.perform(
      app,
      { files: filesOf(bundle), from: "sales", confirm: true, ...more },
      person(),
    ),
  );
const out = async (app: App, more: object = {}) => {
  const { files, cursor } = unwrap(await operations.export_okf.perform(app, { limit: 500, ...more }, person("reader")));
  expect(cursor).toBeUndefined();
  return Object.fromEntries(files.map(({ path, content }) => [path, content]));
};
const read = (text: string | undefined) => unwrap(parseConcept(text ?? "", "x.md"));
const trusted = ["generated", "verified", "status", "stale_after", "sources", "usage_window"];
const concepts = Object.keys(bundle).filter((path) => !/(index|log)\.md$/.test(path));

describe.each(engines)("K10: the Open Knowledge Format (%s)", (engine) => {
  test("K10: a bundle with every published field comes out as it went in; what it says about trust stays a claim", async () => {
    const { app } = await newWorkspace({ engine });
    const preview = await load(app, { confirm: false });
    expect(preview).toMatchObject({
      imported: false,
      okf_version: "0.2",
      created: concepts,
      proposed: [],
      skipped: [],
    });
    expect((await app.pages.list()).filter((path) => path.startsWith("tables/"))).toEqual([]);
    expect(await load(app)).toMatchObject({ imported: true, created: concepts, verified: 0 });
    expect(await load(app)).toMatchObject({ created: [], proposed: [], unchanged: concepts });

    const exported = await out(app);
    expect(read(exported["index.md"]).fields).toEqual({ okf_version: "0.2" });
    for (const path of concepts) {
      const [before, after] = [read(bundle[path]), read(exported[path])];
      expect(after.body).toBe(before.body);
      const claims = after.fields.imported as Record<string, unknown>;
      expect(claims).toMatchObject({ by: "human:Ada Lovelace", from: "sales" });
      for (const [key, value] of Object.entries(before.fields))
        if (!trusted.includes(key)) expect(after.fields[key]).toEqual(value);
        else if (key === "verified") expect(claims.verified).toEqual([value].flat());
        else expect(claims[key]).toEqual(value);
      expect(after.fields).toMatchObject({ status: "draft", generated: { by: "human:Ada Lovelace" } });
      expect(after.fields.verified).toBeUndefined();
    }
    expect(read(exported["tables/orders.md"]).fields.sources).toEqual(read(bundle["tables/orders.md"]).fields.sources);
    expect(read(exported["plain.md"]).fields.imported).toMatchObject({
      generated: { at: "2026-05-28T22:53:05+00:00" },
    });
    const page = unwrap(await operations.get_trust.perform(app, { id: "tables/orders.md" }, person()));
    expect(Object.keys(page.counts).filter((state) => state.startsWith("verified"))).toEqual([]);

    const other = await newWorkspace({ engine });
    const again = { files: filesOf(exported), from: "again", into: "imported", confirm: true };
    unwrap(await operations.import_okf.perform(other.app, again, person()));
    const second = await out(other.app, { under: "imported" });
    for (const path of concepts) {
      const [before, after] = [read(bundle[path]), read(second[`imported/${path}`])];
      expect(after.body).toBe(before.body);
      expect(after.fields.imported).toMatchObject({ from: "again", earlier: { from: "sales" } });
    }
  });

  test("K10: only a person who vouches makes an import verified, until the claimed day; then the export says so", async () => {
    const { app } = await newWorkspace({ engine });
    const input = { files: filesOf(bundle), from: "sales", confirm: true, verify: true };
    expect(await operations.import_okf.perform(app, input, agent("planner"))).toMatchObject({
      problem: { code: "denied" },
    });
    const unproven = { ...person(), proof: undefined } as never;
    expect(await operations.import_okf.perform(app, input, unproven)).toMatchObject({ problem: { code: "denied" } });
    expect((await load(app, { verify: true })).verified).toBeGreaterThan(4);
    const { fields } = read((await out(app))["tables/orders.md"]);
    expect(fields).toMatchObject({
      status: "stable",
      stale_after: "2030-09-23",
      verified: [{ by: "human:Ada Lovelace", at: expect.any(String) }],
    });
  });
});

test("K10: an export has writers, verifications and sources from the record, and a change of trust is no new version", async () => {
  const { app, file } = await newWorkspace({
    files: { "docs/index.md": "---\nstatus: accepted\n---\n\n# Docs\n\nHello you.\n" },
  });
  unwrap(await operations.add_source.perform(app, { name: "contract.txt", content: "one\ntwo\n" }, person()));
  const content = "# Vision\n\nParcels arrive in 2 days, see [the contract](../sources/contract.txt#L1).\n";
  const { version } = await app.entries.fetch("vision");
  unwrap(await operations.commit_entry.perform(app, { id: "vision", content, version }, agent("planner")));
  const before = read((await out(app))["wiki/vision.md"]);
  expect(before.fields).toMatchObject({
    type: "Entry",
    title: "Vision",
    description: "Where we are going.",
    generated: { by: "scriptorium/planner" },
    status: "draft",
    sources: [{ id: "contract-txt", resource: "/sources/contract.txt", author: "human:Ada Lovelace" }],
  });
  const text = readFileSync(file("vision.md"), "utf8");
  const { passages } = unwrap(await operations.get_trust.perform(app, { id: "vision" }, person()));
  for (const { passage } of passages)
    unwrap(
      await operations.verify_passage.perform(app, { id: "vision", passage, stale_after: "2031-01-01" }, person()),
    );
  const after = read((await out(app))["wiki/vision.md"]);
  expect(after.fields).toMatchObject({
    status: "stable",
    stale_after: "2031-01-01",
    verified: [{ by: "human:Ada Lovelace" }],
  });
  expect(after.fields.scriptorium).toMatchObject({ entry: "vision", version: version + 1 });
  expect((await app.entries.fetch("vision")).version).toBe(version + 1);
  expect(readFileSync(file("vision.md"), "utf8")).toBe(text);
  const exported = await out(app);
  expect(read(exported["docs/index-page.md"]).fields).toMatchObject({
    status: "draft",
    scriptorium: { path: "docs/index.md", replaced: { status: "accepted" } },
  });
  const back = { files: filesOf(exported), from: "own", confirm: true };
  const done = unwrap(await operations.import_okf.perform(app, back, person()));
  expect([done.created, done.proposed]).toEqual([[], []]);
  const changed = { ...exported, "wiki/vision.md": (exported["wiki/vision.md"] ?? "").replace("2 days", "3 days") };
  const next = unwrap(await operations.import_okf.perform(app, { ...back, files: filesOf(changed) }, person()));
  expect(next.proposed).toMatchObject([{ path: "wiki/vision.md", proposal_id: expect.stringMatching(/^p-/) }]);
  expect((await app.entries.fetch("vision")).version).toBe(version + 1);
});

describe("T20, T12: a hostile bundle", () => {
  const front = (yaml: string) => `---\ntype: x\n${yaml}\n---\n\nText.\n`;
  const bomb = Array.from(
    { length: 12 },
    (_, n) => `a${n}: &a${n} [${n === 0 ? "x" : `*a${n - 1}`.repeat(1)}, x]`,
  ).join("\n");
  test.each([
    ["an alias bomb", front(`${bomb}\nz: *a11`), /aliases/],
    ["a tag", front("a: !!js/function 'x'"), /tag/],
    ["a key that is a prototype", front("__proto__: { polluted: true }"), /__proto__/],
    ["duplicate keys", front("a: 1\na: 2"), /unique/],
    ["thousands of nested lists", front(`a: ${"[".repeat(30_000)}`), /nested too deeply|flow|larger/i],
    ["64 KiB and more", front(`a: ${"x".repeat(70_000)}`), /larger than 65536 bytes/],
    ["frontmatter without an end", "---\ntype: x\n", /no closing/],
    ["a text for a map", "---\njust words\n---\n", /expected/i],
  ])("with %s is refused by name, and the rest is imported", async (_, content, why) => {
    const { app } = await newWorkspace();
    const files = filesOf({ "bad.md": content, "good.md": "---\ntype: x\n---\n\nGood.\n" });
    const began = performance.now();
    const done = unwrap(await operations.import_okf.perform(app, { files, from: "evil", confirm: true }, person()));
    expect(performance.now() - began).toBeLessThan(20_000);
    expect(done.created).toEqual(["good.md"]);
    expect(done.skipped).toEqual([{ path: "bad.md", why: expect.stringMatching(why) }]);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  test("with paths that lead elsewhere, into git, the state folder, sources or the schema writes nothing", async () => {
    const { app, git } = await newWorkspace();
    const content = "---\ntype: x\nscriptorium: { path: ../../evil.md }\n---\n\nText.\n";
    const paths = [
      "../evil.md",
      "/etc/evil.md",
      "a/../../evil.md",
      ".git/hooks/evil.md",
      ".scriptorium/evil.md",
      "a\\b.md",
    ];
    const more = ["sources/evil.md", "wiki/unknown.md", "node_modules/evil.md", "%2e%2e/evil.md", "con.md", "a.txt"];
    const files = [...paths, ...more].map((path) => ({ path, content }));
    const done = unwrap(await operations.import_okf.perform(app, { files, from: "evil", confirm: true }, person()));
    expect(done.skipped.map(({ path }) => path)).toEqual([...paths, ...more]);
    expect([done.created, done.proposed]).toEqual([[], []]);
    expect(git("status", "--porcelain")).toBe("");
    const into = { files: [{ path: "a.md", content }], from: "evil", into: "../outside", confirm: true };
    expect(unwrap(await operations.import_okf.perform(app, into, person())).created).toEqual([]);
    const renamed = { files: [{ path: "x-page.md", content }], from: "evil", confirm: true };
    expect(unwrap(await operations.import_okf.perform(app, renamed, person())).created).toEqual(["x-page.md"]);
  });

  test("with a symbolic link is refused by the command, and an export overwrites nothing", async () => {
    const { root, app } = await newWorkspace();
    await app.close();
    const folder = join(temporaryFolder(), "bundle");
    for (const [path, content] of Object.entries(bundle)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), content);
    }
    const preview = await scriptorium(["import", "--okf", folder], { cwd: root });
    expect(preview.stdout).toContain("tables/orders.md: would be created");
    const done = await scriptorium(["import", "--okf", folder, "--confirm"], { cwd: root });
    expect(done.stdout).toContain("tables/orders.md: created");
    const written = join(temporaryFolder(), "out");
    const exported = await scriptorium(["export", "--okf", written], { cwd: root });
    expect(exported.stdout).toContain(`to ${written}`);
    expect(readdirSync(written)).toEqual(expect.arrayContaining(["index.md", "plain.md", "tables", "wiki"]));
    expect((await scriptorium(["export", "--okf", written], { cwd: root })).stderr).toContain("is not empty");
    symlinkSync("/etc/passwd", join(folder, "link.md"));
    const refused = await scriptorium(["import", "--okf", folder, "--confirm"], { cwd: root });
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("link.md is a symbolic link")]);
  });
});
