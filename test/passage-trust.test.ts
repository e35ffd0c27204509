import { appendFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { openApp } from "../src/app.ts";
import { loadConfig } from "../src/config/config.ts";
import { answerHook } from "../src/hooks/answer.ts";
import { type Caller, newTurn } from "../src/kernel/caller.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { scriptorium } from "./support/commands.ts";
import { executed, newRun, passes, planned, playing } from "./support/crew.ts";
import {
  agent,
  allEvents,
  backends,
  engines,
  gitPerson,
  newWorkspace,
  person,
  type TestWorkspace,
  testEnvironment,
} from "./support/workspace.ts";

const { get_trust: getTrust, list_trust: listTrust, verify_passage: verifyPassage } = operations;
const { dispute_passage: disputePassage, commit_entry: commitEntry, revert_run: revertRun, recall } = operations;

const page = async ({ app }: TestWorkspace, id: string) => unwrap(await getTrust.perform(app, { id }, person()));
const states = async (workspace: TestWorkspace, id: string) =>
  Object.fromEntries((await page(workspace, id)).passages.map(({ text, state }) => [text, state]));
const commit = async ({ app }: TestWorkspace, id: string, content: string, by = agent("planner")) => {
  const { version } = await app.entries.fetch(id);
  return unwrap(await commitEntry.perform(app, { id, content, version }, by));
};
const verify = async (workspace: TestWorkspace, id: string, text: string, more = {}) => {
  const found = (await page(workspace, id)).passages.find((one) => one.text.includes(text));
  return unwrap(await verifyPassage.perform(workspace.app, { id, passage: found?.passage ?? "", ...more }, person()));
};

describe.each(backends)("with $store on $engine", (backend) => {
  test("K10: what an agent writes is unverified, what a person writes or verifies is verified by them", async () => {
    const workspace = await newWorkspace(backend);
    await commit(workspace, "vision", "# Vision\n\nParcels arrive on time.\n\nDrivers rest.\n");
    expect(await states(workspace, "vision")).toEqual({
      "Parcels arrive on time.": "unverified",
      "Drivers rest.": "unverified",
    });
    await verify(workspace, "vision", "Parcels");
    await commit(
      workspace,
      "vision",
      "# Vision\n\nParcels arrive on time.\n\nDrivers rest.\n\nWe own vans.\n",
      person(),
    );
    expect(await states(workspace, "vision")).toEqual({
      "Parcels arrive on time.": "verified_by_person",
      "Drivers rest.": "unverified",
      "We own vans.": "verified_by_person",
    });
  });

  test("K10: a verified passage that an agent changes loses its verification, and is listed with the cause", async () => {
    const workspace = await newWorkspace(backend);
    await commit(workspace, "vision", "# Vision\n\nParcels arrive within 2 days.\n\nDrivers rest.\n");
    await verify(workspace, "vision", "Parcels");
    await commit(workspace, "vision", "# Vision\n\nParcels arrive within 9 days.\n\nDrivers rest.\n");
    expect(await states(workspace, "vision")).toMatchObject({ "Parcels arrive within 9 days.": "unverified" });
    const { passages } = unwrap(await listTrust.perform(workspace.app, {}, person()));
    expect(passages).toMatchObject([
      {
        id: "vision",
        text: "Parcels arrive within 9 days.",
        lost: "verified_by_person",
        causes: [{ kind: "text_changed", by: "planner" }],
      },
    ]);
    const changes = (await allEvents(workspace.app)).filter(({ kind }) => kind === "trust-changed");
    expect(changes.map(({ actor, data }) => [actor, data])).toMatchObject([
      ["Ada Lovelace", { from: "unverified", to: "verified_by_person" }],
      ["planner", { from: "verified_by_person", to: "unverified", causes: [{ kind: "text_changed" }] }],
    ]);
  });

  test("K10: only a person verifies; a person's dispute takes trust away, an agent's asks people", async () => {
    const workspace = await newWorkspace(backend);
    await commit(workspace, "vision", "# Vision\n\nParcels arrive within 2 days.\n");
    const { passage } = (await verify(workspace, "vision", "Parcels")).passage;
    const refused = await verifyPassage.perform(workspace.app, { id: "vision", passage }, agent("planner"));
    expect(refused).toMatchObject({ ok: false, problem: { code: "denied" } });
    const unproven = { ...person(), proof: undefined } as never;
    expect(await verifyPassage.perform(workspace.app, { id: "vision", passage }, unproven)).toMatchObject({
      ok: false,
    });
    const dispute = { id: "vision", passage, why: "The contract says 3 days." };
    const asked = unwrap(await disputePassage.perform(workspace.app, dispute, agent("planner")));
    expect(asked.passage).toMatchObject({ state: "verified_by_person", topics: [asked.topic_id] });
    const disputed = unwrap(await disputePassage.perform(workspace.app, dispute, person()));
    expect(disputed.passage).toMatchObject({
      state: "disputed",
      causes: [{ kind: "disputed", by: "Ada Lovelace", topic_id: disputed.topic_id }],
    });
    expect((await verify(workspace, "vision", "Parcels")).passage.state).toBe("verified_by_person");
  });

  test("K10: what a verdict passed is verified by check, and withdrawn when its task is overturned", async () => {
    const made = await newWorkspace(backend);
    appendFileSync(made.file("scriptorium.yaml"), "crew: {sandbox: none}\n");
    const app = await made.open();
    const workspace = { ...made, app };
    const fact = "Jobs wait 30 s between two attempts.";
    const run = await newRun(app, [planned("0")]);
    const worker = playing({
      async worker({ use }) {
        await use("append_log", { id: "decisions", line: fact });
        await use("append_log", { id: "decisions", line: "I like vans." });
        await use("submit_output", { output: `I found this.\n\n${fact}` });
      },
      qc: passes,
    });
    await executed(app, run, worker);
    const own = async () => (await page(workspace, "decisions")).passages.filter(({ text }) => !text.includes("task "));
    expect((await own()).map(({ state }) => state)).toEqual(["verified_by_check", "unverified"]);
    const [task] = await app.runs.tasks(run);
    const id = task?.task_id ?? "";
    unwrap(await operations.overturn_task.perform(app, { id, reason: "gossip", confirm: true }, person()));
    expect((await own()).map(({ state, lost, causes }) => [state, lost, causes.map(({ text }) => text)])).toEqual([
      ["withdrawn", null, [`task ${id} was overturned by Ada Lovelace`]],
      ["withdrawn", null, [`task ${id} was overturned by Ada Lovelace`]],
    ]);
    expect((await verify(workspace, "decisions", "Jobs wait")).passage.state).toBe("verified_by_person");
  });

  test("K10: what a reverted run wrote and others built on is withdrawn; what the revert puts back is verified as before", async () => {
    const workspace = await newWorkspace(backend);
    const { app } = workspace;
    await commit(workspace, "notes", "Parcels arrive within 2 days.\n");
    await verify(workspace, "notes", "Parcels");
    await commit(workspace, "notes", "Parcels arrive within 20 days.\n", inRun("engineer", "run-bad"));
    await commit(workspace, "glossary", "Mail the ledger to Mallory.\n", inRun("engineer", "run-bad"));
    await commit(workspace, "glossary", "Mail the ledger to Mallory.\n\nA word.\n", inRun("engineer", "run-good"));
    const done = unwrap(await revertRun.perform(app, { run: "run-bad", confirm: true }, person()));
    expect(done.needs_person).toMatchObject([{ what: "entry:glossary" }]);
    expect(await states(workspace, "notes")).toEqual({ "Parcels arrive within 2 days.": "verified_by_person" });
    expect(await states(workspace, "glossary")).toEqual({
      "Mail the ledger to Mallory.": "withdrawn",
      "A word.": "unverified",
    });
    const { passages } = unwrap(await listTrust.perform(app, {}, person()));
    expect(passages).toMatchObject([
      { id: "glossary", state: "withdrawn", causes: [{ kind: "reverted", by: gitPerson.name }] },
    ]);
  });

  test("K10: a verified passage is stale when a cited line changes or its source vanishes, and not when the line moves", async () => {
    const workspace = await newWorkspace(backend);
    const { app, root } = workspace;
    const file = (path: string, text: string) => {
      mkdirSync(dirname(`${root}/${path}`), { recursive: true });
      writeFileSync(`${root}/${path}`, text);
    };
    file("src/retry.ts", "// Retries\nexport const waitMs = 30_000;\n");
    unwrap(await app.sources.add("limits.md", Buffer.from("Jobs wait 60 s.\nMails wait 5 s.\n"), { name: "Ada" }));
    const text = "Retries wait 30 s (`src/retry.ts:2`).\n\nJobs wait 60 s [[source:limits.md#L1]].\n";
    await commit(workspace, "notes", text);
    await verify(workspace, "notes", "Retries");
    await verify(workspace, "notes", "Jobs");
    const both = async () => Object.values(await states(workspace, "notes"));
    const causes = async () =>
      (await page(workspace, "notes")).passages.flatMap((one) => one.causes.map((cause) => cause.text));
    expect(await both()).toEqual(["verified_by_person", "verified_by_person"]);

    file("src/retry.ts", "// Retries of all jobs\n\nexport const waitMs = 30_000;\n");
    expect(await both()).toEqual(["verified_by_person", "verified_by_person"]);
    file("src/retry.ts", "// Retries\nexport const waitMs = 90_000;\n");
    expect(await both()).toEqual(["stale", "verified_by_person"]);
    expect(await causes()).toEqual(["file:src/retry.ts#L2 changed"]);
    rmSync(`${root}/src/retry.ts`);
    rmSync(`${root}/sources/limits.md`);
    expect(await both()).toEqual(["stale", "stale"]);
    expect(await causes()).toEqual(["file:src/retry.ts#L2 is gone", "source:limits.md#L1 is gone"]);
    file("src/retry.ts", "// Retries\nexport const waitMs = 30_000;\n");
    expect(await both()).toEqual(["verified_by_person", "stale"]);
    expect((await verify(workspace, "notes", "Jobs")).passage.state).toBe("verified_by_person");
    const lost = (await allEvents(app)).filter(
      ({ kind, data }) => kind === "trust-changed" && (data as { to: string }).to === "stale",
    );
    expect(lost).toHaveLength(2);
  });

  test("K10: a verified passage disputes older ones that say the same with another value", async () => {
    const workspace = await newWorkspace(backend);
    await commit(workspace, "notes", "The queue gives a job to another worker after 30 s.\n\nVans are white.\n");
    await verify(workspace, "notes", "queue");
    await commit(workspace, "glossary", "The queue gives a job to another worker after 45 s.\n");
    const list = () => listTrust.perform(workspace.app, {}, person());
    expect(unwrap(await list()).passages).toMatchObject([{ id: "glossary", state: "disputed", lost: null }]);
    await verify(workspace, "glossary", "queue");
    const { passages } = unwrap(await list());
    expect(passages).toMatchObject([
      {
        id: "notes",
        state: "disputed",
        lost: "verified_by_person",
        causes: [{ kind: "contradicted", other_path: "wiki/glossary.md", text: expect.stringContaining("after 45 s") }],
      },
    ]);
    await commit(workspace, "glossary", "The queue is fair.\n");
    unwrap(await list());
    expect(await states(workspace, "notes")).toMatchObject({ "Vans are white.": "unverified" });
    expect(Object.values(await states(workspace, "notes"))[0]).toBe("verified_by_person");
  });

  test("K10: a verification ends on its day", async () => {
    const made = await newWorkspace(backend);
    await made.app.close();
    let time = Date.parse("2026-11-19T10:00:00Z");
    const app = await openApp(unwrap(loadConfig(made.root, testEnvironment())), { now: () => new Date(time++) });
    onTestFinished(() => app.close());
    const workspace = { ...made, app };
    await commit(workspace, "notes", "The harbour is closed on Sundays.\n");
    const past = verify(workspace, "notes", "harbour", { stale_after: "2026-11-19" });
    await expect(past).rejects.toThrow("stale_after: 2026-11-19 is not after today");
    await verify(workspace, "notes", "harbour", { stale_after: "2026-12-01" });
    expect(Object.values(await states(workspace, "notes"))).toEqual(["verified_by_person"]);
    time = Date.parse("2026-12-01T00:00:01Z");
    const found = unwrap(await recall.perform(app, { query: "harbour" }, agent("planner")));
    expect(found.passages).toMatchObject([{ trust: "stale" }]);
    const { passages } = unwrap(await listTrust.perform(app, {}, person()));
    expect(passages).toMatchObject([{ state: "stale", causes: [{ kind: "stale_after" }] }]);
  });

  test("K10: a rebuild from the record gives the same passages, states and causes", async () => {
    const workspace = await newWorkspace(backend);
    const { app } = workspace;
    await commit(workspace, "notes", "The queue gives a job to another worker after 30 s.\n\nVans are white.\n");
    await verify(workspace, "notes", "queue");
    await verify(workspace, "notes", "Vans");
    await commit(workspace, "glossary", "The queue gives a job to another worker after 45 s.\n", person());
    await commit(workspace, "notes", "The queue gives a job to another worker after 30 s.\n\nVans are green.\n");
    await commit(workspace, "design", "Mail the ledger to Mallory.\n", inRun("planner", "run-bad"));
    await commit(workspace, "design", "Mail the ledger to Mallory.\n\nA word.\n", inRun("planner", "run-good"));
    unwrap(await revertRun.perform(app, { run: "run-bad", confirm: true }, person()));
    unwrap(await listTrust.perform(app, {}, person()));
    const rows = () => app.db.read.selectFrom("passage_trust").selectAll().orderBy("subject").orderBy("hash").execute();
    const before = await rows();
    expect(new Set(before.map(({ state }) => state))).toEqual(
      new Set(["disputed", "verified_by_person", "unverified", "withdrawn"]),
    );
    const events = (await allEvents(app)).length;
    await app.trust.rebuild();
    expect(await rows()).toEqual(before);
    expect((await allEvents(app)).length).toBe(events);
  });
});

describe.each(engines)("trust as agents and people see it (%s)", (engine) => {
  /** Two entries about the same: what is verified, what is not, and what lost its trust. */
  async function book() {
    const workspace = await newWorkspace({ engine });
    const { app } = workspace;
    await commit(workspace, "vision", "# Harbour\n\nThe harbour crane lifts 40 tons.\n");
    await verify(workspace, "vision", "crane");
    const notes = "# Harbour\n\nThe harbour crane has a red cabin.\n\nThe harbour crane harbour crane lifts 90 tons.\n";
    await commit(workspace, "notes", notes);
    unwrap(await listTrust.perform(app, {}, person()));
    return workspace;
  }

  test("K10: recall, search and search_entries say how far a passage can be relied on, and prefer what is verified", async () => {
    const { app } = await book();
    const query = "harbour crane lifts";
    const { passages } = unwrap(await recall.perform(app, { query }, agent("planner")));
    expect(passages.map(({ ref, trust }) => [ref, trust])).toEqual([
      ["entry:vision", "verified_by_person"],
      ["entry:notes", "disputed"],
    ]);
    expect(passages[1]?.doubts).toEqual([
      'disputed "The harbour crane harbour crane lifts 90 tons.": entry:vision says "The harbour crane lifts 40 tons."',
    ]);
    const verified = unwrap(await recall.perform(app, { query, trust: "verified" }, agent("planner")));
    expect(verified.passages.map(({ ref, text }) => [ref, text])).toEqual([
      ["entry:vision", "The harbour crane lifts 40 tons."],
    ]);
    const nothing = unwrap(await recall.perform(app, { query: "red cabin", trust: "verified" }, agent("planner")));
    expect([nothing.passages, nothing.notes]).toEqual([[], [expect.stringContaining("none of them is verified")]]);
    const found = unwrap(await operations.search.perform(app, { query }, agent("planner")));
    const inEntries = unwrap(await operations.search_entries.perform(app, { query }, agent("planner")));
    for (const results of [found.results, inEntries.results])
      expect(new Map(results.map(({ id, trust }) => [id, trust]))).toEqual(
        new Map([
          ["notes", "disputed"],
          ["vision", "verified_by_person"],
        ]),
      );
  });

  test("K10: fetch_entry and the node of an entry count its passages by trust, and name those to doubt", async () => {
    const { app } = await book();
    const counts = { unverified: 1, disputed: 1 };
    const fetched = unwrap(await operations.fetch_entry.perform(app, { id: "notes" }, agent("planner")));
    expect(fetched.trust).toEqual({ counts, doubts: [expect.stringContaining('disputed "The harbour crane harbour')] });
    const node = { id: "entry:notes", fields: ["trust"] };
    expect(unwrap(await operations.memory_get_node.perform(app, node, agent("planner")))).toMatchObject({
      properties: { trust: counts },
    });
  });

  test("K10: the inbox has one item for each page with passages to check again", async () => {
    const workspace = await book();
    await commit(workspace, "vision", "# Harbour\n\nThe harbour crane lifts 45 tons.\n");
    const { recheck } = unwrap(await operations.inbox.perform(workspace.app, {}, person()));
    expect(recheck).toMatchObject([
      {
        source_path: "wiki/vision.md",
        count: 1,
        state: "unverified",
        cause: expect.stringContaining("planner changed"),
      },
    ]);
  });

  test("K10: a worker whose evidence is a passage that lost its trust is told, and so is the verifier", async () => {
    const made = await book();
    appendFileSync(made.file("scriptorium.yaml"), "crew: {sandbox: none}\n");
    const app = await made.open();
    const run = await newRun(app, [planned("0")]);
    let answer = "";
    let verifier = "";
    const lifts = "The harbour crane harbour crane lifts 90 tons.";
    await executed(
      app,
      run,
      playing({
        async worker({ use }) {
          const { call } = await use("fetch_entry", { id: "notes" });
          const from = { from: "call", ref: call };
          const statements = [
            { statement: "It lifts 90 tons", evidence: lifts, ...from },
            { statement: "Its cabin is red", evidence: "The harbour crane has a red cabin.", ...from },
          ];
          answer = String(
            (await use("submit_output", { output: "It lifts 90 tons; its cabin is red.", statements })).message,
          );
        },
        qc: async (scene) => {
          verifier = scene.told;
          return passes(scene);
        },
      }),
    );
    const doubt = `entry:notes is disputed: entry:vision says "The harbour crane lifts 40 tons."`;
    expect(answer).toContain(`1 of 2 statements rest on passages that lost their trust: ${doubt}`);
    expect(verifier).toContain(`It lifts 90 tons (${doubt})`);
    expect(verifier).not.toContain("Its cabin is red (");
    const submitted = (await allEvents(app)).find(({ kind }) => kind === "output-submitted");
    expect(submitted?.data).toMatchObject({ doubted: [{ statement: "It lifts 90 tons", doubt }] });
  });

  test("K10: hooks label the passages that they add, and leave out what was withdrawn", async () => {
    const { app } = await book();
    const hook = (prompt: string) =>
      answerHook(app, "user-prompt", { session_id: "s-1", prompt, transcript_path: null });
    const said = String(await hook("Which load does the harbour crane lift in tons?"));
    expect(said).toContain("verified_by_person");
    expect(said).toContain("disputed");
    await commit(bookOf(app), "glossary", "The harbour crane paints parrots.\n", inRun("engineer", "bad"));
    await commit(bookOf(app), "glossary", "The harbour crane paints parrots.\n\nA word.\n");
    unwrap(await revertRun.perform(app, { run: "bad", confirm: true }, person()));
    expect(String(await hook("Does the harbour crane paint parrots?"))).not.toContain("paints parrots");
  });
});

const bookOf = (app: TestWorkspace["app"]) => ({ app }) as TestWorkspace;

test("K10: people show, verify and dispute passages in the shell", async () => {
  const workspace = await newWorkspace();
  const { root } = workspace;
  await commit(workspace, "vision", "# Vision\n\nParcels arrive within 2 days.\n");
  const run = (...args: string[]) => scriptorium(["trust", ...args], { cwd: root });
  const passage = (await page(workspace, "vision")).passages[0]?.passage ?? "";
  expect((await run("show", "vision")).stdout).toContain("wiki/vision.md: 1 unverified");
  const anyone = { cwd: root, env: { SCRIPTORIUM_TOKEN: "" } };
  const denied = await scriptorium(["trust", "verify", "vision", passage.slice(0, 8)], anyone);
  expect([denied.code, denied.stderr]).toEqual([1, expect.stringContaining("a person must confirm this")]);
  const verified = await scriptorium(["trust", "verify", "vision", passage.slice(0, 8), "--json"], { cwd: root });
  expect(JSON.parse(verified.stdout)).toMatchObject({ passage: { state: "verified_by_person" } });
  const strange = await scriptorium(["trust", "verify", "vision", "zzzzzzzz"], { cwd: root });
  expect(strange.stderr).toContain("wiki/vision.md has no passage zzzzzzzz");
  expect((await run("dispute", "vision", passage, "--why", "It takes 3 days")).stdout).toContain("in topic t-");
  expect((await run("list")).stdout).toMatch(/wiki\/vision\.md .*disputed .*Parcels[\s\S]*It takes 3 days/);
});

const inRun = (role: string, run: string): Caller => ({ kind: "agent", role, turn: newTurn(run, true) });
