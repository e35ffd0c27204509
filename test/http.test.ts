/** What the HTTP face promises, one sentence after the other, against the server as it ships: a flat list, hence its length. */
import { chmodSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { allOperations } from "../src/operation-list.ts";
import { type Served, scriptoriumProcess, serve, serveProcess, start } from "./support/commands.ts";
import { long } from "./support/programs.ts";
import { ask, type Json, sendRaw, signIn } from "./support/requests.ts";
import {
  engines,
  freshDatabase,
  newWorkspace,
  read,
  sampledEngines,
  sampleSchema,
  temporaryFolder,
} from "./support/workspace.ts";

type Tokens = Record<"reader" | "collaborator" | "admin" | "agent", string>;

async function tokensFor({ url, token }: Served): Promise<Tokens> {
  const make = async (kind: string, role: string) =>
    (
      await ask(url, "/api/tokens", {
        method: "POST",
        token,
        body: { kind, [kind === "agent" ? "role" : "rank"]: role, name: role },
      })
    ).json().token as string;
  return {
    reader: await make("person", "reader"),
    collaborator: await make("person", "collaborator"),
    admin: await make("person", "admin"),
    agent: await make("agent", "planner"),
  };
}

describe.each(sampledEngines)("who may do what, on %s", (engine) => {
  const outcome = (status: number) => (status === 401 || status === 403 ? status : "allowed");

  test("T5: every route answers each caller exactly as its operation says", async () => {
    const { root } = await newWorkspace({ engine });
    const served = await serve(root);
    const tokens = await tokensFor(served);
    const callers = { nobody: undefined, stranger: "sct_made-up", owner: served.token, ...tokens };
    const found: Record<string, Record<string, number | string>> = {};
    const wanted: typeof found = {};
    for (const { name, http, callers: allowed } of allOperations) {
      if (!http) continue;
      found[name] = {};
      wanted[name] = {};
      for (const [caller, token] of Object.entries(callers)) {
        const path = `/api${http.path.replace("{id}", "none")}`;
        const body = http.method === "put" || http.method === "post" ? {} : undefined;
        const answer = await ask(served.url, path, { method: http.method.toUpperCase(), token, body });
        const kind = caller === "owner" ? "admin" : caller;
        const isKnown = kind !== "nobody" && kind !== "stranger";
        found[name][caller] = outcome(answer.status);
        wanted[name][caller] = !isKnown ? 401 : (allowed as readonly string[]).includes(kind) ? "allowed" : 403;
        if (answer.status !== 200) expect(answer.json(), `${name} as ${caller}`).toHaveProperty("status");
      }
    }
    expect(found).toEqual(wanted);
    expect(Object.keys(found).length).toBeGreaterThanOrEqual(18);
  });

  test("T5: an agent can propose a section and decide nothing", async () => {
    const { root, file } = await newWorkspace({ engine });
    const served = await serve(root);
    const { url, token } = served;
    const { agent, reader, collaborator } = await tokensFor(served);
    const before = read(file("wiki/schema.yaml"));
    const body = { id: "risks", title: "Risks", mode: "log", writable_by: ["planner"], description: "What may fail." };
    const proposed = await ask(url, "/api/sections", { method: "POST", token: agent, body });
    expect(proposed.json()).toMatchObject({ status: "pending" });
    const id = proposed.json().proposal_id as string;

    for (const decision of ["approve", "reject"]) {
      for (const path of [`/api/proposals/${id}/${decision}`, `/api/proposals/${id}/${decision}/`]) {
        for (const token of [agent, reader]) {
          const refused = await ask(url, path, { method: "POST", token, body: { note: "approved by a person" } });
          expect(path.endsWith("/") ? [403, 404] : [403]).toContain(refused.status);
        }
      }
    }
    expect((await ask(url, `/api/proposals/${id}`, { token })).json()).toMatchObject({ status: "open" });
    expect(read(file("wiki/schema.yaml"))).toBe(before);

    const approved = await ask(url, `/api/proposals/${id}/approve`, { method: "POST", token: collaborator, body: {} });
    expect(approved.json()).toMatchObject({ status: "approved", decided_by: "collaborator" });
    expect(read(file("wiki/schema.yaml"))).toContain("id: risks");
  });

  test("pages, the event log and MCP want a token too, and pages and the log are for people", async () => {
    const { root } = await newWorkspace({ engine });
    const served = await serve(root);
    const { agent, reader } = await tokensFor(served);
    const { url } = served;
    for (const path of ["/", "/?q=x", "/entries/vision", "/sources", "/nowhere", "/api/events", "/api/none", "/mcp"]) {
      expect([path, (await ask(url, path)).status]).toEqual([path, 401]);
      expect([path, (await ask(url, path, { token: "x" })).status]).toEqual([path, 401]);
    }
    for (const path of ["/", "/?q=x", "/entries/vision", "/sources", "/nowhere", "/api/events"]) {
      expect([path, (await ask(url, path, { token: agent })).status]).toEqual([path, 403]);
    }
    for (const path of ["/", "/?q=x", "/entries/vision", "/sources"]) {
      expect([path, (await ask(url, path, { token: reader })).status]).toEqual([path, 200]);
    }
    const unsigned = await ask(url, "/entries/vision", { headers: { accept: "text/html" } });
    expect(unsigned).toMatchObject({ status: 401 });
    expect(unsigned.text).toContain("Open a sign-in link");
    expect(unsigned.text).not.toContain("Vision");
    expect((await ask(url, "/healthz")).json()).toEqual({ status: "ok" });
  });

  test("of two people who change the same version, the second gets what is there now", async () => {
    const { root } = await newWorkspace({ engine });
    const { url, token } = await serve(root);
    const read = (await ask(url, "/api/entries/vision", { token })).json();
    const put = (content: string) =>
      ask(url, "/api/entries/vision", { method: "PUT", token, body: { content, version: read.version } });
    const first = await put("# Mine\n");
    expect(first).toMatchObject({ status: 200 });
    const second = await put("# Yours\n");
    expect(second.status).toBe(409);
    expect(second.json()).toMatchObject({
      status: "conflict",
      latestContent: "# Mine\n",
      latestVersion: first.json().version,
      message: expect.stringMatching(/\w/),
    });
  });

  test("an entry in a folder is asked for by its id, encoded", async () => {
    const { root } = await newWorkspace({ engine });
    const { url, token } = await serve(root);
    const { version } = (await ask(url, "/api/entries/api%2Ferrors", { token })).json();
    const body = { content: "# Errors\n\n429: slow down\n", version };
    expect((await ask(url, "/api/entries/api%2Ferrors", { method: "PUT", token, body })).status).toBe(200);
    const found = (await ask(url, "/api/entries/api%2Ferrors", { token })).json();
    expect(found).toMatchObject({ id: "api/errors", content: body.content, version: version + 1 });
    const { versions } = (await ask(url, "/api/entries/api%2Ferrors/history?limit=1&diff=true", { token })).json();
    expect(versions[0]).toMatchObject({ version: version + 1, author: "Ada Lovelace" });
    expect(versions[0].diff).toContain("+429: slow down");
    const older = await ask(url, `/api/rendered/page?path=wiki/api/errors.md&version=${version}`, { token });
    expect(older.json()).toMatchObject({ entry: { id: "api/errors", version, latest: version + 1 } });
    expect((await ask(url, "/api/search?query=slow", { token })).json().results[0]).toMatchObject({ id: "api/errors" });
  });
});

describe("T9: requests meant for someone else", () => {
  test("T9: a strange Host, Origin or fetching site gets 403 whatever it brings", async () => {
    const { root } = await newWorkspace();
    const { url, token, link } = await serve(root);
    const session = await signIn(link);
    const { port } = new URL(url);
    const strange: Record<string, string>[] = [
      { host: "evil.test" },
      { host: `evil.test:${port}` },
      { host: `evil.test:${port}`, origin: `http://evil.test:${port}` },
      { host: "127.0.0.1" },
      { host: "localhost" },
      { host: `127.0.0.1:${Number(port) + 1}` },
      { host: `localhost.evil.test:${port}` },
      { host: `localhost.:${port}` },
      { host: `127.0.0.1.evil.test:${port}` },
      { host: `127.0.0.2:${port}` },
      { host: `0.0.0.0:${port}` },
      { host: `2130706433:${port}` },
      { origin: "http://evil.test" },
      { origin: `http://evil.test:${port}` },
      { origin: "null" },
      { origin: "" },
      { origin: "http://localhost" },
      { origin: "http://localhost:3000" },
      { origin: `http://localhost:${Number(port) + 1}` },
      { origin: `http://127.0.0.1:${port}0` },
      { origin: `http://localhost.evil.test:${port}` },
      { origin: `http://localhost:${port}.evil.test` },
      { origin: `http://localhost:${port}@evil.test` },
      { origin: `https://127.0.0.1:${port}` },
      { origin: `file://127.0.0.1:${port}` },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image" },
    ];
    for (const headers of strange) {
      for (const path of ["/", "/api/entries", "/healthz", "/mcp", "/api/events", "/sign-in", `/?token=${token}`]) {
        for (const credentials of [{ authorization: `Bearer ${token}` }, session] as Record<string, string>[]) {
          const answer = await ask(url, path, { headers: { ...credentials, ...headers } });
          expect([path, headers, answer.status]).toEqual([path, headers, 403]);
          expect(answer.headers["set-cookie"]).toBeUndefined();
          expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
        }
      }
      const preflight = await ask(url, "/api/entries/vision", { method: "OPTIONS", headers });
      expect(preflight.status).toBe(403);
    }
    const good: Record<string, string>[] = [
      {},
      { host: `localhost:${port}` },
      { host: `LOCALHOST:${port}` },
      { host: `[::1]:${port}` },
      { origin: url, "sec-fetch-site": "same-origin" },
      { "sec-fetch-site": "none", "sec-fetch-mode": "navigate" },
      { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" },
    ];
    for (const headers of good) {
      expect([headers, (await ask(url, "/", { token, headers })).status]).toEqual([headers, 200]);
    }
  });

  test("T9: a request without a Host, or with two, is refused", async () => {
    const { root } = await newWorkspace();
    const { url, token } = await serve(root);
    const { host } = new URL(url);
    const auth = `Authorization: Bearer ${token}\r\nConnection: close\r\n`;
    expect(await sendRaw(url, `GET /api/entries HTTP/1.0\r\n${auth}\r\n`)).toMatch(/^HTTP\/1.1 403 /);
    expect(await sendRaw(url, `GET /api/entries HTTP/1.1\r\n${auth}\r\n`)).toMatch(/^HTTP\/1.1 403 /);
    const two = `GET /api/entries HTTP/1.1\r\nHost: evil.test\r\nHost: ${host}\r\n${auth}\r\n`;
    expect(await sendRaw(url, two)).toMatch(/^HTTP\/1.1 40[03] /);
    const absolute = `GET http://evil.test/?token=${token} HTTP/1.1\r\nHost: ${host}\r\n${auth}\r\n`;
    expect(await sendRaw(url, absolute)).not.toMatch(/location: .*evil/i);
  });

  test("T9: the server listens on this machine only", async () => {
    const { root } = await newWorkspace();
    const { url } = await serve(root);
    const { port } = new URL(url);
    const hex = Number(port).toString(16).toUpperCase().padStart(4, "0");
    const listening = [...read("/proc/net/tcp").split("\n"), ...read("/proc/net/tcp6").split("\n")]
      .map((line) => line.trim().split(/\s+/))
      .filter(([, local, , state]) => local?.endsWith(`:${hex}`) && state === "0A")
      .map(([, local]) => local);
    // 127.0.0.1 and ::1; a system without IPv6 has only the first.
    const loopback = [`0100007F:${hex}`, `00000000000000000000000001000000:${hex}`];
    expect(listening.length).toBeGreaterThan(0);
    expect(loopback).toEqual(expect.arrayContaining(listening));
  });

  test("T35: no answer can be framed, sniffed, or run a script but our own", async () => {
    const { root } = await newWorkspace();
    const { url, token } = await serve(root);
    for (const [path, given] of [
      ["/", token],
      ["/api/entries", token],
      ["/nowhere", token],
      ["/api/entries", "wrong"],
      ["/healthz", undefined],
      ["/sign-in", undefined],
    ] as const) {
      const { headers } = await ask(url, path, { token: given });
      expect(headers["content-security-policy"]).toMatch(/^default-src 'none'; .*frame-ancestors 'none'/);
      expect(headers["content-security-policy"]).not.toMatch(/unsafe|script-src (?!'self';)|\*|https?:/);
      expect(headers["x-content-type-options"]).toBe("nosniff");
      expect(headers["x-frame-options"]).toBe("DENY");
      expect(headers["referrer-policy"]).toBe("no-referrer");
    }
    expect((await ask(url, "/api/entries", { token })).headers["cache-control"]).toBe("no-store");
  });
});

test("T10: what another site's page can send has no effect", async () => {
  const { root } = await newWorkspace();
  const { url, token, link } = await serve(root);
  const session = await signIn(link);
  const { version } = (await ask(url, "/api/entries/notes", { token })).json();
  const { id } = (
    await ask(url, "/api/tokens", { method: "POST", token, body: { kind: "agent", role: "planner" } })
  ).json();
  const json = JSON.stringify({ content: "# Owned\n", version });
  const form = "content=owned&line=owned&version=1";
  const attempts: [string, string, Record<string, string>, string | undefined][] = [
    ["POST", "/api/entries/decisions/log", { "content-type": "application/x-www-form-urlencoded" }, form],
    ["POST", "/api/entries/decisions/log", { "content-type": "text/plain" }, json],
    ["POST", "/api/entries/decisions/log", { "content-type": "multipart/form-data; boundary=x" }, json],
    ["POST", "/api/entries/decisions/log", { "content-type": "text/plain; application/json" }, json],
    ["POST", "/api/entries/decisions/log", {}, json],
    ["PUT", "/api/entries/notes", { "content-type": "text/plain" }, json],
    ["POST", `/api/entries/decisions/log?line=owned`, {}, undefined],
    ["DELETE", `/api/tokens/${id}`, {}, undefined],
  ];
  for (const [method, path, type, body] of attempts) {
    const foreign = { origin: "http://evil.test", "sec-fetch-site": "cross-site" };
    const hidden = method === "PUT" || body ? [] : [{}];
    for (const from of [foreign, { origin: "null" }, ...hidden]) {
      const answer = await ask(url, path, { method, headers: { ...session, ...type, ...from }, body });
      expect([method, path, from, answer.status]).toEqual([method, path, from, 403]);
    }
    if (body) {
      const own = await ask(url, path, { method, headers: { ...session, ...type, origin: url }, body });
      expect([type, own.status]).toEqual([type, 415]);
      const bearer = await ask(url, path, { method, token, headers: type, body });
      expect([type, bearer.status]).toEqual([type, 415]);
    }
  }
  const typed = { "content-type": "application/json" };
  const noOrigin = await ask(url, "/api/entries/notes", {
    method: "PUT",
    headers: { ...session, ...typed },
    body: json,
  });
  expect(noOrigin.status).toBe(403);

  expect((await ask(url, "/api/entries/notes", { token })).json()).toMatchObject({ version });
  expect((await ask(url, "/api/entries/decisions", { token })).json().content).not.toContain("owned");
  expect((await ask(url, "/api/tokens", { token })).json().tokens[0].revoked_at).toBeNull();

  const own = await ask(url, "/api/entries/notes", {
    method: "PUT",
    headers: { ...session, ...typed, origin: url },
    body: json,
  });
  expect(own.status).toBe(200);
});

describe("what is wrong is said", () => {
  test("malformed, mistyped, unknown and oversized requests get a status and a sentence", async () => {
    const { root } = await newWorkspace();
    const { url, token } = await serve(root);
    const json = { "content-type": "application/json" };
    const put = (body: string) => ["PUT", "/api/entries/vision", body] as const;
    const table: [readonly [string, string, string?], number, RegExp][] = [
      [put("{"), 400, /the body is not JSON: .+/],
      [put("{'content': 1}"), 400, /the body is not JSON/],
      [put("[]"), 400, /the body must be a JSON object/],
      [put("null"), 400, /the body must be a JSON object/],
      [put('"x"'), 400, /the body must be a JSON object/],
      [put("{}"), 400, /content: .*; version: /],
      [put(""), 400, /content: .*; version: /],
      [put('{"content": 1, "version": "2"}'), 400, /content: expected text, not 1; version: expected a number/],
      [put('{"content": "x", "version": 1.5}'), 400, /version: expected a whole number/],
      [put('{"content": "x", "version": -1}'), 400, /version: /],
      [put('{"content": "x", "version": 1e400}'), 400, /version: /],
      [put('{"content": "a\\u0000b", "version": 1}'), 400, /NUL/],
      [put(JSON.stringify({ content: "x".repeat(1_000_001), version: 1 })), 400, /the maximum is 1000000/],
      [
        ["PUT", "/api/entries/nowhere", '{"content":"x","version":1}'],
        404,
        /section nowhere does not exist; expected vision/,
      ],
      [["PUT", "/api/entries/decisions", '{"content":"x","version":1}'], 403, /decisions is a log/],
      [["POST", "/api/entries/vision/log", '{"line":"x"}'], 403, /vision is a snapshot/],
      [["POST", "/api/entries/decisions/log", '{"line":["x"]}'], 400, /line: expected text/],
      [["GET", "/api/entries/nowhere"], 404, /section nowhere does not exist/],
      [["GET", "/api/entries/..%2F..%2Fetc%2Fpasswd"], 400, /id: expected lower-case letters/],
      [["GET", "/api/entries/%00"], 400, /id: /],
      [["GET", "/api/entries/%zz"], 400, /id: /],
      [["GET", "/api/entries/vision?version=9999"], 404, /vision has no version 9999; the latest is/],
      [["GET", "/api/entries/vision?version=abc"], 400, /version: /],
      [["GET", "/api/entries/vision/history?limit=0"], 400, /limit: /],
      [["GET", "/api/entries/vision/history?diff=perhaps"], 400, /diff: expected true or false/],
      [["GET", "/api/search"], 400, /query: /],
      [["GET", "/api/search?query=%20"], 400, /query: must not be empty/],
      [["GET", "/api/search?query=x&limit=51"], 400, /limit: /],
      [["GET", "/api/proposals?status=done"], 400, /status: /],
      [["GET", "/api/proposals/p-none"], 404, /proposal p-none does not exist/],
      [["POST", "/api/proposals/p-none/approve", "{}"], 404, /proposal p-none does not exist/],
      [["POST", "/api/tokens", '{"kind":"agent","role":"king"}'], 400, /role: king does not exist; expected planner/],
      [["DELETE", "/api/tokens/t-none"], 404, /token t-none does not exist/],
      [["POST", "/api/sources", '{"name":"../x","content":""}'], 400, /\.\.\/x/],
      [["GET", "/api/none"], 404, /this route does not exist; \/api\/openapi.json/],
      [["POST", "/api/search", "{}"], 404, /this route does not exist/],
      [["PATCH", "/api/entries/vision", "{}"], 404, /this route does not exist/],
    ];
    for (const [[method, path, body], status, message] of table) {
      const answer = await ask(url, path, { method, token, headers: body === undefined ? {} : json, body });
      expect([method, path, body?.slice(0, 50), answer.status]).toEqual([method, path, body?.slice(0, 50), status]);
      expect(answer.headers["content-type"]).toContain("application/json");
      expect(answer.json().error).toMatch(message);
      expect(answer.text).not.toMatch(/node_modules|at .*\.[jt]s:\d/);
    }
  });

  test("a body over 48 MiB is refused, whether it says its length or not, and the server goes on", async () => {
    const { root } = await newWorkspace();
    const { url, token } = await serve(root);
    const { host } = new URL(url);
    const head = `PUT /api/entries/vision HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nConnection: close\r\n`;
    const announced = await sendRaw(url, `${head}Content-Length: 60000000\r\n\r\n{`);
    expect(announced).toMatch(/^HTTP\/1.1 413 /);
    expect(announced).toContain("the request body is too large");
    const large = JSON.stringify({ content: "x".repeat(51_000_000), version: 1 });
    const chunked = await ask(url, "/api/entries/vision", {
      ...{ method: "PUT", token, body: large },
      headers: { "content-type": "application/json", "transfer-encoding": "chunked" },
    }).catch((error) => ({ status: 413, text: String(error.code) }));
    expect(chunked.status).toBe(413);
    expect(chunked.text).toMatch(/the request body is too large|EPIPE|ECONNRESET/);
    expect((await ask(url, "/healthz")).status).toBe(200);
  });

  test("strange addresses of pages are refused by what reads them, and the application says so", async () => {
    const { root } = await newWorkspace();
    const { url, token } = await serve(root);
    for (const asked of [
      "wiki/nowhere.md",
      "wiki/__proto__.md",
      "wiki/..%2Fschema.yaml",
      "../outside.md",
      "%00",
      "%zz",
      "wiki/vision.md&version=-1",
      "wiki/vision.md&version=1.5",
      "wiki/vision.md&version=1e3",
      "wiki/vision.md&version=99999999999999999999",
      "wiki/vision.md&version=NaN",
      "wiki/vision.md&version=",
      "",
    ]) {
      const page = await ask(url, `/api/rendered/page?path=${asked}`, { token });
      expect([asked, page.status]).toEqual([asked, expect.toSatisfy((code) => code === 400 || code === 404)]);
      expect(page.json().error).toMatch(/\w/);
    }
    for (const path of ["/nowhere", "//", "/entries/%zz", "/sources/x"]) {
      const page = await ask(url, path, { token, headers: { accept: "text/html" } });
      expect([path, page.status, page.text]).toEqual([path, 200, expect.stringContaining('<div id="root">')]);
    }
    const write = await ask(url, "/", { method: "POST", token, body: {} });
    expect(write.status).toBe(404);
  });

  test("while schema.yaml is broken, the last valid one serves, and every answer says where; a missing one is an error", async () => {
    const { root, file } = await newWorkspace();
    const { url, token } = await serve(root);
    const schema = file("wiki/schema.yaml");
    writeFileSync(schema, sampleSchema.replace("mode: snapshot", "mode: snapshots"));
    await sleep(60);
    const warning = async (path: string) => {
      const { status, headers } = await ask(url, path, { token });
      return [path, status, decodeURIComponent(String(headers["scriptorium-warning"] ?? ""))];
    };
    const place = /wiki\/schema\.yaml:6:\d+: .*expected snapshot or log/;
    const page = "/api/rendered/page?path=wiki/vision.md";
    for (const path of [page, "/api/entries", "/api/entries/vision", "/api/search?query=x"]) {
      expect(await warning(path)).toEqual([path, 200, expect.stringMatching(place)]);
    }
    const body = { content: "# Kept\n", version: 1 };
    expect((await ask(url, "/api/entries/vision", { method: "PUT", token, body })).status).toBe(200);

    writeFileSync(schema, "schema: [unclosed\n");
    await sleep(60);
    expect(await warning("/api/entries")).toEqual([
      "/api/entries",
      200,
      expect.stringMatching(/schema\.yaml:\d+:\d+: /),
    ]);
    rmSync(schema);
    expect((await ask(url, page, { token })).json().error).toContain("wiki/schema.yaml is missing");

    writeFileSync(schema, sampleSchema);
    expect((await ask(url, "/", { token })).status).toBe(200);
    expect((await ask(url, "/api/entries/vision", { token })).json()).toMatchObject({ version: 2 });
    expect(await warning("/api/entries")).toEqual(["/api/entries", 200, ""]);
  });
});

test("T24: names of JavaScript's own are names like any other", async () => {
  const own = ["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf"];
  const named = sampleSchema
    .replace("id: glossary", "id: constructor")
    .replace("writable_by: [planner]", "writable_by: [planner, constructor, toString]");
  const { root } = await newWorkspace({ schema: named });
  const { url, token } = await serve(root);
  for (const name of own) {
    const isSection = name === "constructor";
    for (const path of [
      `/api/entries/${name}`,
      `/api/entries/${name}/history`,
      `/api/rendered/page?path=wiki/${name}.md`,
    ]) {
      const { status } = await ask(url, path, { token });
      expect([path, status]).toEqual([
        path,
        isSection ? 200 : expect.toSatisfy((code) => code === 400 || code === 404),
      ]);
    }
    expect((await ask(url, `/api/tokens/${name}`, { method: "DELETE", token })).status).toBe(404);
    expect((await ask(url, `/api/proposals/${name}`, { token })).status).toBe(404);
    expect((await ask(url, `/api/${name}`, { token })).status).toBe(404);
    expect((await ask(url, `/api/entries?${name}=1`, { token })).status).toBe(400);
    expect((await ask(url, `/api/entries?all=${name}`, { token })).status).toBe(400);
    expect((await ask(url, `/api/search?query=${name}`, { token })).status).toBe(200);
    const body = `{"${name}": {"polluted": true, "id": "vision"}, "content": "# ${name}\\n", "version": 0}`;
    const put = await ask(url, "/api/entries/notes", {
      ...{ method: "PUT", token, body },
      headers: { "content-type": "application/json" },
    });
    expect(put.status).toBe(400);
    const section = `{"${name}": 1, "id": "x", "title": "X", "mode": "log", "writable_by": [], "description": "x"}`;
    const headers = { "content-type": "application/json" };
    const strict = await ask(url, "/api/sections", { method: "POST", token, headers, body: section });
    expect([name, strict.status]).toEqual([name, 400]);
  }
  const { version } = (await ask(url, "/api/entries/constructor", { token })).json();
  const put = { method: "PUT", token, body: { content: "# A\n\n[[constructor]] [[toString]]\n", version } };
  expect((await ask(url, "/api/entries/constructor", put)).status).toBe(200);
  const page = (await ask(url, "/api/rendered/page?path=wiki/constructor.md", { token }))
    .json()
    .html.replace(/<span data-s="\d+">([^<]*)<\/span>/g, "$1");
  expect(page).toContain('<a class="wiki-link" href="/entries/constructor">constructor</a>');
  expect(page).toContain('<span class="missing-link" title="this entry does not exist">toString</span>');
  const made = await ask(url, "/api/tokens", { method: "POST", token, body: { kind: "agent", role: "constructor" } });
  expect((await ask(url, "/api/entries", { token: made.json().token })).status).toBe(200);
});

test("the OpenAPI document is whole: every operation, every parameter, every reference", async () => {
  const { root } = await newWorkspace();
  const { url, token } = await serve(root);
  const document = (await ask(url, "/api/openapi.json", { token })).json();
  expect(document.openapi).toMatch(/^3\.1\.\d$/);
  expect(document.info).toMatchObject({ title: expect.any(String), version: expect.stringMatching(/^\d+\.\d+\.\d+/) });
  expect(Object.keys(document).sort()).toEqual(["components", "info", "openapi", "paths", "security", "servers"]);
  for (const requirement of document.security) {
    for (const name of Object.keys(requirement)) expect(document.components.securitySchemes).toHaveProperty(name);
  }

  const ids: string[] = [];
  for (const [path, item] of Object.entries<Record<string, Json>>(document.paths)) {
    expect(path).toMatch(/^\//);
    for (const [method, operation] of Object.entries(item)) {
      expect(["get", "put", "post", "delete"]).toContain(method);
      ids.push(operation.operationId);
      expect(operation.summary).toMatch(/\.$/);
      const parameters = operation.parameters ?? [];
      const places = parameters.map((parameter: { name: string; in: string }) => `${parameter.in} ${parameter.name}`);
      expect(new Set(places).size).toBe(places.length);
      for (const parameter of parameters) {
        expect(["path", "query", "header"]).toContain(parameter.in);
        expect(parameter.in !== "path" || parameter.required).toBe(true);
        expect(parameter.schema).toBeTypeOf("object");
      }
      const templated = [...path.matchAll(/\{(\w+)\}/g)].map((match) => `path ${match[1]}`);
      expect(places.filter((place: string) => place.startsWith("path"))).toEqual(templated);
      expect(method === "get" || method === "delete" ? operation.requestBody : undefined).toBeUndefined();
      expect(Object.keys(operation.responses)).toContain("200");
      for (const [status, response] of Object.entries<Json>(operation.responses)) {
        expect(status).toMatch(/^[1-5]\d\d$/);
        expect(response.description).toMatch(/\w/);
      }
    }
  }
  expect(new Set(ids).size).toBe(ids.length);
  const missing = allOperations.filter(({ name, http }) => {
    const described = http && document.paths[`/api${http.path}`]?.[http.method];
    return http && described?.operationId !== name;
  });
  expect(missing.map((operation) => operation.name)).toEqual([]);

  const faults: string[] = [];
  walk(document, "#", (value, at) => {
    if (typeof value.$ref === "string" && !resolves(document, value.$ref)) faults.push(`${at} names ${value.$ref}`);
    if ("schema" in value) faults.push(...schemaFaults(value.schema, `${at}/schema`));
  });
  for (const [name, schema] of Object.entries(document.components.schemas)) faults.push(...schemaFaults(schema, name));
  expect(faults).toEqual([]);
});

function walk(value: Json, at: string, visit: (value: Json, at: string) => void): void {
  if (value === null || typeof value !== "object") return;
  visit(value, at);
  for (const [key, child] of Object.entries(value)) walk(child, `${at}/${key}`, visit);
}

const resolves = (document: Json, ref: string) =>
  ref.startsWith("#/") &&
  ref
    .slice(2)
    .split("/")
    .reduce((value, key) => value?.[key.replaceAll("~1", "/").replaceAll("~0", "~")], document) !== undefined;

/** What JSON Schema 2020-12 would not take, as far as our operations use it. */
function schemaFaults(schema: Json, at: string): string[] {
  if (typeof schema === "boolean") return [];
  if (schema === null || typeof schema !== "object" || Array.isArray(schema)) return [`${at} is no schema`];
  const types = ["string", "integer", "number", "boolean", "object", "array", "null"];
  const faults: string[] = [];
  const known =
    /^(type|properties|required|items|enum|const|default|description|additionalProperties|propertyNames|pattern|minLength|maxLength|minimum|maximum|minItems|maxItems|anyOf|allOf|oneOf|format|\$ref)$/;
  for (const key of Object.keys(schema)) if (!known.test(key)) faults.push(`${at} has ${key}`);
  for (const type of [schema.type ?? []].flat()) if (!types.includes(type)) faults.push(`${at} is of type ${type}`);
  if (schema.pattern !== undefined) new RegExp(schema.pattern, "u");
  if (schema.required !== undefined) {
    if (!Array.isArray(schema.required)) faults.push(`${at}/required`);
    else for (const name of schema.required) if (!schema.properties?.[name]) faults.push(`${at} requires ${name}`);
  }
  for (const [name, child] of Object.entries(schema.properties ?? {}))
    faults.push(...schemaFaults(child, `${at}/${name}`));
  for (const key of ["items", "additionalProperties", "propertyNames"]) {
    if (key in schema) faults.push(...schemaFaults(schema[key], `${at}/${key}`));
  }
  for (const key of ["anyOf", "allOf", "oneOf"]) {
    for (const child of schema[key] ?? []) faults.push(...schemaFaults(child, `${at}/${key}`));
  }
  return faults;
}

describe("T11: the workspace's token", () => {
  test("T11: is for its owner's eyes only, also when the file was opened to others before", async () => {
    const { root, file } = await newWorkspace();
    const first = await serve(root);
    const path = file(".scriptorium/token");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(read(path).trim()).toBe(first.token);
    expect(first.token.length).toBeGreaterThanOrEqual(32);
    expect(readdirSync(file(".scriptorium")).filter((name) => name.startsWith("token"))).toEqual(["token"]);
    await first.stop();
    chmodSync(path, 0o644);
    const second = await serve(root);
    expect(second.token).toBe(first.token);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("T11: is never written through a link that someone planted", async () => {
    const { root, file } = await newWorkspace();
    const target = join(temporaryFolder(), "target");
    rmSync(file(".scriptorium/token"));
    symlinkSync(target, file(".scriptorium/token"));
    const dangling = await scriptoriumProcess(["serve", "--port", "0"], { cwd: root });
    expect(dangling).toMatchObject({ code: 1, stdout: "" });
    expect(dangling.stderr).toContain("token is a symbolic link or belongs to another user; delete it and start again");
    expect(() => statSync(target)).toThrow();
    writeFileSync(target, "x".repeat(40));
    expect(await scriptoriumProcess(["serve", "--port", "0"], { cwd: root })).toMatchObject({ code: 1, stdout: "" });
    expect(read(target)).toBe("x".repeat(40));
  });

  test("T11: is not put into a folder that is a link", async () => {
    const { root, file, app } = await newWorkspace();
    await app.close();
    const elsewhere = temporaryFolder();
    rmSync(file(".scriptorium"), { recursive: true });
    symlinkSync(elsewhere, file(".scriptorium"));
    const refused = await scriptoriumProcess(["serve", "--port", "0"], { cwd: root });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain(".scriptorium is a symbolic link");
    expect(readdirSync(elsewhere)).toEqual([]);
  });

  test("T11: is never empty or guessable", async () => {
    const { root, file } = await newWorkspace();
    for (const text of ["", "\n", "short\n"]) {
      writeFileSync(file(".scriptorium/token"), text);
      const refused = await scriptoriumProcess(["serve", "--port", "0"], { cwd: root });
      expect(refused.code).toBe(1);
      expect(refused.stderr).toContain("does not contain a token; delete it and start again");
    }
  });

  test("T11: is the same for servers that start at the same time", async () => {
    const { root } = await newWorkspace();
    const served = await Promise.all([1, 2, 3].map(() => serveProcess(root)));
    expect(new Set(served.map((one) => one.token)).size).toBe(1);
    for (const { url, token } of served) expect((await ask(url, "/api/entries", { token })).status).toBe(200);
  });
});

test("T18: no token appears in logs, output, database or git, but for the printed link", async () => {
  const { root, git } = await newWorkspace();
  const child = start("scriptorium.js", ["serve", "--port", "0"], root, { SCRIPTORIUM_LOG: "trace" });
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  child.stdout?.on("data", (chunk) => (output += chunk));
  child.stderr?.on("data", (chunk) => (output += chunk));
  await expect.poll(() => output).toMatch(/code=\S+\n/);
  const link = /http:\S+/.exec(output)?.[0] ?? "";
  const { origin: url, searchParams } = new URL(link);
  const code = searchParams.get("code") ?? "";
  const token = read(join(root, ".scriptorium/token")).trim();
  const session = await signIn(link);
  await signIn(`${url}/?token=${token}`);
  const made = (
    await ask(url, "/api/tokens", { method: "POST", token, body: { kind: "agent", role: "planner" } })
  ).json();
  await ask(url, `/entries/vision?token=${token}`);
  await ask(url, "/api/entries", { token: `${token}x` });
  await ask(url, `/api/none?token=${made.token}`, { token });
  await ask(url, "/api/entries/%1b%5B31mvision", { token: made.token });
  await ask(url, "/mcp", { method: "POST", token: made.token, body: { jsonrpc: "2.0", id: 1, method: "nothing" } });
  await ask(url, "/api/entries/decisions/log", { method: "POST", token: made.token, body: { line: "hello" } });
  const closed = new Promise((done) => child.once("close", done));
  child.kill("SIGTERM");
  expect(await closed).toBe(0);

  const cookie = session.cookie.split("=").at(-1) ?? "";
  const secrets = { workspace: token, agent: made.token as string, code, cookie, page: session["x-page-secret"] };
  expect(output.split(code).length - 1, "the link, once").toBe(1);
  const history = git("log", "--all", "-p");
  const files = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((found) => found.isFile())
    .map((found) => join(found.parentPath, found.name));
  expect(files.length).toBeGreaterThan(20);
  for (const [name, secret] of Object.entries(secrets)) {
    expect(output.replace(link, "").includes(secret), `${name} in the output`).toBe(false);
    expect(history.includes(secret), `${name} in git`).toBe(false);
    const holders = files.filter((path) => !path.endsWith("/token") && readFileSync(path).includes(secret));
    expect(holders, name).toEqual([]);
  }
  expect(output).not.toContain("\u001b");
});

describe("serving", () => {
  test("a taken port is named, with what to do about it", async () => {
    const { root } = await newWorkspace();
    const { url } = await serve(root);
    const { port } = new URL(url);
    const refused = await scriptoriumProcess(["serve", "--port", port], { cwd: root });
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toBe(
      `scriptorium: port ${port} is already in use, perhaps by another scriptorium serve; choose another with --port, or --port 0 for a free one\n`,
    );
    const nonsense = await scriptoriumProcess(["serve", "--port", "http"], { cwd: root });
    expect(nonsense.code).toBe(2);
    expect(nonsense.stderr).toContain("Expected a port from 0 to 65535");
  });

  test.each(engines)("two servers of one workspace agree, on %s", async (engine) => {
    const { root } = await newWorkspace({ engine });
    const [one, two] = await Promise.all([serveProcess(root), serveProcess(root)]);
    expect(one.url).not.toBe(two.url);
    const { token } = one;
    for (let round = 0; round < 5; round++) {
      const [writer, reader] = round % 2 ? [one, two] : [two, one];
      const { version } = (await ask(writer.url, "/api/entries/notes", { token })).json();
      const body = { content: `# Round ${round}\n`, version };
      expect((await ask(writer.url, "/api/entries/notes", { method: "PUT", token, body })).status).toBe(200);
      const seen = (await ask(reader.url, "/api/entries/notes", { token })).json();
      expect(seen).toMatchObject({ content: body.content, version: version + 1 });
    }
  });

  test("SCRIPTORIUM_DATABASE_URL overrides the file's setting", async () => {
    const { root } = await newWorkspace();
    const { url, token } = await serve(root, { SCRIPTORIUM_DATABASE_URL: await freshDatabase() });
    expect((await ask(url, "/api/status", { token })).text).toContain("postgres");
  });

  test.each(engines)(
    "SIGTERM in the middle of writing: exit 0, and all that was acknowledged is in git, on %s",
    async (engine) => {
      const { root, git } = await newWorkspace({ engine });
      const { url, token, child, stop } = await serveProcess(root);
      const acknowledged: string[] = [];
      let unexpected = 0;
      const writers = Array.from({ length: 8 }, async (_, writer) => {
        for (let n = 0; n < 1000; n++) {
          const line = `line ${writer}/${n}.`;
          const answer = await ask(url, "/api/entries/decisions/log", { method: "POST", token, body: { line } }).catch(
            () => undefined,
          );
          if (!answer) return;
          if (answer.status === 200) acknowledged.push(line);
          else unexpected++;
        }
      });
      await expect.poll(() => acknowledged.length).toBeGreaterThan(40);
      await stop("SIGTERM");
      await Promise.all(writers);
      expect([child.exitCode, child.signalCode, unexpected]).toEqual([0, null, 0]);
      const recorded = git("show", "HEAD:wiki/decisions.md");
      expect(acknowledged.filter((line) => !recorded.includes(line))).toEqual([]);
      expect(git("status", "--porcelain", "wiki")).toBe("");
    },
  );

  test("a page that takes seconds to lay out keeps nobody else waiting", long, async () => {
    const { root } = await newWorkspace();
    const { url, token } = await serveProcess(root);
    const { version } = (await ask(url, "/api/entries/notes", { token })).json();
    const body = { content: "[a](".repeat(60_000), version };
    expect((await ask(url, "/api/entries/notes", { method: "PUT", token, body })).status).toBe(200);

    let isOver = false;
    const hostile = Promise.all(
      [1, 2, 3].map(() => ask(url, "/api/rendered/page?path=wiki/notes.md", { token })),
    ).finally(() => {
      isOver = true;
    });
    let meanwhile = 0;
    while (!isOver) {
      expect((await ask(url, "/api/entries/vision", { token })).status).toBe(200);
      if (!isOver) meanwhile++;
    }
    const pages = await hostile;
    for (const page of pages) expect(page.text).toContain("shown unformatted because rendering takes too long");
    expect(meanwhile, "answers to others, meanwhile").toBeGreaterThan(5);

    // What was laid out once is known: it does not queue up behind another such page.
    const other = { content: "[b](".repeat(60_000), version: 1 };
    expect((await ask(url, "/api/entries/glossary", { method: "PUT", token, body: other })).status).toBe(200);
    const order: string[] = [];
    const fresh = ask(url, "/api/rendered/page?path=wiki/glossary.md", { token }).then(() => order.push("new"));
    await ask(url, "/api/rendered/page?path=wiki/notes.md", { token }).then(() => order.push("known"));
    await fresh;
    expect(order).toEqual(["known", "new"]);
  });

  test("T9: a page of another local server gets nothing, cookie or not", async () => {
    const { root } = await newWorkspace();
    const { url, link } = await serve(root);
    const session = await signIn(link);
    const other = createServer().listen(0, "127.0.0.1");
    onTestFinished(() => void other.close());
    await new Promise((ready) => other.once("listening", ready));
    const origin = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const answer = await ask(url, "/api/entries", { headers: { ...session, origin, "sec-fetch-site": "same-site" } });
    expect(answer.status).toBe(403);
    expect(answer.text).not.toContain("vision");
  });
});
