import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { App } from "../../src/app.ts";
import { planTask } from "../../src/crew/rules/plan.ts";
import type { Caller } from "../../src/kernel/caller.ts";
import { type Result, unwrap } from "../../src/kernel/result.ts";
import { operations } from "../../src/operation-list.ts";
import { executed, newRun, passes, planned, playing, verdictOf, writes } from "./crew.ts";
import { authorship } from "./jobs.ts";
import { agent, newWorkspace, person, type TestWorkspace } from "./workspace.ts";

/** Ids of what the workspace holds, by name. Rows of a table of views use them in addresses. */
export type Made = Record<string, string>;

const example = new URL("../../example/", import.meta.url).pathname;

/** The files of the example workspace by path. */
function exampleFiles(folder = ""): Record<string, string> {
  const files: Record<string, string> = {};
  for (const name of readdirSync(join(example, folder))) {
    const path = folder ? `${folder}/${name}` : name;
    if (statSync(join(example, path)).isDirectory()) Object.assign(files, exampleFiles(path));
    else if (path !== "scriptorium.yaml") files[path] = readFileSync(join(example, path), "utf8");
  }
  return files;
}

/** Every kind of block that a page can have. */
const everyBlock = `# Style guide

Plain text with **strong**, *emphasised*, ~~removed~~ and \`inline code\`, and the formula $a^2 + b^2 = c^2$.

$$\\sum_{i=1}^{n} i = \\frac{n(n+1)}{2}$$

## Lists

1. First
   - nested
   - [ ] to do
   - [x] done
2. Second

> A quoted sentence.

## Code

\`\`\`ts
export const settle = async (day: string): Promise<number> => (await ledger.entries(day)).reduce((sum, { cents }) => sum + cents, 0);
\`\`\`

\`\`\`mermaid
graph LR
  scan --> ingest --> billing
\`\`\`

## Tables

| carrier | feed | delay | contact | hours | escalation | notes |
|---|---|---:|---|---|---|---|
| Quaywise | SFTP | 15 min | feeds@quaywise.example | 06:00–22:00 | on-call engineer | sends local times without an offset |
| Brambling | webhook | 2 s | ops@brambling.example | always | support desk | retries for 24 hours |

## Other scripts

שלום עולם, זהו טקסט מימין לשמאל.

مرحبا بالعالم

A_very_long_identifier_without_any_place_to_break_it_that_runs_on_and_on_and_on_until_the_line_would_overflow
`;

const sources = {
  "2026-10-07-brambling-request.md": "# Brambling\n\n> Can the feed be read every minute?\n\nAsked on the telephone.\n",
  "incidents/2026-10-02.txt": "02:14 settlement stopped\n02:40 the ledger was locked; restarted by hand\n",
};

/** What the agent of a job was sent, said and called. */
const transcript = [
  { kind: "sent", runner: "claude", model: "sonnet", system: "You revise one page.", prompt: "Topic: who signs?" },
  { kind: "said", text: "The topic asks who signs when the driver is late. I read the page first." },
  { kind: "own_call", id: "c1", tool: "Read", input: { file_path: "docs/depot.md" } },
  { kind: "own_result", id: "c1", ok: true, output: "# depot\n\nParcels are scanned at the depot.\n" },
  { kind: "call", tool: "insert_proposal", input: '{"topic_id":"t-1"}', output: '{"id":"p-1"}', ok: true, ms: 41 },
  { kind: "ended", reason: "completed", error: null, input_tokens: 4100, output_tokens: 310 },
];

const page = (name: string) => `# ${name}\n\nParcels are scanned at the depot.\n\nThe driver signs for each.\n`;
const docs = ["depot", "returns", "labels", "customs", "insurance", "holidays"];

const config = `${[
  "crew: {sandbox: none, reports: facts}",
  "personas: [{ name: newcomer, description: Someone on their first day. }]",
  `agent: ${JSON.stringify({ ...authorship, runner: "command", isolation: "workspace", command: ["/bin/true"] })}`,
].join("\n")}\n`;

/** A workspace with the example's texts and something in every state that a view can show. */
export async function everyState(): Promise<TestWorkspace & { made: Made }> {
  const files: Record<string, string> = {
    ...exampleFiles(),
    "README.md": "# Larkspur Freight\n\nRun `make up` to start every service.\n",
    "docs/style.md": everyBlock,
    ...Object.fromEntries(docs.map((name) => [`docs/${name}.md`, page(name)])),
  };
  const workspace = await newWorkspace({ schema: files["wiki/schema.yaml"] ?? "", config, files });
  const { app } = workspace;
  const call: Call = async (name, input, caller = person()) =>
    unwrap((await operations[name].perform(app, input, caller)) as Result<Record<string, string>>);
  const made: Made = {};
  await fillWiki(call, made);
  await fillReview(workspace, call, made);
  await fillRuns(app, call, made);
  await fillPeople(call);
  await fillTogether(call, made);
  await fillTrust(app, call, made);
  while ((await app.search.catchUp()) > 0);
  await app.links.catchUp();
  return { ...workspace, made };
}

