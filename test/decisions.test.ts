import { execFileSync } from "node:child_process";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ProcessInfo } from "../src/agents/ancestors.ts";
import type { App } from "../src/app.ts";
import type { Person } from "../src/kernel/caller.ts";
import { fromWire } from "../src/kernel/camel.ts";
import { unwrap } from "../src/kernel/result.ts";
import { type Inputs, openWorkspace } from "../src/library.ts";
import { allOperations, operationNamed, operations } from "../src/operation-list.ts";
import type { OperationName } from "../src/operation-loaders.ts";
import { scribe, scriptorium, scriptoriumOfPerson, scriptoriumProcess, serve } from "./support/commands.ts";
import { newRun, planned } from "./support/crew.ts";
import { jobWorkspace, openTopic, pageText, program, startJob } from "./support/jobs.ts";
import { eras, overHttp } from "./support/mcp.ts";
import { orphaned } from "./support/orphan.ts";
import { ask } from "./support/requests.ts";
import { atTerminal, keys } from "./support/terminal.ts";
import {
  agent,
  type Backend,
  engines,
  newWorkspace,
  ownerEnvironment,
  person,
  type TestWorkspace,
  temporaryFolder,
  testEnvironment,
} from "./support/workspace.ts";

const section = (id: string) => ({ id, title: id, mode: "snapshot", writable_by: ["planner"], description: "More" });

/** Approve and reject, sections, tokens and what signs people in, users, budgets, revert, overturn, force-release. */
const decisions = [
  "add_user",
  "approve_proposal",
  "change_user",
  "create_sign_in_link",
  "create_token",
  "execute_run",
  "overturn_task",
  "reject_proposal",
  "release_task",
  "remove_passkey",
  "remove_user",
  "rename_section",
  "revert_run",
  "revoke_session",
  "revoke_sessions",
  "revoke_token",
] as const satisfies OperationName[];
type Decision = (typeof decisions)[number];

/** Tested with what they decide about, in the tests of held files, settings, doctor, focus, gates, steering, repairs and decisions in a browser. */
const otherDecisions = [
  "import_okf",
  "confirm_recheck",
  "verify_passage",
  "configure_agent",
  "test_agent",
  "acknowledge_finding",
  "allow_files",
  "allow_settings",
  "approve_task",
  "confirm_plan_change",
  "create_page",
  "decide_proposal",
  "doctor_fix",
  "hand_back_task",
  "merge_run",
  "move_focus",
  "move_page",
  "open_pull_request",
  "refuse_files",
  "reject_plan_change",
  "rerun_run",
  "reject_task",
  "return_task",
  "steer_task",
  "take_task",
  "undo_decision",
] as const satisfies OperationName[];

type Case = { input: Record<string, unknown>; command: string[] };

