import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { setUpAgent } from "../src/agents/setup.ts";
import { survivors } from "../src/agents/survivors.ts";
import { loadConfig } from "../src/config/config.ts";
import { scribe, scriptorium, scriptoriumProcess, serveProcess } from "./support/commands.ts";
import { authorship, jobWorkspace, openTopic, program } from "./support/jobs.ts";
import { ask } from "./support/requests.ts";
import { newWorkspace, temporaryFolder, testEnvironment } from "./support/workspace.ts";

/** An agent as small as one can be: it reads its prompt and calls scribe as the skill says. */
const scribbler = `prompt=$(cat)
of() { printf '%s\\n' "$prompt" | sed -n "s/^$1: //p"; }
scribe=$(of 'Agent CLI path'); config=$(of 'Config file'); topic=$(of 'Topic ID'); page=$(of 'Source path')
"$scribe" get-topic --config "$config" --id "$topic" || exit 5
"$scribe" list-open-topics --config "$config" --source-path "$page" || exit 6
"$scribe" append-log --config "$config" --role planner --id decisions --line "not for a job" && exit 7
sed 's/the button/the green button/' "$page" |
  "$scribe" insert-proposal -config "$config" --topic-id "$topic" --base-sha "$(of 'Base source SHA')"`;

const workspaceAgent = (root: string, text: string) => {
  const config = join(root, "scriptorium.yaml");
  const block = { ...authorship, runner: "command", isolation: "workspace", command: [program(root, text)] };
  const others = readFileSync(config, "utf8").replace(/^agent: .*\n/m, "");
  writeFileSync(config, `${others}agent: ${JSON.stringify(block)}\n`);
};

describe("a job from the shell", () => {
  test("R8, R11, R4: without a server runs in its own process, and a person approves what came of it into git", async () => {
    const { root, git } = await jobWorkspace();
    workspaceAgent(root, scribbler);
    const cwd = root;
    const opened = await scriptorium(
      ["topic", "open", "docs/deploy.md", "--quote", "Push the button.", "--message", "Which one?", "--json"],
      { cwd },
    );
    const { id: topic } = opened.json<{ id: string }>();
    const ran = await scriptoriumProcess(
      ["job", "start", "--kind", "incorporate", "--topic", topic, "--wait", "--json"],
      {
        cwd,
      },
    );
    expect(ran, ran.stderr).toMatchObject({ code: 0 });
    const job = ran.json<{ job_id: string; log: string }>();
    expect(job).toMatchObject({ status: "succeeded", exit_code: 0, usage: { output_tokens: null }, cost_usd: null });
    expect(readFileSync(job.log, "utf8")).toContain('"status":"denied"');

    const [proposal] = (await scriptorium(["proposal", "list", "--json"], { cwd })).json<{ id: string }[]>();
    expect(proposal).toMatchObject({ proposed_by: null, topic_id: topic, job_id: job.job_id });
    expect(await scriptorium(["proposal", "approve", proposal?.id ?? "", "--json"], { cwd })).toMatchObject({
      code: 0,
    });
    expect(git("show", "HEAD:docs/deploy.md")).toContain("the green button");
    const log = git("log", "-1", "--format=%an <%ae>%n%B");
    expect(log).toContain("Scriptorium agent <agent@example.org>");
    for (const trailer of ["Approved-by: Ada Lovelace", `Topic: ${topic}`, `Job: ${job.job_id}`])
      expect(log).toContain(trailer);
    expect((await scriptorium(["job", "list", "--json"], { cwd })).json()).toMatchObject([{ id: job.job_id }]);
    expect((await scriptorium(["job", "show", job.job_id], { cwd })).stdout).toContain("succeeded");
  });

  test("exits 1 when it did not succeed, and T6: scribe takes nothing for a job that is over", async () => {
    const { root, app } = await jobWorkspace();
    workspaceAgent(root, "echo 'out of credit' >&2; exit 4");
    const topic = await openTopic(app);
    const ran = await scriptoriumProcess(["job", "start", "--kind", "incorporate", "--topic", topic, "--json"], {
      cwd: root,
    });
    expect(ran.code).toBe(1);
    const job = ran.json<{ job_id: string }>();
    expect(job).toMatchObject({ status: "failed", exit_code: 4, error_tail: "out of credit\n" });
    const env = { SCRIPTORIUM_JOB: job.job_id };
    const late = await scribe(["reply-topic", "--id", topic, "--content", "late"], { cwd: root, env });
    expect(late).toMatchObject({ code: 1, stderr: expect.stringContaining("has ended") });
    const unbound = await scribe(["get-topic", "--id", topic], { cwd: root });
    expect(unbound.json()).toMatchObject({ id: topic });
    const nobody = await scriptorium(["job", "cancel", "j-none"], { cwd: root });
    expect(nobody).toMatchObject({ code: 1, stderr: expect.stringContaining("job j-none does not exist") });
  });
});

