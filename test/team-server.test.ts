import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, request as plainRequest } from "node:http";
import { Agent, request as tlsRequest } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { describe, expect, onTestFinished, test } from "vitest";
import { arrivals } from "../src/http/arrival.ts";
import { listenHost } from "../src/http/listening.ts";
import { signInLimit } from "../src/http/sign-in-limit.ts";
import { scriptoriumProcess, serve, start } from "./support/commands.ts";
import { skipNow } from "./support/programs.ts";
import { type Answer, ask } from "./support/requests.ts";
import { newWorkspace, temporaryFolder, untrusted } from "./support/workspace.ts";

const publicUrl = "https://wiki.example.org";
const behindProxy = (proxy = "127.0.0.2") => `base_url: ${publicUrl}\ntrusted_proxies: [${proxy}]\n`;

/** What nginx sends for a browser at the public address. */
const forwarded = { host: "wiki.example.org", "x-forwarded-proto": "https", "x-forwarded-for": "203.0.113.9" };

type From = { from?: string; headers?: Record<string, string>; method?: string; body?: object };

/** A request from another loopback address: 127.0.0.2 is the proxy, 127.0.0.3 another machine as far as it counts. */
function askFrom(url: string, path: string, { from = "127.0.0.2", headers = {}, method = "GET", body }: From) {
  const { hostname, port, host } = new URL(url);
  const sent = { host, ...(body ? { "content-type": "application/json" } : {}), ...headers };
  return new Promise<Answer>((done, fail) => {
    const outgoing = plainRequest(
      { hostname, port, path, method, localAddress: from, headers: sent, agent: false },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk) => (text += chunk));
        response.on("end", () =>
          done({ status: response.statusCode ?? 0, headers: response.headers, text, json: () => JSON.parse(text) }),
        );
      },
    );
    outgoing.on("error", fail);
    outgoing.end(body && JSON.stringify(body));
  });
}

