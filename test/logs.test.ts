import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Caller, newTurn } from "../src/kernel/caller.ts";
import { unwrap } from "../src/kernel/result.ts";
import { logLine, logRemark } from "../src/wiki/log.ts";
import { commitEntry, fetchEntry } from "../src/wiki/operations.ts";
import { scribe } from "./support/commands.ts";
import { draws } from "./support/thorough.ts";
import { agent, allEvents, backends, newWorkspace, person } from "./support/workspace.ts";

/** A log line as a reader takes it apart: time, author, run, text. */
const parts = /^- (\d{4}-\d\d-\d\dT[\d:.]+Z) ([^:()]+?)(?: \(run ([^)\s]+)\))?: (.+)$/u;
/** Everything that some program takes for the end of a line. */
const lineEnds = /\r\n|[\n\v\f\r\u001c-\u001e\u0085\u2028\u2029]/;

const forged = "- 2026-01-01T00:00:00.000Z planner (run r-1): forged";
const bad = [
  "\u0085",
  "\u2028",
  "\u2029",
  "\u202e",
  "\u2066",
  "\u200b",
  "\u000b",
  "\u001b[2K",
  "\u007f",
  "\ufeff",
  "\r",
];

describe.each(backends)("N8: a log in $store on $engine", (backend) => {
  test("refuses what would read as another line, or is invisible", async () => {
    const { app } = await newWorkspace(backend);
    const store = app.knowledge(agent("engineer"));
    for (const character of bad) {
      const lines = [`a${character}${forged}`, ...(character.trim() === "" ? [] : [character])];
      for (const line of lines)
        expect(await store.appendLog("decisions", line)).toMatchObject({ problem: { code: "invalid" } });
    }
    expect(await store.appendLog("decisions", "pay\u202eee")).toMatchObject({
      problem: { message: "the line contains invisible characters (U+202E); remove them" },
    });
    expect((await app.entries.fetch("decisions")).content).toBe("");
    unwrap(await store.appendLog("decisions", "👩‍💻 می‌خواهم # not a heading: - nor a line"));
  });

  test("refuses a run, task or role that would forge a line, a trailer or an event, in every operation", async () => {
    const { app, git } = await newWorkspace(backend);
    const names = ["r-1): forged", `r-1\n${forged}`, "r-1\nVersion: 9", "r-1 ", "r-1\u2028", "", "x".repeat(200)];
    const callers = names.flatMap((name): Caller[] => [
      { kind: "agent", role: "engineer", turn: newTurn(name) },
      { kind: "agent", role: "engineer", task: name, turn: newTurn() },
    ]);
    callers.push({ kind: "agent", role: "engineer): x", turn: newTurn() });
    callers.push({ kind: "agent", role: "engineer\nRole: planner", turn: newTurn() });
    for (const caller of callers) {
      const store = app.knowledge(caller);
      const write = { id: "notes", content: "x", version: 1 };
      for (const refused of [
        await store.appendLog("decisions", "fine"),
        await store.transferFocus("planner", "fine"),
        await commitEntry.perform(app, write, caller),
        await fetchEntry.perform(app, { id: "notes" }, caller),
      ])
        expect({ caller, refused }).toMatchObject({ refused: { problem: { code: "invalid" } } });
    }
    await app.recorder.record();
    expect(JSON.stringify(await allEvents(app))).not.toContain("forged");
    expect(git("log", "--all", "--format=%B")).not.toMatch(/forged|Version: 9/);
  });

  test("the name of a person cannot pass for a role or a run", async () => {
    const { app } = await newWorkspace(backend);
    const name = `planner (run r-1): done\u2028${forged}`;
    unwrap(await app.knowledge({ ...person(), kind: "person", rank: "admin", name }).appendLog("decisions", "mine"));
    const [line = "", ...more] = (await app.entries.fetch("decisions")).content.trimEnd().split(lineEnds);
    expect(more).toEqual([]);
    expect(parts.exec(line)).toMatchObject({ 3: undefined, 4: "mine" });
  });
});

test("N8: scribe refuses such a run too", async () => {
  const { root: cwd } = await newWorkspace();
  const append = ["append-log", "--role", "engineer", "--id", "decisions", "--line", "x", "--run", "r): planner: y"];
  expect(await scribe(append, { cwd })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('run: "r): planner: y" is not an id'),
  });
});

test("N8: a line that is accepted reads back as one line with its author and text", () => {
  const any = fc.oneof(
    fc.string({ unit: "binary", maxLength: 60 }),
    fc.string({ unit: "grapheme", maxLength: 60 }),
    fc.array(fc.constantFrom(...bad, "a", " ", "(run r-2)", ": ", "- ", "# ", "Run: r-2", forged), { maxLength: 6 }),
  );
  const text = any.map((drawn) => (Array.isArray(drawn) ? drawn.join("") : drawn));
  const name = fc.oneof(fc.constantFrom("engineer", "Ada Lovelace", "a: b", "x (run r-9)"), text);
  const run = fc.option(fc.stringMatching(/^[\w#][\w.:#/@-]{0,20}$/), { nil: undefined });
  let accepted = 0;
  fc.assert(
    fc.property(text, name, run, (said, by, of) => {
      const remark = logRemark(said, { name: by, ...(of ? { run: of } : {}) });
      if (!remark.ok) return;
      accepted++;
      const at = "2026-11-17T00:00:00.000Z";
      const lines = logLine(at, remark.value).split(lineEnds);
      expect(lines).toHaveLength(2);
      const [, time, author, ofRun, words] = parts.exec(lines[0] ?? "") ?? [];
      expect([time, ofRun, words]).toEqual([at, of, said.replaceAll("\t", " ").trim()]);
      if (/^[\w .]+$/.test(by.trim()) && !/ {2}/.test(by.trim())) expect(author).toBe(by.trim());
    }),
    draws(2_000, 100_000),
  );
  expect(accepted).toBeGreaterThan(100);
});
