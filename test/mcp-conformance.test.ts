import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createServer, type RequestListener, request } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import { describe, expect, onTestFinished, test } from "vitest";
import { guard } from "../src/http/guard.ts";
import { mcpOverHttp } from "../src/mcp/http.ts";
import { scriptorium, serve } from "./support/commands.ts";
import { conformanceServer } from "./support/conformance-server.ts";
import type { Era } from "./support/mcp.ts";
import { nodeVersion } from "./support/node-versions.ts";
import { skippedFor } from "./support/programs.ts";
import { agent, newWorkspace, temporaryFolder } from "./support/workspace.ts";

/**
 * The official conformance suite of the Model Context Protocol, which npm brings and which needs a
 * newer Node than ours, also from npm. Each run checks every message against the protocol's schema.
 */
const conformance = "--package=@modelcontextprotocol/conformance@0.2.0-alpha.12";
const found = await run("npx", ["--yes", conformance, "-c", "command -v conformance"]);
const [suite = ""] = found.output.split("\n").filter((line) => line.startsWith("/"));
const newer = await nodeVersion("24");
const newerNode = "node" in newer ? newer.node : "";
const unavailable =
  "missing" in newer
    ? newer.missing
    : suite
      ? undefined
      : `npx cannot install the MCP conformance suite: ${/^npm error.*/m.exec(found.output)?.[0] ?? found.output}`;

/** What a server of our own tools can fail for no other reason than that it has no tool of the suite's name. */
const needsFixture: Record<string, string> = {
  "logging-set-level": "the server offers no logging: the protocol deprecates it",
  "completion-complete": "no prompts, so no arguments to complete",
  "json-schema-2020-12": "asks for the suite's tool json_schema_2020_12_tool",
  "resources-read-text": "asks for the suite's resource test://static-text",
  "resources-read-binary": "asks for the suite's resource test://static-binary",
  "resources-templates-read": "asks for the suite's resource template test://template/{id}/data",
  "resources-subscribe": "the server offers no subscriptions to resources",
  "resources-unsubscribe": "the server offers no subscriptions to resources",
  "prompts-list": "the server offers no prompts",
  "http-custom-header-server-validation": "no tool of ours asks for a parameter in a header",
};
const needsFixtureToo = /^(tools-call|elicitation|prompts-get|input-required)-/;

/** Of scenarios that otherwise hold, the checks that need a fixture. */
const needsFixtureInside: Record<string, string> = {
  "sep-2575-server-rejects-undeclared-capability": "asks for the suite's tool test_missing_capability",
  "sep-2575-missing-capability-http-400": "asks for the suite's tool test_missing_capability",
  "sep-2575-http-server-no-independent-requests-on-stream": "asks for the suite's tool test_streaming_elicitation",
  "sep-2575-server-no-log-without-loglevel": "asks for the suite's tool test_logging_tool",
  "sep-2549-prompts-list-caching-hints": "the server offers no prompts",
};

/** Scenarios about what a tool does, not about how it is carried: our tools never ask back. */
const notCarried: Record<string, string> = {
  "json-schema-2020-12": "a tool's schema, which no transport touches",
  "http-custom-header-server-validation": "the SDK's own check of tools that take a parameter from a header",
  "input-required-result-request-state": "state that a tool keeps with the client",
  "input-required-result-multiple-input-requests": "state that a tool keeps with the client",
  "input-required-result-multi-round": "state that a tool keeps with the client",
  "input-required-result-tampered-state": "state that a tool keeps with the client",
  "input-required-result-non-tool-request": "a prompt that asks back",
};