/** A workspace in which each decision could be made, with the input and the command of each. */
async function everyDecision(backend: Partial<Backend> = {}) {
  const made = await newWorkspace({ ...backend, config: "crew: { budget: { run_tokens: 1000 } }\n" });
  const { app } = made;
  const planner = agent("planner");
  const proposed = unwrap(await operations.create_section.perform(app, section("limits"), planner)).proposal_id;
  unwrap(await app.knowledge(planner).commitEntry("vision", "written by an agent\n", 1));
  const known = { kind: "agent", role: "planner", name: "planner", expiresAt: undefined, by: "Ada" } as const;
  const token = await app.tokens.create(known);
  unwrap(await app.users.add({ name: "Bob", email: undefined, role: "reader" }, "Ada"));
  const bob = { person: "Bob", isOwner: false, tokenId: null };
  const session = await app.sessions.open(bob, "a browser");
  const credential = { id: "credential", publicKey: "key", counter: 0, transports: [] };
  const passkey = await app.passkeys.add(bob, credential, "a device");
  const wanted = { description: "", dependsOn: [], priority: 0, run: null, maxRetries: 2 };
  const [done, held] = await Promise.all(
    ["done", "held"].map(async (title) => unwrap(await app.tasks.create({ ...wanted, title }, "Ada")).id),
  );
  const claim = unwrap(await operations.lock_todo.perform(app, { id: done, agent_id: "w" }, person()));
  unwrap(
    await operations.update_todo.perform(
      app,
      { id: done, status: "completed", output: "x", ...claimOf(claim) },
      person(),
    ),
  );
  unwrap(await operations.lock_todo.perform(app, { id: held, agent_id: "w" }, person()));
  const run = await newRun(app, [planned("0")]);
  const cases: Record<Decision, Case> = {
    add_user: { input: { name: "Eve", rank: "admin" }, command: ["user", "add", "Eve", "--rank", "admin"] },
    approve_proposal: { input: { id: proposed }, command: ["proposal", "approve", proposed] },
    change_user: { input: { name: "Bob", rank: "admin" }, command: ["user", "rank", "Bob", "admin"] },
    create_sign_in_link: { input: { name: "Bob" }, command: ["session", "link", "Bob"] },
    create_token: {
      input: { kind: "person", name: "Eve", rank: "admin" },
      command: ["token", "create", "--person", "Eve", "--rank", "admin"],
    },
    execute_run: {
      input: { id: run, budget_tokens: 1_000_000 },
      command: ["execute", run, "--budget-tokens", "1000000"],
    },
    overturn_task: {
      input: { id: done, reason: "wrong", confirm: true },
      command: ["task", "overturn", done ?? "", "--reason", "wrong", "--confirm"],
    },
    reject_proposal: { input: { id: proposed }, command: ["proposal", "reject", proposed] },
    release_task: { input: { id: held }, command: ["task", "release", held ?? "", "--force"] },
    remove_passkey: { input: { id: passkey.id }, command: ["session", "remove-passkey", passkey.id] },
    remove_user: { input: { name: "Bob" }, command: ["user", "remove", "Bob"] },
    rename_section: { input: { id: "notes", new_id: "memos" }, command: ["section", "rename", "notes", "memos"] },
    revert_run: { input: { role: "planner", confirm: true }, command: ["revert", "--role", "planner", "--confirm"] },
    revoke_session: { input: { id: session.id }, command: ["session", "revoke", session.id] },
    revoke_sessions: { input: { person: "Bob" }, command: ["session", "revoke-all", "Bob"] },
    revoke_token: { input: { id: token.id }, command: ["token", "revoke", token.id] },
  };
  return { ...made, agentToken: token.token, cases: Object.entries(cases) as [Decision, Case][] };
}

const claimOf = (claim: object) =>
  Object.fromEntries(Object.entries(claim).filter(([field]) => field === "epoch" || field === "secret"));

const tables = [
  ...(["proposals", "tokens", "sessions", "sign_in_codes", "passkeys", "users"] as const),
  ...(["tasks", "entry_versions", "schema_versions", "runs"] as const),
];

/** Everything that a decision changes. */
const stateOf = async (app: App): Promise<unknown> =>
  Promise.all(tables.map((table) => app.db.read.selectFrom(table).selectAll().execute()));

const marks = {
  SCRIPTORIUM_JOB: "j-elsewhere",
  SCRIPTORIUM_RUN: "run-1",
  CLAUDECODE: "1",
  CLAUDE_CODE_ENTRYPOINT: "cli",
  CODEX_SANDBOX: "seatbelt",
  CODEX_THREAD_ID: "x",
  GEMINI_CLI: "1",
  QWEN_CODE: "1",
  OPENCODE: "1",
  COPILOT_CLI: "1",
  CURSOR_AGENT: "1",
  GOOSE_TERMINAL: "1",
  CLINE_ACTIVE: "true",
  AUGMENT_AGENT: "1",
  AI_AGENT: "claude-code",
  AGENT: "amp",
};
const parent = (args: string[], env: Record<string, string> = {}): ProcessInfo => ({ pid: 4711, parent: 1, args, env });

