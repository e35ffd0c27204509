import { describe, expect, test } from "vitest";
import { type Caller, newTurn } from "../src/kernel/caller.ts";
import { unwrap } from "../src/kernel/result.ts";
import { openWorkspace } from "../src/library.ts";
import { listFocusRuns, moveFocus } from "../src/wiki/focus-operations.ts";
import { knowledge } from "../src/wiki/knowledge.ts";
import { scribe, scribeProcess, scriptorium, serve } from "./support/commands.ts";
import { overHttp, overStdio } from "./support/mcp.ts";
import { agent, allEvents, backends, newWorkspace, person, sampleSchema } from "./support/workspace.ts";

const log = "    - { id: handoffs, title: Handoffs, mode: log, writable_by: [], description: Who handed over what. }\n";
const schema = sampleSchema.replace("pipeline:", `${log}pipeline:`);
const entries = ["vision", "design", "notes", "glossary", "decisions"] as const;

/** An agent on a connection that lasts, without a run. */
const connected = (role: string): Caller => ({ kind: "agent", role, turn: newTurn(undefined, true) });
const proven: Caller = { ...person(), kind: "person", name: "Ada Lovelace", rank: "admin", proof: "token" };
const unproven: Caller = { kind: "person", name: "Ada Lovelace", rank: "admin" };

