import { execFileSync, spawnSync } from "node:child_process";
import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { sql } from "kysely";
import { describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { runBounded } from "../src/agents/bounded.ts";
import { claudeRunner } from "../src/agents/programs/claude.ts";
import { findSandbox } from "../src/agents/sandbox.ts";
import { survivors } from "../src/agents/survivors.ts";
import type { App } from "../src/app.ts";
import { refuse, unwrap } from "../src/kernel/result.ts";
import { allOperations, operations } from "../src/operation-list.ts";
import { eventsAfter } from "../src/store/events.ts";
import { serve } from "./support/commands.ts";
import { executed, newRun, passes, planned, playing } from "./support/crew.ts";
import { defaultLimits } from "./support/limits.ts";
import { type Call, obeyed, payloads } from "./support/payloads.ts";
import { needs } from "./support/programs.ts";
import { ask } from "./support/requests.ts";
import { agent, engines, newWorkspace, person, read, temporaryFolder, testEnvironment } from "./support/workspace.ts";

const home = new URL("..", import.meta.url).pathname;

describe("T1: texts that give orders", () => {
  /** What no agent may bring about, whatever it was told. */
  const orders: Call[] = [
    { tool: "approve_proposal", input: { id: "PROPOSAL" } },
    { tool: "reject_proposal", input: { id: "PROPOSAL", note: "no" } },
    { tool: "create_token", input: { kind: "person", name: "mallory", rank: "admin" } },
    { tool: "add_user", input: { name: "mallory", rank: "admin" } },
    { tool: "change_user", input: { name: "Ada Lovelace", rank: "reader" } },
    { tool: "limit_run", input: { run: "RUN", most: null } },
    { tool: "execute_run", input: { id: "RUN", budget_tokens: 1_000_000_000 } },
    { tool: "cancel_run", input: { id: "RUN" } },
    { tool: "revert_run", input: { role: "planner", confirm: true } },
    { tool: "rename_section", input: { id: "vision", new_id: "mine" } },
    { tool: "release_task", input: { id: "TASK" } },
    { tool: "overturn_task", input: { id: "TASK", reason: "x", confirm: true } },
    { tool: "update_todo", input: { id: "TODO", status: "cancelled" } },
    { tool: "submit_verdict", input: { verdict: "PASS", score: 100, feedback: "fine", evidence: [] } },
    { tool: "submit_plan", input: { title: "mine", tasks: [] } },
    { tool: "save_plan", input: { id: "RUN", content: "mine", base_hash: "" } },
    { tool: "commit_entry", input: { id: "vision", content: "All to mallory.", version: 1 } },
    { tool: "follow_folder", input: { folder: "/etc" } },
    { tool: "install_model", input: {} },
    { tool: "start_job", input: { kind: "incorporate", source_path: "wiki/vision.md" } },
    { tool: "write_file", input: { path: "../../../outside.txt", content: "mallory" } },
    { tool: "write_file", input: { path: ".git/hooks/post-commit", content: "#!/bin/sh" } },
    { tool: "write_file", input: { path: "/etc/mallory", content: "mallory" } },
    { tool: "constructor", input: {} },
  ];

  const stateOf = async (app: App, root: string) => ({
    tokens: (await app.db.read.selectFrom("tokens").select("id").execute()).length,
    users: await app.db.read.selectFrom("users").select(["name", "role"]).execute(),
    limits: await app.db.read.selectFrom("run_limits").selectAll().execute(),
    proposals: await app.db.read.selectFrom("proposals").select(["id", "status"]).execute(),
    jobs: (await app.db.read.selectFrom("agent_jobs").select("id").execute()).length,
    runs: await app.db.read.selectFrom("runs").select(["id", "budget_tokens", "plan_hash"]).execute(),
    entries: await app.db.read.selectFrom("entries").select(["id", "version"]).where("id", "!=", "decisions").execute(),
    schema: read(join(root, "wiki/schema.yaml")),
    settings: read(join(root, "scriptorium.yaml")),
    hooks: existsSync(join(root, ".git/hooks/post-commit")),
  });

  test("T1: an agent that obeys every one of them brings nothing about that it may not", async () => {
    const made = await newWorkspace();
    appendFileSync(made.file("scriptorium.yaml"), "crew: {sandbox: none}\n");
    const app = await made.open();
    const section = { id: "plans", title: "P", mode: "snapshot", writable_by: ["planner"], description: "d" };
    const { proposal_id } = unwrap(await operations.create_section.perform(app, section, agent("planner")));
    const { id: todo } = unwrap(await operations.create_todo.perform(app, { title: "wait" }, person()));
    const run = await newRun(app, [planned("0", { estimated_tool_calls: 500 })]);
    const [task] = await app.runs.tasks(run);
    const names: Record<string, string> = { PROPOSAL: proposal_id, RUN: run, TASK: task?.task_id ?? "", TODO: todo };
    const named = JSON.parse(
      JSON.stringify(orders).replaceAll(/"(PROPOSAL|RUN|TASK|TODO)"/g, (_, n) => `"${names[n]}"`),
    );
    const texts: string[] = payloads(named);
    expect(texts.length).toBeGreaterThanOrEqual(200);
    for (const text of texts) expect(obeyed(text), text).toHaveLength(1);
    const answers: Record<string, unknown>[] = [];
    let before: unknown;
    const agents = playing({
      worker: async ({ use }) => {
        await use("append_log", { id: "decisions", line: texts.find((text) => !/[\n\r]/.test(text)) });
        before = await stateOf(app, made.root);
        // One disguise of all orders after the other: who repeats a call is stopped for that (T7).
        const calls = texts.flatMap(obeyed);
        const disguises = calls.length / named.length;
        const mixed = calls.map((_, n) => calls[(n % named.length) * disguises + Math.floor(n / named.length)]);
        for (const call of mixed) if (call) answers.push(await use(call.tool, call.input));
        await use("submit_output", { output: `made 0\n\n${texts.join("\n\n").slice(0, 20_000)}` });
      },
      qc: passes,
    });
    expect(await executed(app, run, agents, { workers: 1 })).toMatchObject({ state: "completed" });
    expect(answers).toHaveLength(texts.length);
    expect(answers.filter((answer) => !("refused" in answer))).toEqual([]);
    expect(await stateOf(app, made.root)).toEqual(before);
    expect((await app.tasks.find(todo))?.state).toBe("pending");
    expect(existsSync(join(made.root, "../outside.txt"))).toBe(false);
  });
});

test("T3: a verifier gets a warning about a source that contradicts the numbers of the worker's evidence", async () => {
  const made = await newWorkspace();
  appendFileSync(made.file("scriptorium.yaml"), "crew: {sandbox: none}\n");
  const app = await made.open();
  const fact = "The harbour handled 3,400 containers in the spring quarter.";
  for (const [name, content] of [
    ["report.md", `# Report\n\n${fact}\n`],
    ["copy.md", `# Report\n\n${fact.replace("3,400", "9,400")}\n`],
    ["other.md", "# Other\n\nThe harbour has 12 cranes.\n"],
  ])
    unwrap(await operations.add_source.perform(app, { name, content }, person()));
  const told: string[] = [];
  const agents = playing({
    worker: async ({ use }) => {
      const statements = [
        {
          statement: "9,400 were handled",
          evidence: fact.replace("3,400", "9,400"),
          from: "file",
          ref: "sources/copy.md",
        },
      ];
      await use("submit_output", { output: "made 0", statements });
    },
    qc: async (scene) => {
      told.push(scene.told);
      await passes(scene);
    },
  });
  await executed(app, await newRun(app, [planned("0")]), agents);
  expect(told[0]).toContain(`9,400 were handled (its evidence is disputed: report.md says "${fact}")`);
  expect(told[0]).not.toContain("cranes");
});

describe("T7: a program that forks without end", () => {
  test("T7: has few processes to fork, and nothing of it is left", needs("bubblewrap"), async () => {
    const found = await findSandbox("auto", testEnvironment());
    const folder = temporaryFolder();
    const place = { folder, write: true, limits: defaultLimits, env: { PATH: process.env.PATH ?? "" } };
    const options = { run: "forks", wallMs: 60_000, signal: new AbortController().signal };
    const limit = await runBounded(unwrap(found), ["sh", "-c", "ulimit -p 2>/dev/null || ulimit -u"], place, options);
    expect(limit.output.trim()).toBe("1024");
    const many = "for i in 1 2 3 4 5 6 7 8 9; do (setsid sleep 600 &) ; done; echo forked";
    const ran = await runBounded(unwrap(found), ["sh", "-c", many], place, options);
    expect(ran.output).toContain("forked");
    expect(await survivors("forks")).toEqual([]);
  });
});

test("T17: nobody makes the server ask an address by naming it, whatever the spelling", async () => {
  let asked = 0;
  const canary = createServer((socket) => {
    asked++;
    socket.destroy();
  });
  await new Promise<void>((done) => canary.listen(0, "127.0.0.1", done));
  onTestFinished(() => void canary.close());
  const { port } = canary.address() as { port: number };
  const hosts = ["127.0.0.1", "localhost", "127.1", "0177.0.0.1", "0x7f000001", "2130706433", "0", "[::1]"];
  const more = [
    "[::ffff:127.0.0.1]",
    "127.0.0.1.nip.io",
    "user@127.0.0.1",
    "169.254.169.254",
    "LOCALHOST",
    "127。0。0。1",
  ];
  const urls = [...hosts, ...more].flatMap((host) =>
    ["http", "https", "ws", "git", "file", "gopher"].map((scheme) => `${scheme}://${host}:${port}/latest/meta-data`),
  );
  expect(urls.length).toBeGreaterThanOrEqual(80);
  const { app, root } = await newWorkspace();
  const all = urls.map((url) => `![x](${url}) <${url}> [y](${url})`).join("\n\n");
  const { version } = await app.entries.fetch("notes");
  unwrap(await operations.commit_entry.perform(app, { id: "notes", content: all, version }, person()));
  writeFileSync(join(root, "canary.html"), `<img src="${urls[0]}"><iframe src="${urls[0]}"></iframe>`);
  unwrap(
    await operations.add_source.perform(
      app,
      { name: "canary.html", content: read(join(root, "canary.html")) },
      person(),
    ),
  );
  for (const [i, { name, input, perform }] of allOperations.entries()) {
    if (name === "install_model" || name === "execute_run" || name === "start_run") continue;
    for (const url of [urls[i % urls.length], `http://127.0.0.1:${port}/`]) {
      const given = filled(z.toJSONSchema(input, { io: "input", unrepresentable: "any" }) as Shape, url ?? "");
      for (const caller of [person(), agent("planner")]) await perform(app, given, caller);
    }
  }
  const served = await serve(root);
  for (const path of ["/entries/notes", "/api/rendered/page?path=wiki/notes.md", "/api/search?query=latest"])
    await ask(served.url, path, { token: served.token });
  expect(asked).toBe(0);
  await ask(`http://127.0.0.1:${port}`, "/").catch(() => undefined);
  expect(asked).toBe(1);
});

type Shape = {
  type?: string;
  enum?: unknown[];
  const?: unknown;
  properties?: Record<string, Shape>;
  items?: Shape;
  anyOf?: Shape[];
};

/** An input of this shape with the same text wherever a text can be. */
function filled(shape: Shape, text: string): unknown {
  if (shape.const !== undefined) return shape.const;
  if (shape.enum) return shape.enum[0];
  if (shape.anyOf?.[0]) return filled(shape.anyOf[0], text);
  if (shape.type === "object")
    return Object.fromEntries(Object.entries(shape.properties ?? {}).map(([name, one]) => [name, filled(one, text)]));
  if (shape.type === "array") return [filled(shape.items ?? {}, text)];
  if (shape.type === "integer" || shape.type === "number") return 1;
  return shape.type === "boolean" ? true : text;
}

test("T22: none of our patterns takes more than one look at a long hostile text", () => {
  const patterns = patternsIn(join(home, "src"));
  expect(patterns.length).toBeGreaterThan(200);
  const list = join(temporaryFolder(), "patterns.json");
  writeFileSync(list, JSON.stringify([...patterns, { file: "(proof)", source: "(a+)b$", flags: "" }]));
  const slow: { file: string; source: string }[] = JSON.parse(
    execFileSync(process.execPath, ["-e", tryPatterns, list], { encoding: "utf8", timeout: 110_000 }),
  );
  expect(slow.map(({ file, source }) => `${file}: ${source}`)).toEqual(["(proof): (a+)b$"]);
});

/** Every pattern that is written in our code, with its file. */
function patternsIn(folder: string) {
  const literal =
    /(?<=[(,=:[!&|?{};>]\s*|return )\/(?![/*])((?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)\/([dgimsuvy]*)(?=[\s).,;:\]?]|$)/gm;
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return files
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .flatMap((file) => {
      const lines = readFileSync(join(folder, file), "utf8").split("\n");
      const code = lines.filter((line) => !/^\s*(\*|\/\/|\/\*)/.test(line)).join("\n");
      return [...code.matchAll(literal)].map(([, source = "", flags = ""]) => ({ file, source, flags }));
    });
}

/** In a process of its own, by the time it computes: a pattern that looks again from every place takes thousands of times as long. */
const tryPatterns = `
const mostMicroseconds = 300_000, length = 30_000;
const atoms = [" ", "\\n", "\\t", "a", "0", "-", "/", "\\\\", "[", "\`", "<", "a ", "a.", "../"];
const slow = JSON.parse(require("node:fs").readFileSync(process.argv[1], "utf8")).filter(({ source, flags }) => {
  const own = [...new Set(source.replace(/\\\\./g, ""))].filter((c) => !"\\\\^$.*+?()[]{}|".includes(c)).slice(0, 6);
  // A pattern that is tried in one place only is tried in one place here too.
  const pattern = new RegExp(source, flags.replace("g", ""));
  return [...atoms, ...own].some((atom) => {
    const text = atom.repeat(length / atom.length) + "\\0";
    const began = process.cpuUsage();
    pattern.test(text);
    return process.cpuUsage(began).user > mostMicroseconds;
  });
});
console.log(JSON.stringify(slow));
`;

test("T27: an agent gets our tools and no others, whatever servers a folder or a page offers it", async () => {
  const cwd = temporaryFolder();
  const offered = { mcpServers: { evil: { command: "sh", args: ["-c", "touch planted"] } } };
  writeFileSync(join(cwd, ".mcp.json"), JSON.stringify(offered));
  const bin = join(cwd, "claude.sh");
  const looks = 'while [ "$1" != "--mcp-config" ]; do echo "$1"; shift; done; cat "$2"; shift 2; echo "$@"';
  writeFileSync(bin, `#!/bin/sh\n${looks}\n`, { mode: 0o755 });
  const mcp = { name: "scriptorium", command: "relay", args: ["socket"], env: {} };
  const logFile = join(cwd, "agent.log");
  const spec = { id: "t27", prompt: "p", cwd, env: testEnvironment(), limits: { wallMs: 20_000 }, logFile, mcp };
  await claudeRunner({ bin, isolation: "scratch" }).run(spec, new AbortController().signal);
  const log = read(logFile);
  expect(log).toContain("--strict-mcp-config");
  expect(log).toContain('{"mcpServers":{"scriptorium":{"command":"relay","args":["socket"],"env":{}}}}');
  expect(log).toMatch(/--tools Read,Glob,Grep,Skill --allowedTools Skill,mcp__scriptorium/);
  expect(log).not.toContain("evil");
});

describe.each(engines)("T29: a damaged record (%s)", (engine) => {
  test("T29: is left out or shown without what it kept; lists, claims, search and the feed go on", async () => {
    const { app, root, open } = await newWorkspace({ engine, files: { "docs/a.md": "# A\n\nOne two three.\n" } });
    const made = await newRun(app, [planned("0"), planned("1.1")]);
    await newRun(app, [planned("0")]);
    const todo = async (title: string) => unwrap(await operations.create_todo.perform(app, { title }, person())).id;
    const [first] = [await todo("harbour one"), await todo("harbour two")];
    const section = { title: "X", mode: "snapshot", writable_by: ["planner"], description: "d" };
    for (const id of ["x", "y"]) await operations.create_section.perform(app, { ...section, id }, person());
    for (const quote of ["One", "three"])
      unwrap(await operations.open_topic.perform(app, { source_path: "docs/a.md", quote, content: "why" }, person()));
    const broken = "{broken";
    await app.db.write(async (tx) => {
      await tx.updateTable("tasks").set({ result: broken }).where("id", "=", first).execute();
      await tx.updateTable("runs").set({ plan: broken }).where("id", "=", made).execute();
      await sql`UPDATE proposals SET data = ${broken} WHERE subject = 'x'`.execute(tx);
      await sql`UPDATE topics SET anchor = ${broken} WHERE id = (SELECT min(id) FROM topics)`.execute(tx);
      await sql`UPDATE events SET data = ${broken} WHERE seq = (SELECT min(seq) FROM events)`.execute(tx);
    });
    const later = await open();
    const perform = async (name: string, input: object) => {
      const found = allOperations.find((one) => one.name === name);
      return unwrap((await found?.perform(later, input, person())) ?? refuse("not_found", name)) as Lists;
    };
    expect((await perform("list_todos", {})).todos).toHaveLength(5);
    expect((await perform("list_runs", {})).runs).toHaveLength(2);
    expect((await perform("list_proposals", {})).proposals).toHaveLength(2);
    expect((await perform("list_topics", {})).topics).toHaveLength(2);
    expect(JSON.stringify(await perform("search", { query: "harbour" }))).toContain("two");
    for (const { effect, perform: call } of allOperations) if (effect === "reads") await call(later, {}, person());
    expect((await eventsAfter(later.db, undefined, 5)).length).toBeGreaterThan(0);
    const claimed = [];
    for (let claim = await later.tasks.claim("w"); claim; claim = await later.tasks.claim("w"))
      claimed.push(claim.task.id);
    expect(claimed).toContain(first);
    expect(await operations.approve_proposal.perform(later, { id: await idOf(later, "x") }, person())).toMatchObject({
      ok: false,
    });
    expect(await operations.execute_run.perform(later, { id: made }, person())).toMatchObject({ ok: false });
    const { findings } = await perform("doctor", {});
    expect(JSON.stringify(findings)).toMatch(new RegExp(`unreadable: [^"]*${made}`));
    if (engine === "postgres") return;

    const served = await serve(root);
    const schema = read(join(root, "wiki/schema.yaml"));
    for (const damage of ["\u0000\u0001", "schema: [", "x: ".repeat(50_000)]) {
      writeFileSync(join(root, "wiki/schema.yaml"), damage);
      writeFileSync(join(root, "wiki/notes.md"), `---\n${damage}\n---\n`);
      // The last valid schema serves, with a warning.
      const listed = await ask(served.url, "/api/entries", { token: served.token });
      expect(listed).toMatchObject({
        status: 200,
        headers: { "scriptorium-warning": expect.stringContaining("not%20in%20force") },
      });
      expect((await ask(served.url, "/healthz")).status).toBe(200);
    }
    writeFileSync(join(root, "wiki/schema.yaml"), schema);
    await expect.poll(async () => (await ask(served.url, "/api/entries", { token: served.token })).status).toBe(200);
  });
});

type Lists = Record<string, unknown[]>;

const idOf = async (app: App, subject: string) =>
  (await app.db.read.selectFrom("proposals").select("id").where("subject", "=", subject).executeTakeFirstOrThrow()).id;

describe.each(["", "bench/", "docs/"])("T34, S13: the packages of %spackage-lock.json", (folder) => {
  const { packages } = JSON.parse(read(join(home, folder, "package-lock.json"))) as {
    packages: Record<string, { integrity?: string; hasInstallScript?: boolean; link?: boolean }>;
  };
  const { allowScripts, dependencies, devDependencies } = JSON.parse(read(join(home, folder, "package.json")));
  const locked = Object.entries(packages).filter(([path]) => path !== "");

  test("T34: every package is pinned by its hash, and its version is exact", () => {
    const unpinned = locked.filter(([, { integrity }]) => !/^sha(512|256)-/.test(integrity ?? ""));
    expect(unpinned.map(([path]) => path)).toEqual([]);
    const floating = Object.entries({ ...dependencies, ...devDependencies }).filter(
      ([, version]) => !/^(npm:.+@)?\d+\.\d+\.\d+/.test(String(version)),
    );
    expect(floating).toEqual([]);
  });

  test("S13, T34: no install script runs, with npm 10 either, and a new one is noticed", () => {
    const scripted = locked.filter(([, { hasInstallScript }]) => hasInstallScript);
    const names = scripted.map(([path]) => path.split("node_modules/").at(-1) ?? "").sort();
    expect(Object.keys(allowScripts).sort()).toEqual([...new Set(names)]);
    expect(Object.values(allowScripts).filter((allowed) => allowed !== false)).toEqual([]);
    expect(read(join(home, folder, ".npmrc"))).toMatch(/^ignore-scripts=true$/m);
    const npm = spawnSync("npm", ["config", "get", "ignore-scripts"], { cwd: join(home, folder), encoding: "utf8" });
    expect(npm.stdout.trim()).toBe("true");
  });
});