describe("R15: jobs over HTTP", () => {
  test("are started once a page, listed, shown and cancelled by collaborators, and outlive no server", async () => {
    const { root, app } = await jobWorkspace();
    workspaceAgent(root, "echo at work >&2; exec sleep 600");
    const topic = await openTopic(app);
    const { url, token, stop } = await serveProcess(root);
    const body = { kind: "incorporate", source_path: "docs/deploy.md", topic_id: topic };
    const post = (path: string, given: object, as = token) =>
      ask(url, path, { method: "POST", token: as, body: given });
    const get = async (path: string) => (await ask(url, path, { token })).json();

    const started = await post("/api/agent/jobs", body);
    expect(started.status).toBe(200);
    const { job_id, ...rest } = started.json();
    expect(rest).toEqual({});
    expect(await post("/api/agent/jobs", body)).toMatchObject({ status: 409 });
    await expect.poll(async () => (await get(`/api/agent/jobs/${job_id}`)).status).toBe("running");
    const { jobs } = await get("/api/agent/jobs?source_path=docs%2Fdeploy.md");
    expect(jobs).toMatchObject([{ id: job_id, kind: "incorporate", topic_id: topic, status: "running" }]);
    expect(await get("/api/agent/jobs?source_path=docs%2Fother.md")).toEqual({ jobs: [] });
    expect(await post("/api/agent/jobs", { ...body, topic_id: undefined })).toMatchObject({ status: 400 });
    const reader = await app.tokens.create({
      kind: "person",
      name: "Bob",
      role: "reader",
      expiresAt: undefined,
      by: "ada",
    });
    expect(await post("/api/agent/jobs", body, reader.token)).toMatchObject({ status: 403 });

    const waited = scriptoriumProcess(["job", "start", "--kind", "incorporate", "--topic", topic], { cwd: root });
    expect(await waited).toMatchObject({ code: 1, stderr: expect.stringContaining("is already running") });
    expect((await post(`/api/agent/jobs/${job_id}/cancel`, {})).status).toBe(200);
    await expect.poll(async () => (await get(`/api/agent/jobs/${job_id}`)).status).toBe("failed");

    const handed = await scriptoriumProcess(["job", "start", "--kind", "incorporate", "--topic", topic, "--json"], {
      cwd: root,
    });
    const second = handed.json<{ job_id: string }>().job_id;
    await expect.poll(async () => (await get(`/api/agent/jobs/${second}`)).status).toBe("running");
    await expect.poll(() => survivors(second)).not.toEqual([]);
    await stop("SIGKILL");
    const again = await serveProcess(root);
    const left = (await ask(again.url, `/api/agent/jobs/${second}`, { token: again.token })).json();
    expect(left).toMatchObject({ status: "failed", error_tail: "server restarted while job in flight" });
    await expect.poll(() => survivors(second)).toEqual([]);
  });
});

describe("R17: the agent block", () => {
  test("is needed for jobs and for nothing else", async () => {
    const { root } = await newWorkspace();
    const ran = await scriptoriumProcess(["job", "start", "--kind", "incorporate", "--topic", "t"], { cwd: root });
    expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining("author_name") });
  });

  const wrong: [Record<string, unknown>, RegExp][] = [
    [{ author_name: undefined }, /agent\.author_name/],
    [{ author_email: "a\nb" }, /agent\.author_email/],
    [{ author_name: "Eve <eve@x>" }, /without < and >/],
    [{ incorporate_timeout: "soon" }, /agent\.incorporate_timeout: expected a duration/],
    [{ perspective_timeout: "0s" }, /between 1s and 24h/],
    [{ max_concurrent_jobs: 0 }, /agent\.max_concurrent_jobs/],
    [{ runner: "gpt" }, /expected claude, codex, acp or command/],
    [{ shell: true }, /shell/],
    [{ claude_bin: "no-such-claude" }, /agent\.claude_bin: no-such-claude is not in PATH/],
    [{ claude_bin: "./scriptorium.yaml" }, /agent\.claude_bin: .* is not executable/],
    [{ runner: "command" }, /agent\.command is missing/],
    [{ claude_bin: "/bin/sh", wb_agent_bin: "/no/scribe" }, /agent\.scribe_bin/],
    [{ claude_bin: "/bin/sh", log_dir: "scriptorium.yaml" }, /agent\.log_dir/],
  ];
  test("that cannot work is refused when it is read or when the server starts, with the reason", async () => {
    const { root } = await newWorkspace();
    const config = join(root, "scriptorium.yaml");
    const others = readFileSync(config, "utf8");
    for (const [change, reason] of wrong) {
      writeFileSync(config, `${others}agent: ${JSON.stringify({ ...authorship, ...change })}\n`);
      const loaded = loadConfig(root, testEnvironment());
      const refused = loaded.ok ? setUpAgent(loaded.value) : loaded;
      expect(refused, JSON.stringify(change)).toMatchObject({ problem: { message: expect.stringMatching(reason) } });
    }
    const ran = await scriptoriumProcess(["serve", "--port", "0"], { cwd: root });
    expect(ran).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(/agent\.log_dir/) });
  });

  test("has the defaults of R17", async () => {
    const { app, root } = await jobWorkspace();
    expect(app.config.agent).toMatchObject({
      author: { name: "Scriptorium agent", email: "agent@example.org" },
      claudeBin: "claude",
      isolation: "scratch",
      maxConcurrentJobs: 1,
      incorporateMs: 300_000,
      perspectiveMs: 180_000,
      recheckMs: 300_000,
      logDir: join(root, ".scriptorium/agent-logs"),
    });
  });
});

test("R9: init --skills puts the skills of all kinds of jobs where an agent in the workspace looks for them", async () => {
  const cwd = temporaryFolder();
  expect(await scriptorium(["init", ".", "--skills"], { cwd })).toMatchObject({ code: 0 });
  for (const name of ["scriptorium-incorporate", "scriptorium-perspective", "scriptorium-recheck"]) {
    const text = readFileSync(join(cwd, ".claude/skills", name, "SKILL.md"), "utf8");
    expect(text).toMatch(new RegExp(`^---\\nname: ${name}\\ndescription: .+\\n---\\n`));
  }
  expect(existsSync(join(cwd, ".claude/settings.json"))).toBe(false);
});