describe.each(backends)("the focus of a run, with entries in $store on $engine", (backend) => {
  test("N3: a role that does not hold the focus of its run is refused, and hears who does since when", async () => {
    const { app, open } = await newWorkspace({ ...backend, schema });
    const planner = app.knowledge(agent("planner", "r-1"));
    unwrap(await planner.transferFocus("architect", "read design"));
    const late = (await open()).knowledge(agent("planner", "r-1"));
    for (const refused of [
      await late.fetchEntry("vision"),
      await late.commitEntry("vision", "mine", 1),
      await late.appendLog("decisions", "mine"),
      await late.transferFocus("engineer", "again"),
    ])
      expect(refused).toMatchObject({
        problem: {
          code: "refused",
          message: expect.stringMatching(/^architect holds the focus of run r-1 since 20.*, not planner; wait until/),
          details: { holder: "architect", step: 1, epoch: 2 },
        },
      });
    const architect = app.knowledge(agent("architect", "r-1"));
    expect(unwrap(await architect.listEntries()).handoff).toMatchObject({ summary: "read design" });
    unwrap(await architect.fetchEntry("design"));
    unwrap(await architect.appendLog("decisions", "theirs"));
    expect((await app.entries.fetch("vision")).content).toBe("");
    expect((await app.entries.fetch("decisions")).content).not.toContain("mine");
  });

  test("N3: the read cap cannot be reset by handing to oneself, another connection or another process", async () => {
    const { app, open } = await newWorkspace({ ...backend, schema });
    let read = 0;
    for (let round = 0; round < 12; round++) {
      const store = (round % 2 ? app : await open()).knowledge(connected("planner"));
      for (const id of entries) if ((await store.fetchEntry(id)).ok) read++;
      await store.transferFocus("planner", "to myself");
    }
    expect(read).toBe(4);
    const events = (await allEvents(app)).filter(({ kind }) => kind.startsWith("handoff"));
    expect(events).toMatchObject([{ kind: "handoff-forced", data: { to: "architect" } }]);
  });

  test("N3: the cap of a named run counts the reads of every process, and the next holder has its own", async () => {
    const { app, open } = await newWorkspace({ ...backend, schema });
    const other = await open();
    for (const [nth, id] of entries.entries()) {
      const store = (nth % 2 ? other : app).knowledge(agent("planner", "r-2"));
      expect((await store.fetchEntry(id)).ok).toBe(nth < 4);
      expect((await store.fetchEntry("vision")).ok).toBe(true);
    }
    unwrap(await app.knowledge(agent("planner", "r-2")).transferFocus("architect", "on"));
    expect(await other.knowledge(agent("architect", "r-2")).fetchEntry("decisions")).toMatchObject({ ok: true });
  });

  test("N3: a role begins another run as soon as the receiver of its handoff has begun", async () => {
    const { app } = await newWorkspace({ ...backend, schema });
    const planner = app.knowledge(connected("planner"));
    const { run } = unwrap(await planner.transferFocus("architect", "first"));
    expect(await planner.appendLog("decisions", "too early")).toMatchObject({ problem: { details: { run } } });
    const architect = app.knowledge(connected("architect"));
    unwrap(await architect.fetchEntry("design"));
    const again = unwrap(await planner.transferFocus("architect", "second"));
    expect(again.run).not.toBe(run);
    expect(unwrap(await architect.transferFocus("engineer", "on"))).toMatchObject({ run, step: 2 });
    expect(unwrap(await architect.listEntries()).handoff).toMatchObject({ run: again.run, summary: "second" });
  });

  test("N3: of two that hand off at once one wins, and the other hears who holds the focus", async () => {
    const { app, open } = await newWorkspace({ ...backend, schema });
    const apps = [app, await open()];
    for (let round = 0; round < 5; round++) {
      const all = await Promise.all(
        apps.map((one, nth) => one.knowledge(agent("planner", `r-${round}`)).transferFocus("architect", `by ${nth}`)),
      );
      expect(all.filter((one) => one.ok)).toHaveLength(1);
      expect(all.filter((one) => !one.ok)).toMatchObject([{ problem: { details: { holder: "architect" } } }]);
    }
    const lines = (await app.entries.fetch("handoffs")).content.trim().split("\n");
    expect(lines).toHaveLength(5);
  });

  test("N3: a commit whose role loses the focus while it is under way is refused", async () => {
    const { app } = await newWorkspace({ ...backend, schema });
    const caller = agent("planner", "r-9");
    const pass = () => app.knowledge(agent("planner", "r-9")).transferFocus("architect", "meanwhile");
    const slow = knowledge(
      {
        ...app,
        entries: { ...app.entries, commit: async (...all) => (await pass()) && app.entries.commit(...all) },
      },
      caller,
    );
    const { version } = unwrap(await slow.fetchEntry("vision"));
    expect(await slow.commitEntry("vision", "late", version)).toMatchObject({
      problem: { code: "refused", details: { holder: "architect" } },
    });
    expect((await app.entries.fetch("vision")).content).toBe("");
  });

  test("N9: a handoff is a line of the handoffs log, also for roles that may not write it", async () => {
    const { app } = await newWorkspace({ ...backend, schema });
    unwrap(await app.knowledge(agent("planner", "r-1")).transferFocus("planner", "first\n# line\u202e\n- two"));
    unwrap(await app.knowledge(agent("architect", "r-1")).transferFocus("engineer", "built"));
    unwrap(await app.knowledge(agent("engineer", "r-1")).transferFocus("planner", "all done"));
    const { content } = await app.entries.fetch("handoffs");
    expect(
      content
        .replaceAll(/^- \S+ /gm, "")
        .trim()
        .split("\n"),
    ).toEqual([
      "planner (run r-1): handed off to architect (step 1 of 5): first # line - two",
      "architect (run r-1): handed off to engineer (step 2 of 5): built",
      "engineer (run r-1): ended the run: pipeline complete (step 3 of 5, asked for planner): all done",
    ]);
    expect(await app.knowledge(agent("planner", "r-2")).appendLog("handoffs", "mine")).toMatchObject({ ok: false });
    expect((await app.entries.history("handoffs"))[0]).toMatchObject({ role: "engineer", run: "r-1" });
  });

  test("N9: a refused handoff leaves no line, and a schema without the log hands over too", async () => {
    const { app } = await newWorkspace({ ...backend, schema });
    unwrap(await app.knowledge(agent("planner", "r-1")).transferFocus("architect", "one"));
    expect(await app.knowledge(agent("planner", "r-1")).transferFocus("architect", "two")).toMatchObject({ ok: false });
    expect((await app.entries.fetch("handoffs")).content.trim().split("\n")).toHaveLength(1);
    const without = await newWorkspace(backend);
    const done = await without.app.knowledge(agent("planner", "r-1")).transferFocus("architect", "one");
    expect(done).toMatchObject({ ok: true, value: { target: "architect" } });
  });

  test("N9: a person sees who holds the focus, and moves or ends it; nobody else does", async () => {
    const { app } = await newWorkspace({ ...backend, schema });
    unwrap(await app.knowledge(agent("planner", "r-1")).transferFocus("architect", "one"));
    unwrap(await app.knowledge(agent("architect", "r-1")).fetchEntry("design"));
    expect(unwrap(await listFocusRuns.perform(app, {}, person()))).toMatchObject({
      pipeline: ["planner", "architect", "engineer"],
      runs: [
        {
          run: "r-1",
          holder: "architect",
          begun: true,
          step: 1,
          max_steps: 5,
          reads: 1,
          read_cap: 4,
          handoffs: [{ from: "planner", to: "architect", summary: "one" }],
        },
      ],
    });
    const move = { run: "r-1", to: "engineer", reason: "architect\nis stuck" };
    expect(await moveFocus.perform(app, move, unproven)).toMatchObject({ problem: { code: "denied" } });
    expect(await moveFocus.perform(app, move, agent("architect", "r-1"))).toMatchObject({
      problem: { code: "denied" },
    });
    expect(unwrap(await moveFocus.perform(app, move, proven))).toMatchObject({ holder: "engineer", epoch: 3 });
    expect(await app.knowledge(agent("architect", "r-1")).fetchEntry("notes")).toMatchObject({
      problem: { details: { holder: "engineer" } },
    });
    unwrap(await moveFocus.perform(app, { run: "r-1" }, proven));
    expect(await app.knowledge(agent("engineer", "r-1")).fetchEntry("notes")).toMatchObject({
      problem: { message: expect.stringContaining("run r-1 ended") },
    });
    expect((await app.entries.fetch("handoffs")).content).toMatch(
      /Ada Lovelace \(run r-1\): moved the focus from architect to engineer: architect is stuck\n.* ended the run; engineer held the focus\n$/,
    );
    expect(await moveFocus.perform(app, { run: "r-1", to: "nobody" }, proven)).toMatchObject({ ok: false });
  });
});