describe("M15: behind a reverse proxy", () => {
  test("M15, T9, T10: only the exact public origin is served, and only the trusted proxy may say that a request is for it", async () => {
    const { root } = await newWorkspace({ config: behindProxy() });
    const { url, token } = await serve(root);
    const auth = { authorization: `Bearer ${token}` };
    const status = async (headers: Record<string, string>, from?: string) =>
      (await askFrom(url, "/api/entries", { headers: { ...auth, ...headers }, ...(from ? { from } : {}) })).status;
    const good: Record<string, string>[] = [
      forwarded,
      { ...forwarded, host: "WIKI.example.org:443" },
      { ...forwarded, host: "10.0.0.7:4750", "x-forwarded-host": "wiki.example.org" },
      { ...forwarded, origin: publicUrl, "sec-fetch-site": "same-origin" },
    ];
    for (const headers of good) expect([headers, await status(headers)]).toEqual([headers, 200]);
    const strange: Record<string, string>[] = [
      ...["wiki.example.org:8443", "wiki.example.org:80", "wiki.example.org.evil.test", "evil-wiki.example.org"],
      ...["example.org", "wiki.example.org.", "evil.test", "127.0.0.1", "localhost", ""],
    ].map((host) => ({ ...forwarded, host }));
    strange.push(
      ...["http", "HTTP", "https, http", "wss", ""].map((scheme) => ({ ...forwarded, "x-forwarded-proto": scheme })),
      ...["evil.test", "evil.test, wiki.example.org", "wiki.example.org, evil.test", new URL(url).host].map((host) => ({
        ...forwarded,
        "x-forwarded-host": host,
      })),
      ...[
        ...["http://wiki.example.org", "https://wiki.example.org:8443", "https://wiki.example.org.evil.test"],
        ...["https://evil.test", "null", "https://wiki.example.org/", url, "https://sub.wiki.example.org"],
      ].map((origin) => ({ ...forwarded, origin })),
      { ...forwarded, "sec-fetch-site": "cross-site" },
      { ...forwarded, "sec-fetch-site": "same-site" },
    );
    for (const headers of strange) expect([headers, await status(headers)]).toEqual([headers, 403]);
    for (const name of ["x-forwarded-proto", "x-forwarded-host", "x-forwarded-for", "forwarded"]) {
      const forged = { ...(name === "forwarded" ? {} : forwarded), [name]: "https" };
      expect([name, await status(forged, "127.0.0.3")]).toEqual([name, 403]);
    }
    // Without forwarded headers the same program is a script of this machine, under a local name.
    expect(await status({}, "127.0.0.3")).toBe(200);
    expect(await status({ host: "wiki.example.org" }, "127.0.0.3")).toBe(403);
    const probe = await askFrom(url, "/readyz", { headers: { host: "10.0.0.7" } });
    expect(probe.json()).toMatchObject({ status: "ready" });
    expect((await askFrom(url, "/readyz", { headers: { host: "10.0.0.7" }, from: "127.0.0.3" })).status).toBe(403);
  });

  test("M15, T9: another machine cannot pass for this one, and addresses are compared with networks", () => {
    const arrive = arrivals({
      ...{ localName: "abc.localhost", port: () => 4750, isTls: false, baseUrl: publicUrl },
      trustedProxies: ["10.0.0.0/8", "fd00::/8"],
    });
    const from = (peer: string, headers: Record<string, string>) =>
      arrive({ peer, header: (name: string) => headers[name] });
    for (const host of ["127.0.0.1:4750", "localhost:4750", "[::1]:4750", "abc.localhost:4750"]) {
      expect(from("127.0.0.1", { host }).ok).toBe(true);
      expect(from("::ffff:127.0.0.1", { host }).ok).toBe(true);
      for (const peer of ["192.168.1.9", "10.0.0.1", "2001:db8::1", ""]) expect(from(peer, { host }).ok).toBe(false);
    }
    for (const peer of ["10.0.0.1", "::ffff:10.255.0.1", "fd12::1"]) expect(from(peer, forwarded).ok).toBe(true);
    for (const peer of ["11.0.0.1", "::ffff:11.0.0.1", "fe80::1", "127.0.0.1"])
      expect(from(peer, forwarded).ok).toBe(false);
    const clientIn = (list: string) => {
      const arrived = from("10.0.0.1", { ...forwarded, "x-forwarded-for": list });
      return arrived.ok ? arrived.value.client : undefined;
    };
    expect(clientIn("198.51.100.1, 203.0.113.9, 10.0.0.2")).toBe("203.0.113.9");
    expect(clientIn("10.0.0.3")).toBe("10.0.0.1");
  });

  test("M15: the cookie over TLS has the __Host- prefix, and a session belongs to the origin that opened it", async () => {
    const names: string[] = [];
    for (const _ of [1, 2]) {
      const { root } = await newWorkspace({ config: behindProxy() });
      const { url, token } = await serve(root);
      const signIn = { method: "POST", body: { token }, headers: { ...forwarded, origin: publicUrl } };
      const answer = await askFrom(url, "/sign-in", signIn);
      const cookie = String(answer.headers["set-cookie"]);
      expect(cookie).toMatch(
        /^__Host-scriptorium-[0-9a-f]{8}=[^;]+; Max-Age=2592000; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
      );
      names.push(cookie.split("=", 1)[0] ?? "");
      const session = { cookie: cookie.split(";", 1)[0] ?? "", "x-page-secret": answer.json().page_secret };
      expect((await askFrom(url, "/api/entries", { headers: { ...forwarded, ...session } })).status).toBe(200);
      expect((await ask(url, "/api/entries", { headers: session })).status).toBe(401);
    }
    // Two workspaces under one host name, at two ports, do not sign each other out.
    expect(new Set(names).size).toBe(2);
  });

  test("M15: after 20 failed attempts in a minute a client waits, and the others behind the proxy do not", async () => {
    const { root } = await newWorkspace({ config: behindProxy() });
    const { url, token } = await serve(root);
    const tryAs = (client: string, body: object) =>
      askFrom(url, "/sign-in", {
        ...{ method: "POST", body },
        headers: { ...forwarded, origin: publicUrl, "x-forwarded-for": client },
      });
    for (let n = 0; n < 20; n++) expect((await tryAs("203.0.113.9", { code: `wrong-${n}` })).status).toBe(401);
    const stopped = await tryAs("203.0.113.9", { token });
    expect(stopped.status).toBe(429);
    expect(Number(stopped.headers["retry-after"])).toBeGreaterThan(0);
    expect(stopped.json().error).toMatch(/^too many failed attempts/);
    // The client wrote the first address itself.
    expect((await tryAs("198.51.100.1, 203.0.113.9", { token })).status).toBe(429);
    expect((await tryAs("203.0.113.10", { token })).status).toBe(200);

    let now = 0;
    const limit = signInLimit(() => now);
    for (let n = 0; n < 20; n++) limit.count(`2001:db8:0:1::${n}`);
    expect(limit.waitOf("2001:0db8:0000:0001:ffff::1")).toBe(60);
    expect(limit.waitOf("2001:db8:0:2::1")).toBeUndefined();
    now = 60_000;
    expect(limit.waitOf("2001:db8:0:1::1")).toBeUndefined();
  });
});

