import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Script } from "../src/agents/scripted.ts";
import type { App } from "../src/app.ts";
import type { Job } from "../src/jobs/job.ts";
import { promptFor } from "../src/jobs/prompt.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { scriptorium } from "./support/commands.ts";
import { jobWorkspace, over, program, runQueue } from "./support/jobs.ts";
import { agent, allEvents, engines, person, type TestWorkspace } from "./support/workspace.ts";

const page = "docs/deploy.md";
const text = "# Deploy\n\nThe server waits 30 seconds for `drain_timeout`.\n\n- Push the button.\n";

/** A page whose passage says something about a file of the repository. */
async function workspace(engine: (typeof engines)[number], seconds: number): Promise<TestWorkspace> {
  const made = await jobWorkspace({}, { engine });
  writeFileSync(join(made.root, page), text);
  writeFileSync(join(made.root, "server.conf"), `# How long to wait\ndrain_timeout = ${seconds} seconds\n`);
  writeFileSync(join(made.root, ".env"), "drain_timeout = secret\n");
  made.git("add", "server.conf", page);
  made.git("commit", "-qm", "Configure the server");
  return made;
}

const passageOf = async (app: App, words: string) =>
  unwrap(await operations.get_trust.perform(app, { id: page }, person())).passages.find((one) =>
    one.text.includes(words),
  );

async function recheck(app: App, words: string): Promise<Job> {
  const passage = (await passageOf(app, words))?.passage ?? "";
  const started = await operations.recheck_passage.perform(app, { id: page, passage }, person("collaborator"));
  return over(app, unwrap(started).job_id);
}

type Call = (name: string, input: object) => Promise<unknown>;

/** An agent that is given the operations and the parameters of its prompt. */
const plays =
  (
    work: (call: Call, own: { source_path: string | undefined; passage: string | undefined }) => Promise<void>,
  ): Script =>
  async ({ tools, prompt }) => {
    const of = (label: string) => new RegExp(`${label}: (.+)`).exec(prompt)?.[1];
    const call: Call = async (name, input) => {
      const done = await tools?.call(name, input as Record<string, unknown>);
      return done?.ok ? done.value : { refused: done?.problem.message };
    };
    await work(call, { source_path: of("Source path"), passage: of("Passage ID") });
    return undefined;
  };

const quote = { ref: "file:server.conf", quote: "drain_timeout = 30 seconds" };