test("N3: two processes hand off at once: one wins, the other hears who holds the focus", async () => {
  const { root: cwd } = await newWorkspace({ schema });
  const hand = ["transfer-focus", "--role", "planner", "--run", "r-1", "--target", "architect", "--summary", "on"];
  const all = await Promise.all([scribeProcess(hand, { cwd }), scribeProcess(hand, { cwd })]);
  expect(all.map(({ code }) => code).sort()).toEqual([0, 1]);
  expect(all.find(({ code }) => code === 1)?.json()).toMatchObject({ status: "refused", holder: "architect" });
});

test("N3: the focus rules on every face", async () => {
  const { root, app } = await newWorkspace({ schema });
  const as = ["--role", "planner", "--run", "r-1"];
  await scribe(["transfer-focus", ...as, "--target", "architect", "--summary", "on"], { cwd: root });
  const refused = { status: "refused", holder: "architect" };
  const append = { id: "decisions", line: "late" };
  expect((await scribe(["fetch-entry", ...as, "--id", "notes"], { cwd: root })).json()).toMatchObject(refused);
  const stdio = await overStdio(root, "planner", { args: ["--run", "r-1"] });
  expect(await stdio.call("append_log", append)).toMatchObject(refused);
  const library = await openWorkspace(root);
  expect(await library.as("planner", "r-1").appendLog("decisions", "late")).toMatchObject(refused);
  await library.close();

  const { url } = await serve(root);
  const made = { kind: "agent" as const, role: "architect", expiresAt: undefined, by: "Ada" };
  // A handed-over run belongs to its holder, whatever the token.
  const tokens = await Promise.all(["one", "two"].map((name) => app.tokens.create({ ...made, name })));
  const [one = "", two = ""] = tokens.map(({ token }) => token);
  const mcp = await overHttp(url, one, "2026-07-28");
  for (const id of entries.slice(0, 3)) expect(await mcp.call("fetch_entry", { id })).toMatchObject({ id });
  const api = (path: string, token: string) =>
    fetch(`${url}/api${path}`, { headers: { authorization: `Bearer ${token}` } });
  const [fourth, fifth] = [await api(`/entries/${entries[3]}`, two), await api(`/entries/${entries[4]}`, two)];
  expect([fourth.status, fifth.status]).toEqual([200, 422]);
  expect(await fifth.json()).toMatchObject({ status: "refused", read_cap: 4 });
});

test("N9: scriptorium run focus lists runs, shows one with its handoffs, and needs a person to move it", async () => {
  const { root: cwd, app } = await newWorkspace({ schema });
  expect((await scriptorium(["run", "focus"], { cwd })).stdout).toContain("no runs along the pipeline (planner → ");
  unwrap(await app.knowledge(agent("planner", "r-1")).transferFocus("architect", "read design first"));
  const shown = await scriptorium(["run", "focus", "r-1"], { cwd });
  expect(shown.stdout).toMatch(
    /r-1 +architect .*1 of 5 +not begun\n\nstep 1, .*: planner → architect\nread design first\n/,
  );
  expect((await scriptorium(["run", "focus", "--json"], { cwd })).json()).toMatchObject({ runs: [{ run: "r-1" }] });
  const end = ["run", "focus", "r-1", "--end"];
  expect(await scriptorium(end, { cwd, env: { SCRIPTORIUM_TOKEN: "" } })).toMatchObject({ code: 1 });
  expect(await scriptorium(end, { cwd })).toMatchObject({ code: 0, stdout: "run r-1 ended\n" });
  expect((await scriptorium(["run", "focus", "r-2"], { cwd })).stderr).toContain("no run r-2 along the pipeline");
});