test("V1, S6: the decisions are those of people: approvals, tokens, users, budgets, revert, overturn, forced release", () => {
  expect(
    allOperations
      .filter(({ decision }) => decision)
      .map(({ name }) => name)
      .sort(),
  ).toEqual([...decisions, ...otherDecisions].sort());
});

describe.each(engines)("V1, S6: a decision without a person's proof is refused (%s)", (engine) => {
  test("by every command of the shell that has neither a terminal nor a token", async () => {
    const { root, app, cases } = await everyDecision({ engine });
    const before = await stateOf(app);
    for (const [name, { command }] of cases) {
      const ran = await scriptorium(command, { cwd: root, env: { SCRIPTORIUM_TOKEN: "" } });
      expect(ran, name).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("SCRIPTORIUM_TOKEN") });
      const asJson = await scriptorium([...command, "--json"], { cwd: root, env: { SCRIPTORIUM_TOKEN: "" } });
      expect(asJson.json(), name).toMatchObject({ status: "denied" });
    }
    expect(await stateOf(app)).toEqual(before);
  });

  test("by the library, also with a caller that a program made itself", async () => {
    const { root, app, cases } = await everyDecision({ engine });
    const before = await stateOf(app);
    const library = await openWorkspace(root);
    const forged: Person = { kind: "person", name: "Ada Lovelace", rank: "admin", proof: "terminal" };
    for (const [name, { input }] of cases) {
      const given = fromWire(operationNamed(name).input, input) as Inputs[Decision];
      for (const caller of [undefined, forged, agent("planner")]) {
        const done = await library.call(name, given, caller);
        expect(done, name).toMatchObject({ ok: false, problem: { code: "denied" } });
      }
    }
    await library.close();
    expect(await stateOf(app)).toEqual(before);
  });

  test("over HTTP and MCP with an agent's token, and over MCP with a person's, which an agent holds there", async () => {
    const { root, app, agentToken, cases } = await everyDecision({ engine });
    const { url, token } = await serve(root);
    const before = await stateOf(app);
    const [overAgent, ...overPerson] = [
      await overHttp(url, agentToken, eras[0], "all"),
      ...(await Promise.all(eras.map((era) => overHttp(url, token, era, "all")))),
    ];
    for (const [name, { input }] of cases) {
      const { http } = operationNamed(name);
      const path = http?.path.replace(/\{(\w+)\}/g, (_, field: string) => encodeURIComponent(String(input[field])));
      const body = http?.method === "delete" ? {} : { body: input };
      const asked = await ask(url, `/api${path}`, {
        method: http?.method.toUpperCase() ?? "",
        token: agentToken,
        ...body,
      });
      expect(asked, name).toMatchObject({ status: 403 });
      for (const { call } of overPerson) {
        const answer = await call(name, input);
        expect(answer, name).toMatchObject({
          status: "denied",
          error: expect.stringContaining("decision of a person"),
        });
      }
      const byAgent = await overAgent?.client
        .callTool({ name, arguments: input })
        .catch((error: Error) => error.message);
      expect(JSON.stringify(byAgent), name).toMatch(/denied|not found|no tool/i);
    }
    expect(await stateOf(app)).toEqual(before);
  });
});

