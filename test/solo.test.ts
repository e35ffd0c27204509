import { appendFileSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { scribe, scriptoriumProcess, serve } from "./support/commands.ts";
import { executed, newRun, passes, planned, playing } from "./support/crew.ts";
import { overHttp, overStdio } from "./support/mcp.ts";
import { newWorkspace } from "./support/workspace.ts";

const soloSchema = readFileSync(new URL("../templates/solo/schema.yaml", import.meta.url), "utf8");
const entries = ["overview", "conventions", "status", "decisions"];

describe("P4: a wiki with one role and no pipeline", () => {
  test("an agent over MCP needs no --role, and list_entries begins a new turn with a fresh read cap", async () => {
    const { root } = await newWorkspace({ schema: soloSchema });
    const { client, call } = await overStdio(root, undefined);
    expect(client.getInstructions()).toContain("Your role is agent.");
    expect(client.getInstructions()).not.toContain("transfer_focus");
    for (let turn = 1; turn <= 3; turn++) {
      await call("list_entries");
      for (const id of entries) expect(await call("fetch_entry", { id })).toMatchObject({ id });
      expect(await call("fetch_entry", { id: "glossary" })).toMatchObject({
        status: "refused",
        error: expect.stringMatching(/read cap reached.*to start a new turn, call list_entries/),
      });
    }
    expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain("transfer_focus");
  });

  test("over HTTP the same token begins a new turn too", async () => {
    const { root, app } = await newWorkspace({ schema: soloSchema });
    const { url } = await serve(root);
    const { token } = await app.tokens.create({
      kind: "agent",
      role: "agent",
      name: "mine",
      expiresAt: undefined,
      by: "Ada",
    });
    const { call } = await overHttp(url, token, "2026-07-28");
    for (const id of entries) await call("fetch_entry", { id });
    expect(await call("fetch_entry", { id: "glossary" })).toMatchObject({ status: "refused" });
    await call("list_entries");
    expect(await call("fetch_entry", { id: "glossary" })).toMatchObject({ id: "glossary" });
  });

  test("all writes of one connection belong to one run, so that it can be reverted as a whole", async () => {
    const { root, git } = await newWorkspace({ schema: soloSchema });
    const { client, call } = await overStdio(root, undefined);
    for (const line of ["chose SQLite", "chose git"]) {
      await call("list_entries");
      await call("append_log", { id: "decisions", line });
    }
    await client.close();
    await expect.poll(() => git("log", "--format=%(trailers:key=Run,valueonly)", "-2").split(/\s+/)).toHaveLength(2);
    const [first, second] = git("log", "--format=%(trailers:key=Run,valueonly)", "-2").split(/\s+/);
    expect(first).toMatch(/^r-/);
    expect(second).toBe(first);
  });

  test("scribe needs no --role, and transfer_focus says that there is no pipeline", async () => {
    const { root: cwd } = await newWorkspace({ schema: soloSchema });
    const appended = await scribe(["append-log", "--id", "decisions", "--line", "chose SQLite"], { cwd });
    expect(appended.json<{ line: string }>().line).toMatch(/ agent: chose SQLite$/);
    const handed = await scribe(["transfer-focus", "--target", "agent", "--summary", "done"], { cwd });
    expect(handed).toMatchObject({ code: 1, stderr: expect.stringContaining("this wiki has no pipeline") });
    expect(handed.json()).toMatchObject({ status: "denied" });
  });

  test("a run of the crew writes what it decided under the only role", async () => {
    const made = await newWorkspace({ schema: soloSchema });
    appendFileSync(made.file("scriptorium.yaml"), "crew: {sandbox: none}\n");
    made.git("commit", "-qam", "Run without a sandbox");
    const app = await made.open();
    const run = await newRun(app, [planned("0")]);
    const agents = playing({
      worker: async ({ number, use }) => {
        await use("submit_output", { output: `made ${number}`, decisions: ["Three tries."] });
        return undefined;
      },
      qc: passes,
    });
    expect(await executed(app, run, agents)).toMatchObject({ state: "completed" });
    expect((await app.entries.fetch("decisions")).content).toMatch(/ agent \(run .*Three tries\./);
  });
});

describe("P4: a wiki with several roles", () => {
  test("mcp and scribe without --role list the roles, and a misspelt role gets the nearest match", async () => {
    const { root: cwd } = await newWorkspace();
    const missing = "choose a role with --role: wiki/schema.yaml has planner, architect, engineer";
    const mcp = await scriptoriumProcess(["mcp"], { cwd });
    expect(mcp).toMatchObject({ code: 1, stdout: "" });
    expect(mcp.stderr).toBe(`scriptorium: ${missing}\n`);
    expect((await scribe(["list-entries"], { cwd })).stderr).toContain(missing);
    const near = "role plannr is not in wiki/schema.yaml; did you mean planner?";
    expect((await scriptoriumProcess(["mcp", "--role", "plannr"], { cwd })).stderr).toContain(near);
    expect((await scribe(["list-entries", "--role", "plannr"], { cwd })).stderr).toContain(near);
  });

  test("a role outside the pipeline begins its turns with list_entries too: it cannot hand over", async () => {
    const schema = soloSchema.replace("pipeline: []", "pipeline: [planner]");
    const { root } = await newWorkspace({ schema });
    const { call } = await overStdio(root, "agent");
    for (const id of entries) await call("fetch_entry", { id });
    expect(await call("fetch_entry", { id: "glossary" })).toMatchObject({ status: "refused" });
    await call("list_entries");
    expect(await call("fetch_entry", { id: "glossary" })).toMatchObject({ id: "glossary" });
  });
});
