import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { connect, createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { dialer } from "../src/agents/network/dial.ts";
import { networkRules } from "../src/agents/network/rules.ts";
import type { DestinationUse } from "../src/kernel/destination-use.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { agentProgram } from "./support/agent-program.ts";
import { canary, listening } from "./support/canary.ts";
import { scriptorium, scriptoriumProcess } from "./support/commands.ts";
import { jobWorkspace, openTopic, over, runQueue, startJob } from "./support/jobs.ts";
import { needs } from "./support/programs.ts";
import { runWorker, type WorkerGiven } from "./support/run-worker.ts";
import { allEvents, engines, newWorkspace, person, temporaryFolder } from "./support/workspace.ts";

const realKey = "sk-ant-REAL-KEY-0815";

type Given = Omit<WorkerGiven, "worker" | "agent"> & {
  /** Names of further variables that the agent gets. */
  env?: string[];
};

/** Runs a worker that is a program of our own; resolves with what it submitted and what the record has of it. */
async function worker(text: string, { crew = {}, env = [], ...given }: Given = {}) {
  const folder = agentProgram(text);
  const program = { runner: "command", command: [process.execPath, join(folder, "agent.mjs"), "{mcp_config}"] };
  const ran = await runWorker({ ...given, worker: program, agent: { env }, crew: { read: [folder], ...crew } });
  if (!ran.attempt.output) throw new Error(`the worker submitted nothing: ${ran.attempt.stopped_because}\n${ran.log}`);
  return { ...ran, report: JSON.parse(ran.attempt.output) };
}

type Asked = { method: string; url: string; headers: IncomingMessage["headers"]; body: string };

/** A model server that remembers each request. */
async function model(answer = '{"said":"hello"}') {
  const asked: Asked[] = [];
  const server = createHttpServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    asked.push({ method: request.method ?? "", url: request.url ?? "", headers: request.headers, body });
    response.writeHead(200, { "content-type": "application/json" });
    response.end(answer);
  });
  const port = await listening(server);
  onTestFinished(() => server.closeAllConnections());
  return { url: `http://127.0.0.1:${port}`, port, asked };
}

const byDestination = (used: readonly DestinationUse[]) =>
  Object.fromEntries(used.map((one) => [`${one.destination} ${one.allowed ? "allowed" : "refused"}`, one]));