describe.each(engines)("R6: a job that checks a passage (%s)", (engine) => {
  test("R6: reports with quotes that the system looked up; the passage is verified only when a person confirms it", async () => {
    const { app } = await workspace(engine, 30);
    const seen: unknown[] = [];
    await runQueue(
      app,
      plays(async (call, own) => {
        seen.push(await call("get_passage", own));
        seen.push(await call("search_evidence", { text: "drain_timeout" }));
        seen.push(await call("read_evidence", { ref: "file:server.conf" }));
        seen.push(await call("read_evidence", { ref: "file:.env" }));
        const report = { ...own, outcome: "holds", note: "The configuration says the same." };
        for (const evidence of [
          [],
          [{ ref: "file:server.conf", quote: "drain_timeout = 60 seconds" }],
          [{ ref: `page:${page}`, quote: "waits 30 seconds" }],
          [{ ref: "file:../secret", quote: "drain_timeout" }],
        ])
          seen.push(await call("report_recheck", { ...report, evidence }));
        seen.push(await call("report_recheck", { ...report, evidence: [quote] }));
        seen.push(await call("report_recheck", { ...report, evidence: [quote] }));
      }),
    );
    const job = await recheck(app, "drain_timeout");
    expect(job).toMatchObject({
      kind: "recheck",
      status: "succeeded",
      message: "The agent wrote a finding.",
      topic_id: null,
    });
    expect(seen).toMatchObject([
      { passage: { text: "The server waits 30 seconds for `drain_timeout`.", state: expect.any(String) } },
      {
        hits: [
          { ref: "file:server.conf", line: 2, text: "drain_timeout = 30 seconds" },
          { ref: `page:${page}`, line: 3 },
        ],
      },
      { content: "# How long to wait\ndrain_timeout = 30 seconds\n" },
      { refused: expect.stringContaining(".env in the last commit does not exist") },
      { refused: expect.stringContaining("evidence: missing") },
      { refused: expect.stringContaining("file:server.conf does not contain this quote") },
      { refused: expect.stringContaining("a page does not prove itself") },
      { refused: expect.stringContaining("does not exist") },
      { evidence: [{ line: 2, says: "drain_timeout = 30 seconds" }], proposal_id: null },
      { refused: expect.stringContaining("has reported already") },
    ]);
    expect((await passageOf(app, "drain_timeout"))?.state).not.toMatch(/^verified/);
    const { rechecks } = unwrap(await operations.list_rechecks.perform(app, { id: page }, person("reader")));
    expect(rechecks).toMatchObject([{ job_id: job.id, outcome: "holds", confirmed_by: null, evidence: [quote] }]);
    const id = rechecks[0]?.id ?? "";
    expect(await operations.confirm_recheck.perform(app, { id }, agent("engineer"))).toMatchObject({
      problem: { code: "denied" },
    });
    const confirmed = unwrap(await operations.confirm_recheck.perform(app, { id }, person()));
    expect(confirmed).toMatchObject({ confirmed_by: "Ada Lovelace" });
    expect(await passageOf(app, "drain_timeout")).toMatchObject({
      state: "verified_by_person",
      verified_by: "Ada Lovelace",
    });
    expect((await allEvents(app)).filter(({ kind }) => kind === "passage-rechecked")).toMatchObject([
      { actor: "agent", data: { outcome: "holds", job_id: job.id } },
    ]);
  });

  test("R6: proposes the corrected passage with its evidence, as a topic that a person approves", async () => {
    const { app } = await workspace(engine, 60);
    const evidence = [{ ref: "file:server.conf", quote: "drain_timeout = 60 seconds" }];
    const seen: unknown[] = [];
    await runQueue(
      app,
      plays(async (call, own) => {
        const report = { ...own, outcome: "wrong", note: "The configuration says 60 seconds.", evidence };
        seen.push(await call("report_recheck", report));
        const replacement = "The server waits 60 seconds for `drain_timeout`.";
        seen.push(await call("report_recheck", { ...report, replacement }));
      }),
    );
    expect(await recheck(app, "drain_timeout")).toMatchObject({ status: "succeeded" });
    expect(seen[0]).toMatchObject({ refused: expect.stringContaining("replacement: send it") });
    const [proposal] = await app.proposals.list("open");
    const whole = await app.proposals.find(proposal?.id ?? "");
    expect(whole).toMatchObject({ proposedBy: null, text: text.replace("30 seconds", "60 seconds") });
    const topic = unwrap(await operations.get_topic.perform(app, { id: proposal?.topicId ?? "" }, person()));
    expect(topic).toMatchObject({
      kind: "change",
      anchor: { quote: "The server waits 30 seconds for `drain_timeout`." },
    });
    expect(JSON.stringify(topic.messages)).toContain("file:server.conf:2");
    unwrap(await operations.approve_proposal.perform(app, { id: proposal?.id ?? "" }, person()));
    expect(await passageOf(app, "60 seconds")).toMatchObject({ state: "verified_by_person" });
  });

  test("R16, R6: an exit without a report is a failure that says so, and the table refuses a recheck without a passage", async () => {
    const { app } = await workspace(engine, 30);
    await runQueue(
      app,
      plays(async () => undefined),
    );
    expect(await recheck(app, "drain_timeout")).toMatchObject({
      status: "failed",
      error_tail: "agent exited 0 but produced no finding",
      message: "The agent exited without an error but wrote no finding.",
    });
    const row = { kind: "recheck", source_path: page, status: "queued", created_at: "now", created_by: "ada" };
    for (const wrong of [
      {},
      { passage: "abcdef", persona_name: "newcomer" },
      { kind: "perspective", passage: "abcdef" },
    ])
      await expect(
        app.db.write((tx) =>
          tx
            .insertInto("agent_jobs")
            .values({ id: app.newId("j"), topic_id: null, persona_name: null, ...row, ...wrong } as never)
            .execute(),
        ),
      ).rejects.toThrow();
  });
});