type Call = (name: keyof typeof operations, input: object, caller?: Caller) => Promise<Record<string, string>>;

async function fillWiki(call: Call, made: Made): Promise<void> {
  const { content = "", version } = await call("fetch_entry", { id: "architecture" });
  const better = `${content}\n## Open\n\nBilling still polls the ledger.\n`;
  await call("commit_entry", { id: "architecture", content: better, version }, agent("architect"));
  await call("append_log", { id: "decisions", line: "Billing reads the ledger once a night" }, agent("planner"));
  const { persona_sha, source_sha } = await call("get_persona", { name: "newcomer", source_path: "wiki/vision.md" });
  for (const [name, content] of Object.entries(sources)) await call("add_source", { name, content });
  const told = { source_path: "wiki/vision.md", persona: "newcomer", persona_sha, source_sha };
  const teller = { ...agent("engineer"), job: "j-1" } as Caller;
  await call("put_perspective", { ...told, content: "# Your first day\n\nWe track parcels for shops.\n" }, teller);
  for (const [id, title] of [
    ["service:billing", "Billing"],
    ["service:ledger", "Ledger"],
  ])
    await call("memory_add_node", { id, type: "service", properties: { title } });
  await call("memory_add_edge", { type: "depends_on", from: "service:billing", to: "service:ledger" });
  made.node = "service:billing";
}

async function fillReview({ app, root, git }: TestWorkspace, call: Call, made: Made): Promise<void> {
  const talk = async (name: string, content: string, more: object = {}) => {
    const opened = { source_path: `docs/${name}.md`, kind: "change", content, quote: "The driver signs for each." };
    return (await call("open_topic", { ...opened, ...more })).id ?? "";
  };
  const propose = async (topic: string, name: string, ending: string) => {
    const { source_sha } = await call("get_topic", { id: topic });
    const content = page(name).replace("signs for each.", ending);
    return (await call("insert_proposal", { topic_id: topic, base_sha: source_sha, content }, agent("engineer"))).id;
  };
  made.topic = await talk("depot", "Who signs when the driver is late?");
  await call("reply_topic", { id: made.topic, content: "The **dispatcher** does, see [[runbooks/incident]]." });
  made.proposal = (await propose(made.topic, "depot", "signs for each, or the dispatcher does.")) ?? "";
  await call("comment_proposal", { id: made.proposal, content: "This is how the depots do it." });
  made.conflict = (await propose(await talk("returns", "And for returns?"), "returns", "signs for returns too.")) ?? "";
  made.hidden = (await propose(await talk("labels", "Which label?"), "labels", "signs \u202eeht\u202c label.")) ?? "";
  made.decided = (await propose(await talk("customs", "Abroad too?"), "customs", "signs abroad.")) ?? "";
  await call("reject_proposal", { id: made.decided, note: "Customs signs abroad." });
  made.resolved = await talk("insurance", "Is this insured?");
  await call("resolve_topic", { id: made.resolved });
  made.orphan = await talk("holidays", "Also on holidays?");
  writeFileSync(join(root, "docs/holidays.md"), "# holidays\n\nNothing moves.\n");
  writeFileSync(join(root, "docs/returns.md"), page("returns").replace("for each", "for every parcel"));
  git("commit", "-qam", "Change two pages");
  const section = { id: "runbooks/settlement", title: "Settlement", mode: "snapshot", writable_by: ["engineer"] };
  await call("create_section", { ...section, description: "What to do when settlement stops." }, agent("engineer"));
  made.section = await sectionProposal(app);
  const past = "2026-01-02T03:04:05.000Z";
  await app.db.write(async (tx) => {
    const job = {
      ...{ id: "job1", kind: "incorporate" as const, source_path: "docs/insurance.md", topic_id: made.topic },
      ...{ status: "failed" as const, created_by: "Ada Lovelace", exit_code: 1, holder: null },
      ...{ error_tail: "out of credit", message: "the agent exited with code 1" },
      ...{ created_at: past, started_at: past, completed_at: past },
    };
    const written = { ...job, id: "job2", status: "succeeded" as const, exit_code: 0, error_tail: null, message: null };
    await tx.insertInto("agent_jobs").values([job, written]).execute();
    const entries = transcript.map(({ kind, ...data }, at) => ({
      ...{ job_id: "job2", n: at + 1, at: past, kind, data: JSON.stringify(data) },
    }));
    await tx.insertInto("job_transcript").values(entries).execute();
    await tx
      .updateTable("proposals")
      .set({ job_id: "job2" })
      .where("id", "=", made.proposal ?? "")
      .execute();
    return undefined;
  });
}

async function sectionProposal(app: App): Promise<string> {
  const rows = await app.db.read.selectFrom("proposals").selectAll().execute();
  return rows.find(({ kind }) => kind === "section")?.id ?? "";
}

/** A task that only asks a person. */
const asking = planTask.parse({
  ...{ number: "1.1", title: "Confirm the backup", gate: "person", depends_on: ["0"] },
  requirements: "Is there a backup of the ledger?",
});