describe("the official MCP conformance suite", skippedFor(unavailable), () => {
  test.each([
    ["2025-11-25" as Era, 40],
    ["2026-07-28" as Era, 85],
  ])("a served workspace speaks %s as the suite wants it", async (era, atLeast) => {
    const { root } = await newWorkspace();
    const { url } = await serve(root);
    const made = await scriptorium(["token", "create", "--agent", "engineer", "--json"], { cwd: root });
    const checks = await check(await withToken(url, made.json<{ token: string }>().token), era);

    const applies = checks.filter(
      ({ scenario, id }) => id === "wire-schema-valid" || !(scenario in needsFixture || needsFixtureToo.test(scenario)),
    );
    expect(failures(applies.filter(({ id }) => !(id in needsFixtureInside)))).toEqual([]);
    report(`a served workspace, ${era}`, applies);
    expect(passed(applies)).toBeGreaterThanOrEqual(atLeast);
  });

  test.each([
    ["2025-11-25" as Era, 70],
    ["2026-07-28" as Era, 120],
  ])(
    "the transport under it carries everything %s has, for a server with the suite's own tools",
    async (era, atLeast) => {
      const { app } = await newWorkspace();
      let port = 0;
      const mcp = mcpOverHttp(app, () => agent("engineer"), conformanceServer);
      const site = new Hono()
        .use(
          guard({
            ...{ localName: "workspace.localhost", port: () => port, isTls: false },
            ...{ baseUrl: undefined, trustedProxies: [] },
          }),
        )
        .all("/mcp", (c) => mcp.fetch(c.req.raw, "token"));
      port = await listen(getRequestListener(site.fetch, { overrideGlobalObjects: false }));
      onTestFinished(() => mcp.close());

      const checks = await check(`http://127.0.0.1:${port}`, era);
      expect(failures(checks.filter(({ scenario }) => !(scenario in notCarried)))).toEqual([]);
      report(`the transport, ${era}`, checks);
      expect(passed(checks)).toBeGreaterThanOrEqual(atLeast);
    },
  );
});

type Check = { scenario: string; id: string; status: string; errorMessage?: string };

/** Runs every scenario of one revision and gives back each check. */
async function check(url: string, era: Era): Promise<Check[]> {
  const folder = temporaryFolder();
  const ran = await run(newerNode, [
    suite,
    "server",
    "--url",
    `${url}/mcp`,
    "--suite",
    "all",
    "--spec-version",
    era,
    "-o",
    folder,
  ]);
  const scenarios = readdirSync(folder);
  if (scenarios.length === 0) throw new Error(`the suite ran nothing:\n${ran.output}`);
  return scenarios.flatMap((name) => {
    const scenario = name.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT.*$/, "");
    const found = JSON.parse(readFileSync(join(folder, name, "checks.json"), "utf8")) as Check[];
    return found.map(({ id, status, errorMessage }) => ({ scenario, id, status, errorMessage }));
  });
}

const failures = (checks: Check[]) =>
  checks
    .filter(({ status }) => status === "FAILURE")
    .map(({ scenario, id, errorMessage }) => `${scenario}: ${id}: ${errorMessage}`);

const report = (what: string, checks: Check[]) =>
  process.stderr.write(`MCP conformance of ${what}: ${passed(checks)} checks passed\n`);

const passed = (checks: Check[]) => checks.filter(({ status }) => status === "SUCCESS").length;

function run(program: string, args: string[]): Promise<{ code: number | null; output: string }> {
  return new Promise((done) => {
    const child = spawn(program, args, { timeout: 120_000 });
    let output = "";
    child.stdout.on("data", (chunk) => (output += chunk));
    child.stderr.on("data", (chunk) => (output += chunk));
    child.on("error", (error) => done({ code: null, output: error.message }));
    child.on("close", (code) => done({ code, output }));
  });
}

/** The suite cannot send a token. What it calls its own address becomes the server's; a strange Host or Origin stays. */
async function withToken(target: string, token: string): Promise<string> {
  let own = "";
  const port = await listen((asked, answer) => {
    const headers: Record<string, string | string[] | undefined> = {
      ...asked.headers,
      authorization: `Bearer ${token}`,
    };
    for (const name of ["host", "origin"]) {
      const value = headers[name];
      if (typeof value === "string") headers[name] = value.replace(own, new URL(target).host);
    }
    const forward = request(
      new URL(asked.url ?? "/", target),
      { method: asked.method, headers, agent: false },
      (got) => {
        answer.writeHead(got.statusCode ?? 502, got.headers);
        got.pipe(answer);
      },
    );
    forward.on("error", () => answer.destroy());
    answer.on("close", () => forward.destroy());
    asked.pipe(forward);
  });
  own = `127.0.0.1:${port}`;
  return `http://${own}`;
}

function listen(listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  // A connection that is reused in the moment it is closed fails: on a loaded machine five seconds are short.
  server.keepAliveTimeout = 60_000;
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return new Promise((done) => server.listen(0, "127.0.0.1", () => done((server.address() as AddressInfo).port)));
}
