import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { agentCli } from "./support/agent-clis.ts";
import { canary, listening } from "./support/canary.ts";
import { type Asked, fakeModel, type Turn } from "./support/fake-model.ts";
import { jobWorkspace, openTopic, over, runQueue, startJob } from "./support/jobs.ts";
import { modelServer } from "./support/model-server.ts";
import { needs } from "./support/programs.ts";
import { runWorker } from "./support/run-worker.ts";
import { person, temporaryFolder, testEnvironment } from "./support/workspace.ts";

const realKey = "sk-real-key-of-the-person-0815";
const submitted = { output: "{}" };

/** A test may have to install its agent first. */
const installing = { timeout: 600_000 };

describe("S12, T19: a real agent CLI as a worker reaches its model through the proxy", needs("bubblewrap"), () => {
  test.for(["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"])(
    "Claude Code with %s",
    installing,
    async (variable, { skip }) => {
      const bin = await agentCli("claude", skip);
      const model = await fakeModel(submitBy("mcp__scriptorium__submit_output"));
      const environment = {
        ...testEnvironment(),
        HOME: temporaryFolder(),
        ANTHROPIC_BASE_URL: model.url,
        [variable]: realKey,
        CLAUDE_CODE_MAX_RETRIES: "1",
      };
      const ran = await runWorker({ worker: { runner: "claude" }, agent: { claude_bin: bin }, environment });
      expect(ran.attempt, ran.log).toMatchObject({ output: "{}" });
      expect(model.keys).toEqual(new Set([realKey]));
      expect(ran.log).not.toContain(realKey);
      expect(ran.used).toContainEqual(destination(model.url));
    },
  );

  test("Codex, with the provider of its own configuration", installing, async ({ skip }) => {
    const bin = await agentCli("codex", skip);
    const model = await fakeModel(submitBy("mcp__scriptorium/submit_output"));
    const home = temporaryFolder();
    mkdirSync(join(home, ".codex"));
    const provider = `name = "own"\nbase_url = "${model.url}/v1"\nenv_key = "OPENAI_API_KEY"\nwire_api = "responses"\n`;
    const settings = `model = "fake"\nmodel_provider = "own"\n[model_providers.own]\n${provider}`;
    writeFileSync(join(home, ".codex/config.toml"), settings);
    const environment = { ...testEnvironment(), HOME: home, OPENAI_API_KEY: realKey };
    const ran = await runWorker({ worker: { runner: "codex" }, agent: codexBlock(bin), environment });
    expect(ran.attempt, ran.log).toMatchObject({ output: "{}" });
    expect(model.keys).toEqual(new Set([realKey]));
    expect(ran.log).not.toContain(realKey);
    expect(ran.used).toContainEqual(destination(model.url));
  });

  test(
    "Codex with a key, and Claude Code with a login in a file: at their makers, through the person's proxy",
    installing,
    async ({ skip }) => {
      const proxy = await recordingProxy();
      const common = { ...testEnvironment(), HTTPS_PROXY: proxy.url, CLAUDE_CODE_MAX_RETRIES: "0" };
      const codex = await agentCli("codex", skip);
      const withKey = { ...common, HOME: temporaryFolder(), OPENAI_API_KEY: realKey };
      const first = await runWorker({
        worker: { runner: "codex" },
        agent: codexBlock(codex, impatient),
        environment: withKey,
      });
      expect(first.used, first.log).toContainEqual(destination("https://api.openai.com:443"));
      expect(new Set(proxy.asked)).toEqual(new Set(["CONNECT api.openai.com:443"]));

      const claude = await agentCli("claude", skip);
      const home = temporaryFolder();
      mkdirSync(join(home, ".claude"));
      const login = {
        accessToken: "sk-ant-oat01-x",
        refreshToken: "y",
        expiresAt: Date.now() + 1e8,
        scopes: ["user:inference"],
      };
      writeFileSync(join(home, ".claude/.credentials.json"), JSON.stringify({ claudeAiOauth: login }));
      const environment = { ...common, HOME: home };
      const second = await runWorker({ worker: { runner: "claude" }, agent: { claude_bin: claude }, environment });
      expect(second.used, second.log).toContainEqual(destination("https://api.anthropic.com:443"));
      const allowed = second.used.filter((one) => one.allowed).map((one) => one.destination);
      expect(
        allowed.filter(
          (one) => !/^(api\.anthropic\.com|console\.anthropic\.com|platform\.claude\.com|claude\.ai):443$/.test(one),
        ),
      ).toEqual([]);
    },
  );

  test("Qwen Code, as a command", installing, async ({ skip }) => {
    const bin = await agentCli("qwen", skip);
    const model = await modelServer(({ tools, messages }) =>
      tools.length === 0 || messages.some(({ role }) => role === "tool")
        ? { text: "Done." }
        : { calls: [{ name: tools.find((name) => name.includes("submit_output")) ?? "none", input: submitted }] },
    );
    const command = [bin, "-o", "stream-json", "--auth-type", "openai", "--approval-mode", "yolo", "-p", "{prompt}"];
    const environment = {
      ...testEnvironment(),
      HOME: temporaryFolder(),
      OPENAI_BASE_URL: `${model.url}/v1`,
      OPENAI_API_KEY: realKey,
      OPENAI_MODEL: "fake",
    };
    const env = ["OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL"];
    const ran = await runWorker({ worker: { runner: "command", command }, agent: { env }, environment });
    expect(new Set(model.heard.map(({ key }) => key)), ran.log).toEqual(new Set([realKey]));
    expect(ran.log).not.toContain(realKey);
    expect(ran.used).toContainEqual(destination(model.url));
  });
});