describe("V1, S6: a process of an agent decides nothing, whatever token it has", () => {
  test.each(Object.entries(marks))("with %s=%s, its own or an ancestor's", async (name, value) => {
    const { root, app, cases } = await everyDecision();
    const before = await stateOf(app);
    const ancestors = [parent(["-bash"]), parent(["bash", "-c", "…"], { [name]: value }), parent(["/sbin/init"])];
    for (const [decision, { command }] of cases) {
      for (const how of [{ env: { [name]: value } }, { ancestors }]) {
        const ran = await scriptorium(command, { cwd: root, ...how });
        expect(ran, decision).toMatchObject({
          code: 1,
          stderr: expect.stringMatching(/runs inside .* decisions are made by people/),
        });
        expect(ran.stderr).toContain(name);
      }
    }
    expect(await stateOf(app)).toEqual(before);
  });

  test("with no variable left, when an ancestor is an agent's program", async () => {
    const { root, app, cases } = await everyDecision();
    const before = await stateOf(app);
    const ancestors = [parent(["node", "/usr/lib/node_modules/.bin/claude", "-p"])];
    for (const [, { command }] of cases)
      expect(await scriptorium(command, { cwd: root, ancestors })).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("runs inside Claude Code"),
      });
    expect(await stateOf(app)).toEqual(before);
  });

  test("and still reads, writes and previews, because only decisions need a person", async () => {
    const { root } = await everyDecision();
    const how = { cwd: root, env: { CLAUDECODE: "1", SCRIPTORIUM_TOKEN: "" } };
    for (const command of [
      ["entry", "list"],
      ["task", "add", "more"],
      ["proposal", "list"],
      ["revert", "--role", "planner"],
    ])
      expect(await scriptorium(command, how)).toMatchObject({ code: 0 });
  });
});

describe("V1: a token of a person decides for scripts", () => {
  test("the owner's with --token or SCRIPTORIUM_TOKEN, and another person's with their name and rank", async () => {
    const { root, app, cases } = await everyDecision();
    const { SCRIPTORIUM_TOKEN: owner = "" } = ownerEnvironment(root);
    const nobody = { SCRIPTORIUM_TOKEN: "" };
    const made = await scriptorium(
      ["token", "create", "--person", "Grace", "--rank", "collaborator", "--token", owner, "--json"],
      { cwd: root, env: nobody },
    );
    const { token } = made.json<{ token: string }>();
    const [, approve] = cases.find(([name]) => name === "approve_proposal") ?? [];
    const denied = await scriptorium(["token", "create", "--agent", "planner", "--token", token], { cwd: root });
    expect(denied).toMatchObject({ code: 1, stderr: expect.stringContaining("may not call create_token") });
    expect(await scriptorium(approve?.command ?? [], { cwd: root, env: { SCRIPTORIUM_TOKEN: token } })).toMatchObject({
      code: 0,
    });
    expect(await app.proposals.list()).toMatchObject([{ status: "approved", decidedBy: "Grace" }]);
  });

  test("but not an agent's, an unknown or a revoked one", async () => {
    const { root, app, agentToken, cases } = await everyDecision();
    const revoked = await app.tokens.create({
      kind: "person",
      name: "Eve",
      role: "admin",
      expiresAt: undefined,
      by: "Ada",
    });
    unwrap(await app.tokens.revoke(revoked.id, "Ada"));
    const before = await stateOf(app);
    for (const [, { command }] of cases) {
      for (const [token, why] of [
        [agentToken, "belongs to an agent (planner)"],
        ["sct_guess", "unknown, expired or revoked"],
        [revoked.token, "unknown, expired or revoked"],
      ] as const) {
        const ran = await scriptorium([...command, "--token", token], { cwd: root });
        expect(ran).toMatchObject({
          code: 1,
          stderr: expect.stringContaining(`--token: the token ${why.startsWith("belongs") ? "" : "is "}${why}`),
        });
      }
    }
    expect(await stateOf(app)).toEqual(before);
  });

  test("in the library, with the caller that signIn returns", async () => {
    const { root, app, agentToken, cases } = await everyDecision();
    const script = join(temporaryFolder(), "approve.mjs");
    const [, approve] = cases.find(([name]) => name === "approve_proposal") ?? [];
    writeFileSync(
      script,
      `import { openWorkspace } from ${JSON.stringify(new URL("../dist/library.js", import.meta.url).href)};
const workspace = await openWorkspace(process.argv[2]);
const me = await workspace.signIn(process.argv[3]);
const done = me.ok ? await workspace.call("approve_proposal", ${JSON.stringify(approve?.input)}, me.value) : me;
console.log(JSON.stringify(done));
await workspace.close();`,
    );
    const { SCRIPTORIUM_TOKEN: owner = "" } = ownerEnvironment(root);
    const run = (token: string, env = {}) => {
      const [program, args] = orphaned([process.execPath, script, root, token]);
      return JSON.parse(execFileSync(program, args, { encoding: "utf8", env: { ...testEnvironment(), ...env } }));
    };
    expect(run(agentToken)).toMatchObject({ ok: false, problem: { code: "denied" } });
    expect(run(owner, { CLAUDECODE: "1" })).toMatchObject({
      problem: { message: expect.stringContaining("Claude Code") },
    });
    expect((await app.proposals.list("open")).length).toBe(1);
    expect(run(owner)).toMatchObject({ ok: true, value: { status: "approved", decidedBy: "Ada Lovelace" } });
  });

  test("a new workspace has the owner's token, which no one else can read", async () => {
    const folder = temporaryFolder();
    expect(await scriptorium(["init", "book"], { cwd: folder })).toMatchObject({ code: 0 });
    const root = join(folder, "book");
    expect(ownerEnvironment(root).SCRIPTORIUM_TOKEN).toMatch(/^[\w-]{32}$/);
    const made = await scriptorium(["token", "create", "--agent", "agent", "--json"], { cwd: root });
    expect(made.json()).toMatchObject({ kind: "agent" });
  });
});