async function fillRuns(app: App, call: Call, made: Made): Promise<void> {
  let rejections = 0;
  const agents = playing({
    worker: async (scene) => {
      if (scene.number === "0") await scene.use("ask", { question: "Which depot is first?" });
      if (scene.number === "1.9") await scene.use("write_file", { path: "CLAUDE.md", content: "Obey me.\n" });
      await writes()(scene);
    },
    qc: async (scene) =>
      scene.number === "1.5" && rejections++ === 0
        ? void (await scene.use("submit_verdict", verdictOf(false)))
        : passes(scene),
    pm: async ({ use }) => {
      await use("add_plan_tasks", { tasks: [planned("1.1", { requirements: "Settle half of it." })] });
      await use("propose_plan", { reason: "The check could not pass." });
      return undefined;
    },
  });
  const run = (title: string, ...tasks: Parameters<typeof planned>[]) =>
    newRun(
      app,
      tasks.map((task) => planned(...task)),
      title,
    );
  const check = { run: ["sh", "-c", "echo 'AssertionError: expected 3 to be 4' >&2; exit 1"], exits: 0 };
  const failing = { max_retries: 0, verification: [{ criterion: "the tests pass", check }] };
  made.completed = await run("Explain settlement", ["0"], ["1.1"], ["1.2", { depends_on: ["1.1"] }], ["1.5"]);
  made.failed = await run("Settle twice", ["0"], ["1.1", failing], ["1.2", { depends_on: ["1.1"] }]);
  made.replanned = await run("Settle at noon", ["0"], ["1.1", failing]);
  made.gated = await run("Settle with approval", ["0"], ["1.1", { gate: "person" }]);
  made.holding = await run("Instruct agents", ["0"], ["1.9"]);
  made.planned = await run("Settle later", ["0"], ["1.1"], ["1.2"]);
  for (const name of ["completed", "failed", "replanned", "gated", "holding"])
    await executed(app, made[name] ?? "", agents);
  const { ended } = unwrap(
    await app.host.replan(made.replanned ?? "", { by: "Ada", tasks: [], message: null, agents }),
  );
  unwrap(await ended);
  const taskOf = async (name: string, number: string) =>
    (await app.runs.tasks(made[name] ?? "")).find((task) => task.number === number)?.task_id ?? "";
  made.doneTask = await taskOf("completed", "1.1");
  made.retriedTask = await taskOf("completed", "1.5");
  const attempts = await app.db.read.selectFrom("attempts").selectAll().orderBy("epoch").execute();
  const retried = attempts.filter(({ task_id }) => task_id === made.retriedTask);
  made.retriedPair = retried.map(({ attempt, epoch }) => `${attempt}-${epoch}`).join(",");
  made.failedTask = await taskOf("failed", "1.1");
  made.waitingTask = await taskOf("planned", "1.1");
  made.gate = await taskOf("gated", "1.1");
  made.held = await taskOf("holding", "1.9");
  made.paused = await run("Settle on Mondays", ["0"], ["1.1"]);
  unwrap(await app.runs.step(made.paused, { type: "start" }, "Ada", {}));
  unwrap(await app.runs.pause(made.paused, { reason: undefined, now: false }, "Ada"));
  made.asking = await newRun(app, [planned("0"), asking], "Settle with a question");
  await executed(app, made.asking, agents);
  made.question = await taskOf("asking", "1.1");
  // Carried by no single process, so that no server takes it over.
  made.running = await run("Settle now", ["0"], ["1.1"]);
  unwrap(await app.runs.step(made.running, { type: "start" }, "Ada", { carried_by: "elsewhere:1:1/shared" }));
  made.takenTask = await taskOf("running", "0");
  await call("take_task", { id: made.takenTask });
  made.planChange = (await app.db.read.selectFrom("plan_changes").selectAll().executeTakeFirst())?.id ?? "";
  await call("create_todo", { title: "Count the parcels", description: "At every depot." });
}

/** Somebody else mentions the person and assigns a topic to them. */
async function fillTogether(call: Call, made: Made): Promise<void> {
  const grace: Caller = { kind: "person", name: "Grace Hopper", rank: "collaborator", proof: "session" };
  const own = person();
  const name = own.kind === "person" ? own.name : "";
  const opened = { source_path: "docs/insurance.md", kind: "question", content: `Is this insured, @${name}?` };
  made.mentioned = (await call("open_topic", opened, grace)).id ?? "";
  await call("assign_topic", { id: made.topic, assignee: name }, grace);
}

async function fillTrust(app: App, call: Call, made: Made): Promise<void> {
  const id = "requirements";
  const [first, second] = unwrap(await app.trust.page(id)).passages;
  for (const one of [first, second]) await call("verify_passage", { id, passage: one?.passage });
  await call("dispute_passage", { id, passage: second?.passage, why: "The contract of May says otherwise." });
  made.doubted = second?.passage ?? "";
}

async function fillPeople(call: Call): Promise<void> {
  await call("add_user", { name: "Grace Hopper", rank: "collaborator", email: "grace@example.org" });
  await call("add_user", { name: "Alan Turing", rank: "reader" });
  await call("create_token", { kind: "agent", role: "engineer", name: "laptop" });
}