/** Looks from the inside for the key, the host's loopback, its abstract sockets and the internet. */
const probe = (port: number, abstract: string) => `
  const { readFileSync, readdirSync } = require("node:fs"), { connect } = require("node:net");
  const read = (path) => { try { return readFileSync(path, "latin1"); } catch { return ""; } };
  const all = readdirSync("/proc").flatMap((pid) => [read("/proc/" + pid + "/environ"), read("/proc/" + pid + "/cmdline")]);
  const reach = (to, text = "") => new Promise((done) => {
    let got = "";
    const socket = connect(to, () => socket.write(text)).setTimeout(5000, () => socket.destroy());
    socket.on("data", (chunk) => (got += chunk)).on("error", (error) => done(error.code)).on("close", () => done(got.split("\\r")[0]));
  });
  (async () => console.log("PROBED " + JSON.stringify({
    key: all.join().includes("person" + "-0815") || JSON.stringify(process.env).includes("person" + "-0815"),
    loopback: await reach({ host: "127.0.0.1", port: ${port} }),
    abstract: await reach({ path: String.fromCharCode(0) + "${abstract}" }),
    internet: await reach({ host: "1.1.1.1", port: 443 }),
    refused: await reach({ host: "127.0.0.1", port: 3128 }, "CONNECT evil.example.org:443 HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"),
  })))();`;

describe("S2, S12, T19: a real agent CLI with a shell, in a job", needs("bubblewrap"), () => {
  test("Claude Code sees neither the key nor this host's network from its Bash", installing, async ({ skip }) => {
    const bin = await agentCli("claude", skip);
    const other = await canary();
    const text = probe(other.port, other.abstract);
    const command = `node -e "$(echo ${Buffer.from(text).toString("base64")} | base64 -d)"`;
    const model = await fakeModel(({ turn }) =>
      turn === 0 ? { call: "Bash", input: { command, description: "probe" } } : { text: "Done." },
    );
    const { app } = await jobWorkspace({ claude_bin: bin, isolation: "workspace" });
    app.config.environment = {
      ...testEnvironment(),
      HOME: temporaryFolder(),
      ANTHROPIC_BASE_URL: model.url,
      ANTHROPIC_API_KEY: realKey,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    };
    await runQueue(app);
    const { job_id } = unwrap(await startJob(app, { topic_id: await openTopic(app) }));
    const job = await over(app, job_id);
    const [, found = "{}"] = /PROBED (\{.*?\})/.exec(model.asked.at(-1)?.text.replaceAll("\\", "") ?? "") ?? [];
    expect(JSON.parse(found), `${job.message} ${job.error_tail}`).toEqual({
      key: false,
      loopback: "ECONNREFUSED",
      abstract: "ECONNREFUSED",
      internet: "ENETUNREACH",
      refused: "HTTP/1.1 403 Refused by Scriptorium",
    });
    expect(other.hits()).toBe(0);
    expect(model.keys).toEqual(new Set([realKey]));
    const shown = unwrap(await operations.show_job.perform(app, { id: job_id }, person()));
    expect(shown.destinations).toContainEqual(destination(model.url));
    expect(shown.destinations).toContainEqual(
      expect.objectContaining({ destination: "evil.example.org:443", allowed: false }),
    );
  });
});

const impatient = ["request_max_retries", "stream_max_retries"].flatMap((name) => [
  "-c",
  `model_providers.scriptorium.${name}=0`,
]);
const codexBlock = (bin: string, more: string[] = []) => ({ codex_bin: bin, args: ["--disable", "plugins", ...more] });

/** A proxy of the person that notes what it is asked for and hangs up. */
async function recordingProxy() {
  const asked: string[] = [];
  const server = createServer((socket) => {
    socket
      .on("error", () => undefined)
      .once("data", (chunk) => {
        asked.push(String(chunk).split(" HTTP/1.1")[0] ?? "");
        socket.end("HTTP/1.1 200 OK\r\n\r\n");
      });
  });
  return { url: `http://127.0.0.1:${await listening(server)}`, asked };
}

const submitBy =
  (tool: string) =>
  ({ turn }: Asked): Turn =>
    turn === 0 ? { call: tool, input: submitted } : { text: "Done." };

const destination = (url: string) =>
  expect.objectContaining({ destination: url.replace(/^https?:\/\//, ""), allowed: true, reason: null });