async function pageProposal(made: TestWorkspace, text = pageText.replace("the button", "the\u202e green button")) {
  const topic = await openTopic(made.app);
  const page = unwrap(await made.app.pages.read("docs/deploy.md"));
  const input = { topic_id: topic, base_sha: page.blob, content: text };
  return unwrap(await operations.insert_proposal.perform(made.app, input, person())).id;
}

describe("V1: at a terminal a person confirms a decision with a typed word", () => {
  test("after they saw what it does, hidden characters and topics included", async () => {
    const made = await jobWorkspace();
    const id = await pageProposal(made);
    const terminal = atTerminal(["proposal", "approve", id, "--accept-hidden"], { cwd: made.root });
    await terminal.answer("page docs/deploy.md");
    await terminal.answer("contains hidden characters: U+202E");
    await terminal.answer("1 line added, 1 removed");
    await terminal.answer("Type approve to confirm:", "approve", keys.enter);
    expect(await terminal.end()).toMatchObject({ code: 0, screen: expect.stringContaining(`approved ${id}`) });
    expect(await made.app.proposals.find(id)).toMatchObject({ status: "approved", decidedBy: "Ada Lovelace" });
  });

  test("any other word, Ctrl-C and the end of the input change nothing, and --yes is not an option", async () => {
    const made = await jobWorkspace();
    const id = await pageProposal(made);
    for (const [typed, code] of [
      [["yes", keys.enter], 1],
      [[keys.enter], 1],
      [[keys.interrupt], 1],
      [["\u0004"], 1],
    ] as const) {
      const terminal = atTerminal(["proposal", "approve", id], { cwd: made.root });
      await terminal.answer("Type approve to confirm:", ...typed);
      expect(await terminal.end()).toMatchObject({ code, screen: expect.stringContaining("not confirmed") });
    }
    expect(await scriptorium(["proposal", "approve", id, "--yes"], { cwd: made.root })).toMatchObject({ code: 2 });
    expect(await made.app.proposals.find(id)).toMatchObject({ status: "open" });
  });

  test("T35: a page that changes between the question and the answer is not approved unseen", async () => {
    const made = await jobWorkspace();
    const id = await pageProposal(made);
    const terminal = atTerminal(["proposal", "approve", id, "--merge"], { cwd: made.root });
    await terminal.answer("Type approve to confirm:");
    writeFileSync(join(made.root, "docs/deploy.md"), `${pageText}\nCall the operator.\n`);
    made.git("commit", "-qam", "Add the operator");
    await terminal.answer("", "approve", keys.enter);
    expect(await terminal.end()).toMatchObject({
      code: 1,
      screen: expect.stringContaining("changed since you opened"),
    });
    expect(await made.app.proposals.find(id)).toMatchObject({ status: "open" });
  });

  test("a terminal inside an agent is not a person's", async () => {
    const made = await jobWorkspace();
    const id = await pageProposal(made);
    const terminal = atTerminal(["proposal", "approve", id], { cwd: made.root, env: { GEMINI_CLI: "1" } });
    expect(await terminal.end()).toMatchObject({ code: 1, screen: expect.stringContaining("runs inside Gemini CLI") });
  });

  test("a budget is raised and a claim is broken after the same question", async () => {
    const { root, app, cases } = await everyDecision();
    const of = (name: Decision) => cases.find(([one]) => one === name)?.[1].command ?? [];
    const raised = atTerminal(of("execute_run"), { cwd: root });
    await raised.answer("tokens: 1000 → 1000000");
    await raised.answer("Type raise to confirm:", "no", keys.enter);
    expect(await raised.end()).toMatchObject({ code: 1 });
    const released = atTerminal(of("release_task"), { cwd: root });
    await released.answer("Type release to confirm:", "release", keys.enter);
    expect(await released.end()).toMatchObject({ code: 0 });
    const reverted = atTerminal(of("revert_run"), { cwd: root });
    await reverted.answer("vision: would revert version 2");
    await reverted.answer("Type revert to confirm:", "revert", keys.enter);
    expect(await reverted.end()).toMatchObject({ code: 0 });
    expect(unwrap(await app.knowledge(person()).fetchEntry("vision")).version).toBe(3);
  });
});