describe.each(engines)("the network of a worker that is a program, recorded in %s", needs("bubblewrap"), (engine) => {
  test("S12, T19: model-only is the default: the worker asks its model without the key, reaches nothing else, and the record lists every destination", async () => {
    const { url, port, asked } = await model();
    const other = await canary();
    const text = `
      const readAll = (path) => { try { return readFileSync(path, "latin1"); } catch { return ""; } };
      const seen = [JSON.stringify(process.env)];
      for (const pid of readdirSync("/proc").filter((name) => /^\\d+$/.test(name)))
        for (const name of ["environ", "cmdline"]) seen.push(readAll("/proc/" + pid + "/" + name));
      seen.push(spawnSync("grep", ["-rl", "${realKey.slice(0, 7)}" + "${realKey.slice(7)}", "/tmp", process.env.HOME, process.cwd()]).stdout.toString());
      const base = process.env.ANTHROPIC_BASE_URL;
      const headers = { "x-api-key": process.env.ANTHROPIC_API_KEY, "content-type": "application/json" };
      const post = (path, more = {}) => fetch(base + path, { method: "POST", headers, body: "{}", ...more }).then(async (r) => [r.status, await r.text()]);
      const report = {
        key: seen.join("\\n").includes("REAL-" + "KEY"),
        answer: await post("/v1/messages?beta=true"),
        stolen: await post("/v1/messages", { headers: { "x-api-key": "sk-attacker", authorization: "Bearer sk-attacker", cookie: "s=1" } }),
        files: await post("/v1/files"),
        dots: await viaRelay("POST /anthropic/v1/messages/%2e%2e/files HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n"),
        trace: await viaRelay("TRACE /anthropic/v1/messages HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n"),
        loopback: await send({ host: "127.0.0.1", port: ${other.port} }, "x"),
        modelDirectly: await send({ host: "127.0.0.1", port: ${port} }, "x"),
        abstract: await send({ path: "\\0" + ${JSON.stringify(other.abstract)} }, "x"),
        outside: await send({ host: "1.1.1.1", port: 443 }, "x", 3000),
        tunnel: await tunnel("127.0.0.1:${other.port}", "GET / HTTP/1.1\\r\\n\\r\\n"),
        evil: await tunnel("evil.example.org:443"),
      };
      await use("submit_output", { output: JSON.stringify(report) });`;
    const environment = { ANTHROPIC_API_KEY: realKey, ANTHROPIC_BASE_URL: url, HTTPS_PROXY: "" };
    const { app, run, report, used, log, attempt } = await worker(text, {
      engine,
      env: ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"],
      environment,
    });
    expect(report).toMatchObject({
      key: false,
      answer: [200, '{"said":"hello"}'],
      stolen: [200, '{"said":"hello"}'],
      files: [403, expect.stringContaining("does not ask a model")],
      dots: expect.stringMatching(/^HTTP\/1.1 403 /),
      trace: expect.stringMatching(/^HTTP\/1.1 403 /),
      loopback: "ECONNREFUSED",
      modelDirectly: "ECONNREFUSED",
      abstract: "ECONNREFUSED",
      outside: expect.stringMatching(/^ENETUNREACH$/),
      tunnel: expect.stringMatching(/^HTTP\/1.1 403 Refused by Scriptorium/),
      evil: expect.stringContaining(
        "the network of this agent is model-only, and evil.example.org:443 is not in network_hosts",
      ),
    });
    expect(other.hits()).toBe(0);
    expect(asked.map(({ url, headers }) => [url, headers["x-api-key"], headers.authorization, headers.cookie])).toEqual(
      [
        ["/v1/messages?beta=true", realKey, undefined, undefined],
        ["/v1/messages", undefined, undefined, undefined],
      ],
    );
    expect(byDestination(used)).toMatchObject({
      [`127.0.0.1:${port} allowed`]: { requests: 2, bytes_sent: 4, bytes_received: 32, reason: null },
      [`127.0.0.1:${port} refused`]: { requests: 3, reason: "the request did not ask a model" },
      [`127.0.0.1:${other.port} refused`]: { requests: 1 },
      "evil.example.org:443 refused": { requests: 1, reason: expect.stringContaining("model-only") },
    });
    // The same in the task's record, the report and the events; and the key in none of them.
    const record = unwrap(await operations.task_record.perform(app, { id: attempt.task_id }, person()));
    expect(record.contexts.find(({ part }) => part === "worker")?.destinations).toEqual(used);
    const { content: markdown } = unwrap(await operations.run_report.perform(app, { id: run }, person()));
    expect(markdown).toMatch(/## Network[\s\S]*\| worker \| 1 \| evil\.example\.org:443 \| refused \| 1 /);
    const events = await allEvents(app);
    expect(JSON.stringify(events.filter(({ kind }) => kind === "agent-ended"))).toContain("evil.example.org:443");
    expect([JSON.stringify([record, markdown, events]), log].join().includes(realKey)).toBe(false);
  });

  test("S12, T19: a job has the same network, and job show lists its destinations", async () => {
    const { url, asked } = await model();
    const other = await canary();
    const folder = agentProgram(`
      const headers = { "x-api-key": process.env.ANTHROPIC_API_KEY };
      const answer = await fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", { method: "POST", body: "{}", headers });
      await send({ host: "127.0.0.1", port: ${other.port} }, "x");
      const evil = await tunnel("evil.example.org:443");
      process.stderr.write(JSON.stringify([answer.status, process.env, evil]));`);
    const command = [process.execPath, join(folder, "agent.mjs"), "{mcp_config}"];
    const env = ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"];
    const { app, root } = await jobWorkspace({ runner: "command", command, read: [folder], env }, { engine });
    Object.assign(app.config.environment, { ANTHROPIC_API_KEY: realKey, ANTHROPIC_BASE_URL: url });
    await runQueue(app);
    const { job_id } = unwrap(await startJob(app, { topic_id: await openTopic(app) }));
    const job = await over(app, job_id);
    expect(job.error_tail).toContain("[200,");
    expect(job.error_tail).toContain("evil.example.org:443 is not in network_hosts");
    expect(asked.map(({ headers }) => headers["x-api-key"])).toEqual([realKey]);
    expect(other.hits()).toBe(0);
    const shown = unwrap(await operations.show_job.perform(app, { id: job_id }, person()));
    expect(shown.destinations).toMatchObject([
      { destination: url.slice("http://".length), allowed: true, requests: 1, reason: null },
      { destination: "evil.example.org:443", allowed: false, requests: 1 },
    ]);
    const { stdout } = await scriptorium(["job", "show", job_id], { cwd: root });
    expect(stdout).toMatch(/^network: 127\.0\.0\.1:\d+, 1 request$/m);
    expect(stdout).toMatch(
      /^network: evil\.example\.org:443 refused, 1 request; the network of this agent is model-only/m,
    );
    const events = await allEvents(app);
    expect(events.find(({ kind }) => kind === "job-settled")?.data).toMatchObject({ destinations: shown.destinations });
    expect(JSON.stringify([shown, stdout, events])).not.toContain(realKey);
  });
});

describe("the network of a worker that is a program", needs("bubblewrap"), () => {
  test("T17: open leads to no address of this host or its networks, however it is spelled", async () => {
    const other = await canary();
    const { port } = other;
    const forms = spellings(port);
    expect(forms.length).toBeGreaterThanOrEqual(80);
    const text = `
      const forms = ${JSON.stringify(forms)};
      const got = [];
      for (const form of forms) {
        got.push([form, await tunnel(form, "GET / HTTP/1.1\\r\\n\\r\\n")]);
        got.push([form, await viaRelay("GET http://" + form + "/ HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n")]);
      }
      await use("submit_output", { output: JSON.stringify({ got: got.map(([form, answer]) => [form, answer.split("\\r\\n")[0]]) }) });`;
    const { report, used } = await worker(text, { crew: { network: "open" } });
    const through = (report.got as [string, string][]).filter(
      ([, answer]) => !/^HTTP\/1\.1 (400|403|502) /.test(answer),
    );
    expect(through).toEqual([]);
    expect(report.got).toHaveLength(forms.length * 2);
    expect(other.hits()).toBe(0);
    expect(used.filter(({ allowed }) => allowed)).toEqual([]);
    expect(byDestination(used)).toMatchObject({
      [`127.0.0.1:${port} refused`]: { reason: expect.stringContaining("is not a public address") },
      "169.254.169.254:80 refused": { reason: expect.stringContaining("is not a public address") },
      [`localhost:${port} refused`]: { reason: expect.stringContaining("(127.0.0.1)") },
    });
  });

  test("T17, S12: open goes through the person's own proxy, with the checked address, and its password stays outside", async () => {
    const other = await canary();
    const seen: string[] = [];
    const upstream = createServer((socket) => {
      socket
        .on("error", () => undefined)
        .once("data", (chunk) => {
          seen.push(String(chunk));
          socket.write("HTTP/1.1 200 OK\r\n\r\n");
          socket.end("from outside");
        });
    });
    const proxy = `http://ada:PROXY-SECRET@127.0.0.1:${await listening(upstream)}`;
    const text = `
      const report = {
        public: await tunnel("93.184.216.34:443"),
        inside: await tunnel("10.0.0.1:443"),
        direct: await tunnel("127.0.0.1:${other.port}", "x"),
        variables: JSON.stringify(process.env),
      };
      await use("submit_output", { output: JSON.stringify(report) });`;
    const environment = { HTTPS_PROXY: proxy, NO_PROXY: "example.org" };
    const { report, used, log } = await worker(text, { crew: { network: "open" }, environment });
    expect(report.public).toMatch(/^HTTP\/1.1 200 [\s\S]*from outside$/);
    expect(report.inside).toMatch(/^HTTP\/1.1 403 /);
    expect(report.direct).toMatch(/^HTTP\/1.1 403 /);
    expect(report.variables).toContain("http://127.0.0.1:3128");
    const login = Buffer.from("ada:PROXY-SECRET").toString("base64");
    expect(seen).toEqual([
      `CONNECT 93.184.216.34:443 HTTP/1.1\r\nHost: 93.184.216.34:443\r\nProxy-Authorization: Basic ${login}\r\n\r\n`,
    ]);
    expect(JSON.stringify([report, used, log])).not.toMatch(/PROXY-SECRET/);
    expect(byDestination(used)).toMatchObject({ "93.184.216.34:443 allowed": { requests: 1, bytes_received: 12 } });
  });

  test("T17: a name that changes its address after the check leads to the address that was checked", async () => {
    const other = await canary();
    const answers = ["93.184.216.34", "127.0.0.1"];
    let lookups = 0;
    const resolve = async () => [{ address: answers[Math.min(lookups++, 1)] ?? "", family: 4 }];
    const rules = networkRules({ policy: { mode: "open", hosts: [] }, programHosts: [], resolve });
    const route = unwrap(await rules({ host: "localhost", port: other.port }));
    expect(route.addresses).toEqual([{ address: "93.184.216.34", family: 4 }]);
    // A second look-up would find the canary; the address that was checked leads elsewhere or nowhere.
    const dial = dialer({});
    await Promise.race([dial(route).then((socket) => socket.destroy()), sleep(1000)]).catch(() => undefined);
    await sleep(200);
    expect([other.hits(), lookups]).toEqual([0, 1]);
    expect((await rules({ host: "localhost", port: 80 })).ok).toBe(false);
    const mixed = async () => answers.map((address) => ({ address, family: 4 }));
    const both = networkRules({ policy: { mode: "open", hosts: [] }, programHosts: [], resolve: mixed });
    expect(await both({ host: "mixed.example.org", port: 80 })).toMatchObject({ problem: { code: "denied" } });
  });

  test("S2: a port that the worker listens on exists in its sandbox only", async () => {
    const text = `
      const server = createServer((socket) => socket.end("COOKIE THIEF"));
      await new Promise((done) => server.listen(0, "0.0.0.0", done));
      const { port } = server.address();
      writeFileSync("port", String(port));
      const inside = await send({ host: "127.0.0.1", port }, "x");
      const until = Date.now() + 30000;
      while (!existsSync("tried") && Date.now() < until) await new Promise((done) => setTimeout(done, 20));
      await use("submit_output", { output: JSON.stringify({ inside, tried: existsSync("tried"), outside: readFileSync("tried", "utf8") }) });`;
    const { report } = await worker(text, { crew: { network: "open" }, beside: visitPort });
    expect(report).toEqual({ inside: "COOKIE THIEF", tried: true, outside: "ECONNREFUSED" });
  });

  test("S12: a listed server on this host's loopback is reached at the same address, a server beside it is not", async () => {
    const { port, asked } = await model("from the host");
    const other = await canary();
    const text = `
      const get = "GET /api/tags HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n";
      const report = {
        listed: await send({ host: "127.0.0.1", port: ${port} }, get),
        other: await send({ host: "127.0.0.1", port: ${other.port} }, get),
      };
      await use("submit_output", { output: JSON.stringify(report) });`;
    const { report, used } = await worker(text, { crew: { network_hosts: [`127.0.0.1:${port}`] } });
    expect(report).toEqual({ listed: expect.stringMatching(/from the host/), other: "ECONNREFUSED" });
    expect(asked.map(({ url }) => url)).toEqual(["/api/tags"]);
    expect(byDestination(used)).toMatchObject({ [`127.0.0.1:${port} allowed`]: { requests: 1 } });
    expect(other.hits()).toBe(0);
  });

  test("off, also as `network: false`, leaves neither a relay nor a key; `true` is the older spelling of open", async () => {
    const { url, asked } = await model();
    const text = `
      const names = Object.keys(process.env).filter((name) => /proxy|KEY/i.test(name));
      await use("submit_output", { output: JSON.stringify({ names, relay: await viaRelay("x") }) });`;
    const given = {
      env: ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"],
      environment: { ANTHROPIC_API_KEY: realKey, ANTHROPIC_BASE_URL: url, HTTPS_PROXY: "http://127.0.0.1:9" },
    };
    for (const network of ["off", false]) {
      const { report, used } = await worker(text, { ...given, crew: { network } });
      expect([report, used]).toEqual([{ names: [], relay: "ECONNREFUSED" }, []]);
    }
    const older = await newWorkspace({ config: "crew: {network: true}\n" });
    expect(older.app.config.crew.network).toBe("open");
    writeFileSync(older.file("scriptorium.yaml"), "crew: {network: model}\n");
    const { stderr, code } = await scriptorium(["run", "list"], { cwd: older.root });
    expect([code, stderr]).toEqual([1, expect.stringMatching(/crew\.network.*expected off, model-only, open/s)]);
    expect(asked).toEqual([]);
  });

  test("requests that two servers could read differently are refused, and so are floods", async () => {
    const { url, asked } = await model();
    const text = `
      const head = "POST /anthropic/v1/messages HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n";
      const smuggled = "GET /anthropic/v1/models HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n";
      const report = {
        both: await viaRelay(head + "Content-Length: 4\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n" + smuggled),
        twice: await viaRelay(head + "Content-Length: 4\\r\\nContent-Length: 5\\r\\n\\r\\nabcde"),
        folded: await viaRelay(head + "Content-Length\\r\\n : 4\\r\\n\\r\\nabcd"),
        headers: await viaRelay(head + "X-Long: " + "a".repeat(70000) + "\\r\\n\\r\\n"),
        garbage: await viaRelay("\\x16\\x03\\x01\\x02\\x00 hello\\r\\n\\r\\n"),
        named: await viaRelay(head + "Connection: x-secret\\r\\nX-Secret: 1\\r\\nContent-Length: 2\\r\\n\\r\\n{}"),
      };
      const flood = Array.from({ length: 300 }, () => connect(3128, "127.0.0.1").on("error", () => {}));
      const alive = () => flood.filter((socket) => socket.connecting || socket.readyState === "open").length;
      for (let n = 0; alive() > 128 && n < 100; n++) await new Promise((done) => setTimeout(done, 100));
      report.alive = alive();
      for (const socket of flood) socket.destroy();
      await new Promise((done) => setTimeout(done, 100));
      report.after = (await fetch(process.env.ANTHROPIC_BASE_URL + "/v1/models")).status;
      await use("submit_output", { output: JSON.stringify(report) });`;
    const { report } = await worker(text, {
      env: ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"],
      environment: { ANTHROPIC_API_KEY: realKey, ANTHROPIC_BASE_URL: url },
    });
    for (const name of ["both", "twice", "folded", "headers", "garbage"])
      expect(report[name], name).toMatch(/^HTTP\/1.1 400 /);
    expect(report.named).toMatch(/^HTTP\/1.1 200 /);
    expect(report.alive).toBeLessThanOrEqual(128);
    expect(report.after).toBe(200);
    expect(asked.map(({ method, url, headers }) => [method, url, headers["x-secret"]])).toEqual([
      ["POST", "/v1/messages", undefined],
      ["GET", "/v1/models", undefined],
    ]);
  });

  test("T19: the proxy verifies the model's certificate, also with NODE_EXTRA_CA_CERTS of the person", async () => {
    const folder = temporaryFolder();
    const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
    const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
    const request = [
      "req",
      "-x509",
      "-newkey",
      "rsa:2048",
      "-nodes",
      "-days",
      "2",
      "-keyout",
      key,
      "-out",
      cert,
      ...names,
    ];
    execFileSync("openssl", request, { stdio: "ignore" });
    const keys: unknown[] = [];
    const answer = (request: IncomingMessage, response: ServerResponse) => {
      keys.push(request.headers["x-api-key"]);
      response.end("over TLS");
    };
    const server = createHttpsServer({ key: readFileSync(key), cert: readFileSync(cert) }, answer);
    const url = `https://localhost:${await listening(server)}`;
    const program = agentProgram(`
      const headers = { "x-api-key": process.env.ANTHROPIC_API_KEY };
      const answer = await fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", { method: "POST", body: "{}", headers });
      process.stderr.write("GOT " + answer.status + " " + await answer.text());`);
    const command = [process.execPath, join(program, "agent.mjs"), "{mcp_config}"];
    const { app, root } = await jobWorkspace({
      ...{ runner: "command", command, read: [program], env: ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"] },
    });
    const topic = await openTopic(app);
    const start = ["job", "start", "--kind", "incorporate", "--topic", topic, "--wait", "--json"];
    const env = { ANTHROPIC_API_KEY: realKey, ANTHROPIC_BASE_URL: url };
    const ran = async (more: Record<string, string>) =>
      (await scriptoriumProcess(start, { cwd: root, env: { ...env, ...more } })).json<{ error_tail: string }>();
    expect((await ran({ NODE_EXTRA_CA_CERTS: cert })).error_tail).toContain("GOT 200 over TLS");
    expect((await ran({})).error_tail).toMatch(/GOT 502 .*the connection broke: DEPTH_ZERO_SELF_SIGNED_CERT/);
    expect(keys).toEqual([realKey]);
  });

  test("a connection ends with its agent", async () => {
    let onClosed = () => {};
    const closed = new Promise<void>((done) => {
      onClosed = done;
    });
    const hanging = createHttpServer((request) => void request.socket.once("close", onClosed));
    const url = `http://127.0.0.1:${await listening(hanging)}`;
    const text = `
      void fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", { method: "POST", body: "{}" }).catch(() => {});
      await new Promise((done) => setTimeout(done, 300));
      await use("submit_output", { output: "{}" });`;
    const { used } = await worker(text, { env: ["ANTHROPIC_BASE_URL"], environment: { ANTHROPIC_BASE_URL: url } });
    await closed;
    expect(used).toMatchObject([{ allowed: true, requests: 1 }]);
  });
});

/** Waits for the port that the worker wrote down, and tries to reach it as the person's browser would. */
async function visitPort(root: string): Promise<void> {
  const find = () => execFileSync("find", [join(root, ".scriptorium"), "-name", "port"], { encoding: "utf8" }).trim();
  await expect.poll(find).not.toBe("");
  const file = find();
  await expect.poll(() => readFileSync(file, "utf8")).not.toBe("");
  const outcome = await new Promise<string>((done) => {
    const socket = connect(Number(readFileSync(file, "utf8")), "127.0.0.1", () => socket.end("x"));
    socket
      .on("data", (chunk) => done(String(chunk)))
      .on("error", (error) => done((error as { code?: string }).code ?? ""));
  });
  writeFileSync(join(file, "../tried"), outcome);
}

/** Ways to write an address of this host, its networks or a metadata service. */
function spellings(port: number): string[] {
  const loopback = [
    ...[
      "127.0.0.1",
      "127.1",
      "127.0.1",
      "127.127.127.127",
      "0177.0.0.1",
      "0177.0.0.01",
      "00000177.0.0.1",
      "0x7f.0.0.1",
    ],
    ...[
      "0x7f.1",
      "0x7f000001",
      "0X7F000001",
      "2130706433",
      "017700000001",
      "127.0.0.1.",
      "127.0x0.0.1",
      "0",
      "0.0.0.0",
    ],
    ...[
      "00.0.0.0",
      "0x0",
      "localhost",
      "LOCALHOST",
      "LocalHost.",
      "localhost.localdomain",
      "ip6-localhost",
      "a.localhost",
    ],
    ...["[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[0000::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]"],
    ...[
      "[0:0:0:0:0:ffff:127.0.0.1]",
      "[64:ff9b::127.0.0.1]",
      "[64:ff9b::7f00:1]",
      "[2002:7f00:1::]",
      "[::ffff:0:127.0.0.1]",
    ],
    ...["127。0。0。1", "127．0．0．1", "①②⑦.⓪.⓪.①", "１２７.0.0.1", "%31%32%37.0.0.1", "127%2e0%2e0%2e1", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ"],
    ...[
      "user@127.0.0.1",
      "example.org@127.0.0.1",
      "127.0.0.1#@example.org",
      "127.0.0.1?x=example.org",
      "127.0.0.1\\example.org",
    ],
    ...[
      "example.org#127.0.0.1",
      "[::1%25lo]",
      "[fe80::1%25eth0]",
      "127.0.0.1%00.example.org",
      "127.0.0.1\t",
      " 127.0.0.1",
    ],
  ];
  const others = [
    ...[
      "169.254.169.254:80",
      "169.254.170.2:80",
      "0xa9fea9fe:80",
      "2852039166:80",
      "0251.0376.0251.0376:80",
      "169.254.43518:80",
    ],
    ...[
      "[::ffff:169.254.169.254]:80",
      "[fd00:ec2::254]:80",
      "100.100.100.200:80",
      "168.63.129.16:80",
      "192.0.0.192:80",
    ],
    ...[
      "metadata.google.internal:80",
      "10.0.0.1:22",
      "10.1:22",
      "012.1.2.3:22",
      "172.16.0.1:443",
      "172.31.255.255:443",
    ],
    ...["192.168.0.1:80", "0xc0a80001:80", "100.64.0.1:80", "198.18.0.1:80", "224.0.0.251:5353", "255.255.255.255:80"],
    ...["[fe80::1]:80", "[fc00::1]:80", "[ff02::1]:80", "[2001:db8::1]:80", "[100::1]:80", "240.0.0.1:80"],
  ];
  const own = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address));
  const bracketed = own.map((address) => (address.includes(":") ? `[${address}]` : address));
  return [...[...loopback, ...bracketed].map((host) => `${host}:${port}`), ...others];
}

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms));