describe("M15: where the server listens", () => {
  const tls = { certificate: "c.pem", key: "k.pem" };
  const none = { host: undefined, baseUrl: undefined, trustedProxies: [], tls: undefined, oidc: undefined };
  const proxied = { ...none, baseUrl: publicUrl, trustedProxies: ["10.0.0.0/8"] };

  test("M15: another address than loopback needs TLS, a declared proxy, or --insecure-http", () => {
    const table: [object, object, string | RegExp | undefined][] = [
      [none, {}, undefined],
      [none, { host: "localhost" }, undefined],
      [none, { host: "127.0.0.1" }, undefined],
      [none, { host: "::1" }, "::1"],
      [none, { host: "0.0.0.0" }, /base_url/],
      [{ ...none, baseUrl: "http://wiki:4750" }, { host: "0.0.0.0" }, /--insecure-http/],
      [{ ...none, baseUrl: "http://wiki:4750" }, { host: "0.0.0.0", insecureHttp: true }, "0.0.0.0"],
      [{ ...proxied, baseUrl: "http://wiki:4750" }, { host: "0.0.0.0" }, /--insecure-http/],
      [{ ...none, baseUrl: publicUrl }, { host: "0.0.0.0", insecureHttp: true }, /must begin with http:/],
      [{ ...none, baseUrl: publicUrl }, {}, /needs TLS/],
      [proxied, {}, undefined],
      [proxied, { host: "0.0.0.0" }, "0.0.0.0"],
      [{ ...proxied, host: "10.0.0.5" }, {}, "10.0.0.5"],
      [{ ...none, baseUrl: publicUrl, tls }, { host: "0.0.0.0" }, "0.0.0.0"],
      [{ ...none, tls }, {}, /https address/],
      [{ ...none, trustedProxies: ["10.0.0.1"] }, {}, /base_url/],
      [{ ...none, oidc: {} }, {}, /base_url/],
    ];
    for (const [config, options, wanted] of table) {
      const found = listenHost(config as Parameters<typeof listenHost>[0], options);
      const said = found.ok ? found.value : found.problem.message;
      if (wanted instanceof RegExp)
        expect([config, options, said]).toEqual([config, options, expect.stringMatching(wanted)]);
      else expect([config, options, said]).toEqual([config, options, wanted]);
    }
  });

  test("M15: the command refuses to be reachable without TLS, and the keys of a cloned repository wait to be allowed", async () => {
    const { root } = await newWorkspace();
    const open = await scriptoriumProcess(["serve", "--port", "0", "--host", "0.0.0.0"], {
      cwd: root,
      env: { SCRIPTORIUM_BASE_URL: "http://wiki.example.org" },
    });
    expect([open.code, open.stderr]).toEqual([1, expect.stringContaining("would show tokens and sessions")]);
    const wrong = await scriptoriumProcess(["serve"], {
      cwd: root,
      env: { SCRIPTORIUM_BASE_URL: "wiki.example.org/x" },
    });
    expect([wrong.code, wrong.stderr]).toEqual([
      1,
      expect.stringContaining("SCRIPTORIUM_BASE_URL: expected an address"),
    ]);
    const cloned = await newWorkspace({ config: `host: 0.0.0.0\n${behindProxy("0.0.0.0/0")}` });
    const refused = await scriptoriumProcess(["serve", "--port", "0"], { cwd: cloned.root, env: untrusted });
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("scriptorium allow")]);
  });
});

/** A self-signed certificate; each call makes another. */
function certificateIn(folder: string, name: string): { certificate: string; key: string } {
  const [certificate, key] = [join(folder, `${name}.pem`), join(folder, `${name}.key`)];
  const subject = ["-subj", "/CN=wiki.example.org", "-addext", "subjectAltName=DNS:wiki.example.org"];
  const made = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  execFileSync("openssl", [...made, ...subject, "-keyout", key, "-out", certificate], { stdio: "ignore" });
  return { certificate, key };
}