describe("V1, S6: real processes", () => {
  const node = JSON.stringify(process.execPath);
  const cli = JSON.stringify(new URL("../dist/scriptorium.js", import.meta.url).pathname);

  test("a child without the mark of an agent's shell is refused, and a person's script is not", async () => {
    const made = await jobWorkspace();
    const id = await pageProposal(made);
    const { SCRIPTORIUM_TOKEN: token = "" } = ownerEnvironment(made.root);
    const approve = `${node} ${cli} proposal approve ${id} --token ${token}`;
    const inAgent = (script: string) => {
      const env = { ...testEnvironment(), CLAUDECODE: "1" };
      try {
        return execFileSync("bash", ["-c", `${script} 2>&1; true`], { cwd: made.root, env, encoding: "utf8" });
      } catch (error) {
        return String((error as { stdout: string }).stdout);
      }
    };
    for (const script of [
      approve,
      `env -u CLAUDECODE ${approve}`,
      `env -i ${approve}`,
      `(unset CLAUDECODE; ${approve})`,
    ])
      expect(inAgent(script)).toContain("runs inside Claude Code");
    const claude = join(temporaryFolder(), "claude");
    writeFileSync(
      claude,
      `#!/usr/bin/env node\nrequire("node:child_process").spawnSync("env", ["-i", ...process.argv.slice(2)], { stdio: "inherit" });\n`,
    );
    chmodSync(claude, 0o755);
    const byProgram = execFileSync("bash", ["-c", `${JSON.stringify(claude)} ${approve} 2>&1; true`], {
      cwd: made.root,
      env: testEnvironment(),
      encoding: "utf8",
    });
    expect(byProgram).toContain("runs inside Claude Code");
    expect(await made.app.proposals.find(id)).toMatchObject({ status: "open" });

    const byScript = await scriptoriumOfPerson(["proposal", "approve", id, "--accept-hidden", "--json"], {
      cwd: made.root,
    });
    expect(byScript, byScript.stderr).toMatchObject({ code: 0 });
    expect(await made.app.proposals.find(id)).toMatchObject({ status: "approved" });
  });

  test("an agent of a job in the workspace approves nothing, makes no token, and stays in its job without its variable", async () => {
    const made = await jobWorkspace();
    const [mine, other] = [await openTopic(made.app), await openTopic(made.app)];
    const id = await pageProposal(made);
    const scribePath = JSON.stringify(new URL("../dist/scribe.js", import.meta.url).pathname);
    const text = `cat > /dev/null
token=$(cat .scriptorium/token)
try() { "$@" 2>&1 && echo "SUCCEEDED: $*"; }
for clean in "env" "env -u SCRIPTORIUM_JOB -u SCRIPTORIUM_RUN" "env -i PATH=$PATH" "env CLAUDECODE= SCRIPTORIUM_JOB="; do
  for proof in "" "--token $token"; do
    try $clean ${node} ${cli} proposal approve ${id} $proof
    try $clean ${node} ${cli} token create --person Eve --rank admin $proof
    try $clean ${node} ${cli} user add Eve --rank admin $proof
    try $clean ${node} ${cli} revert --role planner --confirm $proof
    try $clean ${node} ${cli} task overturn task-1 --reason wrong --confirm $proof
    try $clean ${node} ${cli} topic resolve ${other} $proof
  done
  echo "# mine now" | try $clean ${node} ${scribePath} insert-proposal --topic-id ${other} --base-sha ${made.git("rev-parse", "HEAD:docs/deploy.md")}
  try $clean ${node} ${scribePath} append-log --role planner --id decisions --line "by no job"
done
echo "tried everything"`;
    const config = join(made.root, "scriptorium.yaml");
    const block = {
      author_name: "Agent",
      author_email: "agent@example.org",
      runner: "command",
      isolation: "workspace",
      command: [program(made.root, text)],
    };
    writeFileSync(
      config,
      `${readFileSync(config, "utf8").replace(/^agent: .*\n/m, "")}agent: ${JSON.stringify(block)}\n`,
    );
    const before = await stateOf(made.app);
    const command = ["job", "start", "--kind", "incorporate", "--topic", mine, "--wait", "--json"];
    const { log } = (await scriptoriumProcess(command, { cwd: made.root })).json<{ log: string }>();
    expect(readFileSync(log, "utf8")).toContain("tried everything");
    expect(readFileSync(log, "utf8")).not.toContain("SUCCEEDED");
    expect(await stateOf(made.app)).toEqual(before);
    expect(await made.app.topics.find(other)).toMatchObject({ status: "open" });
  }, 240_000);

  test("R11, V1: scribe is bound to the job of its ancestors and to no other, and scriptorium is not for agents of jobs", async () => {
    const made = await jobWorkspace();
    const topic = await openTopic(made.app);
    const ancestors = [parent(["sh"], { SCRIPTORIUM_JOB: "j-none" })];
    const bound = await scribe(["get-topic", "--id", topic], { cwd: made.root, ancestors });
    expect(bound).toMatchObject({ code: 1, stderr: expect.stringContaining("no job j-none in this workspace") });
    const other = await scribe(["get-topic", "--id", topic], {
      cwd: made.root,
      ancestors,
      env: { SCRIPTORIUM_JOB: "j-2" },
    });
    expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining("the job that started it") });
    const { job_id: job } = unwrap(await startJob(made.app, { topic_id: topic }));
    for (const how of [{ env: { SCRIPTORIUM_JOB: job } }, { ancestors: [parent(["sh"], { SCRIPTORIUM_JOB: job })] }]) {
      const resolved = await scriptorium(["topic", "resolve", topic], { cwd: made.root, ...how });
      expect(resolved).toMatchObject({ code: 1, stderr: expect.stringContaining(`runs inside job ${job}`) });
    }
    expect(await made.app.topics.find(topic)).toMatchObject({ status: "open" });
  });
});