test("T6: a recheck job is bound to its passage and page, and cannot verify", async () => {
  const { app } = await workspace("sqlite", 30);
  const other = (await passageOf(app, "Push"))?.passage ?? "";
  const seen: unknown[] = [];
  await runQueue(
    app,
    plays(async (call, own) => {
      const report = { outcome: "holds", note: "n", evidence: [quote] };
      seen.push(await call("report_recheck", { ...own, ...report, passage: other }));
      seen.push(await call("report_recheck", { ...own, ...report, source_path: "wiki/vision.md" }));
      seen.push(await call("verify_passage", { id: page, passage: own.passage }));
      seen.push(await call("confirm_recheck", { id: "rc-1" }));
    }),
  );
  await recheck(app, "drain_timeout");
  expect(seen).toMatchObject([
    { refused: expect.stringContaining("not on other passages") },
    { refused: expect.stringContaining("not on other pages") },
    { refused: expect.stringContaining("may not call verify_passage") },
    { refused: expect.stringContaining("may not call confirm_recheck") },
  ]);
});

test("R10: the prompt of a recheck names the skill, the passage, the page and its version", () => {
  const job = {
    id: "j-1",
    kind: "recheck",
    source_path: page,
    topic_id: null,
    persona_name: null,
    passage: "abc",
  } as Job;
  const places = {
    page: `/s/${page}`,
    root: "/s",
    skill: "/s/job-skill.md",
    config: "/w/scriptorium.yaml",
    scribe: "/bin/scribe",
  };
  expect(promptFor(job, { sha: "b10b" }, places).split("\n").slice(0, 6)).toEqual([
    "Use the skill scriptorium-recheck to do this one job. If the skill is not installed, read the skill file and follow it.",
    "",
    "Job ID: j-1",
    "Passage ID: abc",
    `Source path: ${page}`,
    "Base source SHA: b10b",
  ]);
});

test("R6: trust recheck starts the job from the shell with an agent that is a program and calls scribe", async () => {
  const { app, root } = await workspace("sqlite", 30);
  const passage = (await passageOf(app, "drain_timeout"))?.passage ?? "";
  await app.close();
  const script = String.raw`prompt=$(cat)
of() { printf '%s\n' "$prompt" | sed -n "s/^$1: //p"; }
"$(of 'Agent CLI path')" report-recheck --config "$(of 'Config file')" --source-path "$(of 'Source path')" --passage "$(of 'Passage ID')" --outcome holds --note 'As configured.' --evidence '{"ref":"file:server.conf","quote":"drain_timeout = 30 seconds"}'`;
  const agentProgram = program(root, script);
  const { readFileSync } = await import("node:fs");
  const config = join(root, "scriptorium.yaml");
  const block = `agent: ${JSON.stringify({ author_name: "Agent", author_email: "agent@example.org", runner: "command", command: [agentProgram], isolation: "workspace", sandbox: "none" })}\n`;
  writeFileSync(config, readFileSync(config, "utf8").replace(/^agent: .*\n/m, block));
  const ran = await scriptorium(["trust", "recheck", page, passage, "--json"], { cwd: root });
  expect([ran.code, ran.stderr, ran.code === 0 ? "" : ran.stdout]).toEqual([0, "", ""]);
  expect(ran.json()).toMatchObject({ kind: "recheck", status: "succeeded" });
  const listed = await scriptorium(["trust", "rechecks", page, "--json"], { cwd: root });
  const { rechecks } = listed.json<{ rechecks: { id: string }[] }>();
  const confirmed = await scriptorium(["trust", "confirm", rechecks[0]?.id ?? ""], { cwd: root });
  expect(confirmed.stdout).toContain(`verified ${passage} of ${page}`);
});