const fingerprint = (port: number) =>
  new Promise<string>((done, fail) => {
    const socket = connectTls(
      { host: "127.0.0.1", port, servername: "wiki.example.org", rejectUnauthorized: false },
      () => {
        done(socket.getPeerCertificate().fingerprint256);
        socket.destroy();
      },
    );
    socket.on("error", fail);
  });

test("M15: with a certificate the server speaks TLS itself, and a renewed one is used without a restart", async () => {
  if (!existsSync("/usr/bin/openssl")) skipNow("openssl is not installed");
  const folder = temporaryFolder();
  const [live, next] = [certificateIn(folder, "live"), certificateIn(folder, "next")];
  const config = `base_url: ${publicUrl}\ntls: { certificate: ${live.certificate}, key: ${live.key} }\n`;
  const { root } = await newWorkspace({ config });
  const port = await freePort();
  await serve(root, {}, port);
  const before = await fingerprint(port);
  const answer = await overTls(port, "/readyz", {}, readFileSync(live.certificate));
  expect([answer.status, answer.json().status]).toEqual([200, "ready"]);
  // Half of a renewal is not a pair.
  copyFileSync(next.key, live.key);
  await new Promise((done) => setTimeout(done, 2500));
  expect(await fingerprint(port)).toBe(before);
  copyFileSync(next.certificate, live.certificate);
  await expect.poll(() => fingerprint(port), { timeout: 20_000 }).not.toBe(before);
  const renewed = await overTls(port, "/readyz", {}, readFileSync(next.certificate));
  expect(renewed.status).toBe(200);
}, 60_000);

type Streamed = { status: number; first: string; headers: Answer["headers"] };

/** A request as a browser sends it; the certificate is checked. */
function overTls(
  port: number,
  path: string,
  options: { method?: string; headers?: Record<string, string>; body?: object },
  ca: Buffer,
): Promise<Answer> {
  return new Promise((done, fail) => {
    const outgoing = tlsRequest(tlsOptions(port, path, options, ca), (response) => {
      let text = "";
      response.on("data", (chunk) => (text += chunk));
      response.on("end", () =>
        done({ status: response.statusCode ?? 0, headers: response.headers, text, json: () => JSON.parse(text) }),
      );
    });
    outgoing.on("error", fail);
    outgoing.end(options.body && JSON.stringify(options.body));
  });
}

function firstPiece(port: number, path: string, headers: Record<string, string>, ca: Buffer): Promise<Streamed> {
  return new Promise((done, fail) => {
    const outgoing = tlsRequest(tlsOptions(port, path, { headers }, ca), (response) => {
      response.once("data", (chunk) => {
        done({ status: response.statusCode ?? 0, first: String(chunk), headers: response.headers });
        outgoing.destroy();
      });
    });
    outgoing.on("error", fail);
    outgoing.end();
  });
}

