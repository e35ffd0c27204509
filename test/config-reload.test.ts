import { readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { scriptorium, scriptoriumProcess, serve, start } from "./support/commands.ts";
import { authorship, jobWorkspace, openTopic } from "./support/jobs.ts";
import { ask } from "./support/requests.ts";
import { newWorkspace, testEnvironment, untrusted } from "./support/workspace.ts";

/** Edits the file as an editor does; each edit has a time of its own, whatever the clock's resolution is. */
let edits = 0;
function edit(root: string, change: (text: string) => string): void {
  const file = join(root, "scriptorium.yaml");
  writeFileSync(file, change(readFileSync(file, "utf8")));
  const at = new Date(Date.now() + ++edits * 1000);
  utimesSync(file, at, at);
}

const served = async (root: string, env: Record<string, string> = {}) => {
  const { url, token } = await serve(root, env);
  const call = async (path: string, method = "GET", body?: object): Promise<Record<string, unknown>> => {
    const answer = await ask(url, path, { token, method, ...(body ? { body } : {}) });
    return { ...answer.json(), code: answer.status };
  };
  return { get: (path: string) => call(path), call };
};

describe("V7: a running server follows scriptorium.yaml", () => {
  const page = "source_path=docs/deploy.md";
  const quiet = { runner: "command", command: ["true"] };

  test("V7: a changed persona makes its texts stale at once, over HTTP as in commands, and a new one is found", async () => {
    const { root } = await jobWorkspace(quiet);
    const { get, call } = await served(root);
    const { persona_sha, source_sha } = await get(`/api/personas/newcomer?${page}`);
    const told = { source_path: "docs/deploy.md", persona: "newcomer", persona_sha, source_sha, content: "# Hello\n" };
    expect(await call("/api/perspectives", "PUT", told)).toMatchObject({ stale: false });
    const inCommand = async () =>
      (
        await scriptorium(["perspective", "show", "docs/deploy.md", "--persona", "newcomer", "--json"], { cwd: root })
      ).json();
    expect(await inCommand()).toMatchObject({ stale: false });

    edit(root, (text) => text.replace("Someone on their first day.", "Someone in their first week."));
    const shown = await get(`/api/perspectives?${page}&persona=newcomer`);
    expect(shown).toMatchObject({ stale: true, because: ["persona"] });
    expect(await inCommand()).toMatchObject({ stale: true, because: ["persona"] });

    expect(await get(`/api/personas/auditor?${page}`)).toMatchObject({ code: 404 });
    edit(root, (text) => text.replace("personas:\n", "personas:\n  - { name: auditor, description: Wants proof. }\n"));
    expect(await get(`/api/personas/auditor?${page}`)).toMatchObject({ code: 200, description: "Wants proof." });
  });

  test("V7: an agent block that is added or removed turns jobs on and off", async () => {
    const { root, app } = await newWorkspace({ files: { "docs/deploy.md": "# Deploy\n\nPush the button.\n" } });
    const topic = await openTopic(app);
    const { call, get } = await served(root);
    const job = { kind: "incorporate", topic_id: topic };
    const refused = await call("/api/agent/jobs", "POST", job);
    expect(refused.error).toContain("no agent is configured");
    const block = { ...authorship, runner: "command", command: ["/bin/sh", "-c", "exit 3"], sandbox: "none" };
    edit(root, (text) => `${text}agent: ${JSON.stringify(block)}\n`);
    const { job_id } = await call("/api/agent/jobs", "POST", job);
    await expect.poll(() => get(`/api/agent/jobs/${job_id}`)).toMatchObject({ status: "failed", exit_code: 3 });
    edit(root, (text) => text.replace(/^agent: .*\n/m, ""));
    expect((await call("/api/agent/jobs", "POST", job)).error).toContain("no agent is configured");
  });

  test("V7: a key that needs a restart is not used, and /readyz and doctor say so", async () => {
    const { root } = await jobWorkspace(quiet);
    const { get } = await served(root);
    expect(await get("/readyz")).toMatchObject({ status: "ready", restart_needed: [], config: "valid" });
    edit(root, (text) => `${text}port: 4999\nsources: raw\n`);
    expect(await get("/readyz")).toMatchObject({ status: "restart_needed", restart_needed: ["sources", "port"] });
    const { findings } = (await get("/api/doctor")) as unknown as { findings: { message: string }[] };
    expect(findings.map(({ message }) => message)).toContain(
      "restart needed: sources, port changed in scriptorium.yaml",
    );
  });

  test("V7: an invalid file changes nothing until it is valid again", async () => {
    const { root } = await jobWorkspace(quiet);
    const { get } = await served(root);
    edit(root, (text) => `${text}personas: [\n`);
    expect(await get(`/api/personas/newcomer?${page}`)).toMatchObject({ code: 200 });
    expect(await get("/readyz")).toMatchObject({ config: "invalid" });
    edit(root, (text) => text.replace("personas: [\n", "").replace("first day", "first hour"));
    expect(await get("/readyz")).toMatchObject({ config: "valid" });
    expect(await get(`/api/personas/newcomer?${page}`)).toMatchObject({ description: "Someone on their first hour." });
  });

  test("V7: a program that the new content names runs only after it is allowed", async () => {
    const { root, app } = await jobWorkspace(quiet);
    const topic = await openTopic(app);
    const { call } = await served(root, untrusted);
    edit(root, (text) => text.replace("author_name", 'claude_bin":"./planted.sh","author_name'));
    const refused = await call("/api/agent/jobs", "POST", { kind: "incorporate", topic_id: topic });
    expect(refused.error).toContain("sets agent.claude_bin to ./planted.sh, which nobody has allowed");
  });

  test("V7: a setting that nobody allowed does not become allowed by leaving the file while it is in use", async () => {
    const { root, app } = await jobWorkspace();
    const topic = await openTopic(app);
    edit(root, (text) => `${text}crew: { sandbox: none }\n`);
    const { call } = await served(root, untrusted);
    edit(root, (text) => text.replace("crew: { sandbox: none }\n", ""));
    const refused = await call("/api/agent/jobs", "POST", { kind: "incorporate", topic_id: topic });
    expect(refused.error).toContain("crew.sandbox");
  });
});

describe("V12: the agent block", () => {
  test("V12: without one, serve says in one line that agent work is off and what to add", async () => {
    const { root, app } = await newWorkspace();
    await app.close();
    const child = start("scriptorium.js", ["serve", "--port", "0", "--json"], root);
    let said = "";
    child.stderr?.on("data", (chunk) => (said += chunk));
    await expect.poll(() => said).toMatch(/^Agent work is off: .*Add: agent: \{ author_name: .* \}\n$/);
    child.kill("SIGTERM");
    await new Promise((done) => child.once("close", done));
  });

  test("V12: empty strings mean the default, and no log files for log_dir", async () => {
    const empty = { claude_bin: "", codex_bin: "", scribe_bin: "", wb_agent_bin: "", log_dir: "" };
    const { app } = await jobWorkspace(empty);
    expect(app.config.agent).toMatchObject({ claudeBin: "claude", codexBin: "codex", scribeBin: undefined });
    expect(app.config.agent?.logDir).toBeUndefined();
    const { root, app: running } = await jobWorkspace({
      ...empty,
      runner: "command",
      command: ["echo", "hello"],
      sandbox: "none",
    });
    const topic = await openTopic(running);
    const ran = await scriptoriumProcess(["job", "start", "--kind", "incorporate", "--topic", topic, "--json"], {
      cwd: root,
    });
    expect(ran.json()).toMatchObject({ status: "failed", exit_code: 0, log: null });
  });

  test.each(["not-an-address", "a b@example.org", "two@at@example.org", "@example.org", "ada@"])(
    "V13: author_email %j is refused",
    async (author_email) => {
      const { root } = await newWorkspace();
      edit(root, (text) => `${text}agent: ${JSON.stringify({ ...authorship, author_email })}\n`);
      const ran = await scriptorium(["entry", "list"], { cwd: root, env: testEnvironment() });
      expect(ran.stderr).toContain("expected an e-mail address such as agent@example.org");
    },
  );
});