const tlsOptions = (
  port: number,
  path: string,
  { method = "GET", headers = {}, body }: { method?: string; headers?: Record<string, string>; body?: object },
  ca: Buffer,
) => ({
  ...{ host: "127.0.0.1", port, path, method, ca, servername: "wiki.example.org", agent: new Agent() },
  headers: {
    host: new URL(publicUrl).host,
    ...(body ? { "content-type": "application/json" } : {}),
    ...headers,
  },
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}

/** The shipped configuration, with the addresses of the test; `edit` changes it further. */
async function startNginx(serverPort: number, edit = (text: string) => text) {
  const folder = temporaryFolder();
  const { certificate, key } = certificateIn(folder, "proxy");
  const [port, plain] = [await freePort(), await freePort()];
  const shipped = readFileSync(new URL("../deploy/nginx.conf", import.meta.url), "utf8");
  const site = edit(shipped)
    .replace("listen 80;", `listen 127.0.0.1:${plain};`)
    .replace("listen 443 ssl;", `listen 127.0.0.1:${port} ssl;`)
    .replace(/ssl_certificate .*;/, `ssl_certificate ${certificate};`)
    .replace(/ssl_certificate_key .*;/, `ssl_certificate_key ${key};`)
    .replaceAll("$http_host", "wiki.example.org")
    .replace("server 127.0.0.1:4750;", `server 127.0.0.1:${serverPort};`);
  for (const name of ["logs", "tmp"]) mkdirSync(join(folder, name));
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${folder}/tmp/${name};`)
    .join("\n");
  const config = `daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/logs/error.log;
events {}
http { access_log off; ${paths}
${site} }`;
  writeFileSync(join(folder, "nginx.conf"), config);
  const child = spawn("/usr/sbin/nginx", ["-p", folder, "-c", join(folder, "nginx.conf")], { stdio: "pipe" });
  const ended = new Promise((done) => child.once("close", done));
  onTestFinished(async () => {
    child.kill("SIGTERM");
    await ended;
  });
  const ca = readFileSync(certificate);
  await expect
    .poll(() => overTls(port, "/healthz", {}, ca).then(({ status }) => status, String), { timeout: 10_000 })
    .toBe(200);
  return { port, plain, ca };
}

describe("M15: through a real nginx with the shipped configuration", () => {
  test.each([
    ["as shipped", (text: string) => text],
    ["with nginx's own buffering", (text: string) => text.replace("proxy_buffering off;", "")],
  ])(
    "M15: people sign in, events and MCP arrive while they happen, and forged headers are dropped (%s)",
    async (_, edit) => {
      if (!existsSync("/usr/sbin/nginx"))
        skipNow("nginx is not installed; install it with `apt-get install -y nginx-light`");
      const { root, app } = await newWorkspace({ config: behindProxy("127.0.0.1") });
      const { url, token, onceLink } = await serve(root);
      const { port, plain, ca } = await startNginx(Number(new URL(url).port), edit);
      expect(onceLink.startsWith(`${publicUrl}/?code=`)).toBe(true);

      const code = new URL(onceLink).searchParams.get("code");
      const signIn = await overTls(
        ...([port, "/sign-in", { method: "POST", body: { code }, headers: { origin: publicUrl } }, ca] as const),
      );
      expect(String(signIn.headers["set-cookie"])).toMatch(/^__Host-/);
      const session = {
        cookie: String(signIn.headers["set-cookie"]?.[0]).split(";", 1)[0] ?? "",
        "x-page-secret": signIn.json().page_secret,
      };
      const forged = { "x-forwarded-for": "127.0.0.1", "x-forwarded-host": "evil.test", "x-forwarded-proto": "http" };
      const entries = await overTls(port, "/api/entries", { headers: { ...session, ...forged } }, ca);
      expect(entries.status).toBe(200);
      const evil = await overTls(port, "/api/entries", { headers: { ...session, origin: "https://evil.test" } }, ca);
      expect(evil.status).toBe(403);
      expect(
        (await ask(`http://127.0.0.1:${plain}`, "/x", { headers: { host: "wiki.example.org" } })).headers,
      ).toMatchObject({
        location: `${publicUrl}/x`,
      });

      // The stream is open; a write now must reach its reader before any buffer is full.
      const stream = await firstPiece(port, "/api/events?after=0", session, ca);
      expect([stream.status, stream.headers["content-type"]]).toEqual([200, "text/event-stream"]);
      const quiet = await firstPiece(port, "/api/events", { ...session }, ca);
      expect(quiet.first).toContain(": still here");

      const made = await ask(url, "/api/tokens", { method: "POST", token, body: { kind: "agent", role: "engineer" } });
      const mcp = await overTls(
        port,
        "/mcp",
        {
          method: "POST",
          headers: {
            authorization: `Bearer ${made.json().token}`,
            accept: "application/json, text/event-stream",
          },
          body: {
            ...{ jsonrpc: "2.0", id: 1, method: "initialize" },
            params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
          },
        },
        ca,
      );
      expect([mcp.status, mcp.text]).toEqual([200, expect.stringContaining('"serverInfo"')]);
      expect((await app.sessions.list()).length).toBe(1);
    },
  );
});

test("M15: a link that a command prints has the public address", async () => {
  const { root } = await newWorkspace({ config: behindProxy() });
  const child = start("scriptorium.js", ["session", "link", "--json"], root, {
    SCRIPTORIUM_TOKEN: readFileSync(join(root, ".scriptorium/token"), "utf8").trim(),
  });
  let text = "";
  child.stdout?.on("data", (chunk) => (text += chunk));
  await new Promise((done) => child.once("close", done));
  expect(JSON.parse(text).link).toMatch(/^https:\/\/wiki\.example\.org\/\?code=/);
});
