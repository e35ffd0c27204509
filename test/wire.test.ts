import { appendFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type * as z from "zod";
import { configFile, loadConfig } from "../src/config/config.ts";
import { jsonSchema } from "../src/kernel/json-schema.ts";
import { nounsOfEvent } from "../src/kernel/noun.ts";
import type { JsonSchema } from "../src/kernel/operation-description.ts";
import { unwrap } from "../src/kernel/result.ts";
import { openWorkspace, type Workspace } from "../src/library.ts";
import { allOperations, operations } from "../src/operation-list.ts";
import { scribe, scriptoriumProcess, serve } from "./support/commands.ts";
import { executed, newRun, passes, planned, playing, verdictOf, writes } from "./support/crew.ts";
import { overHttp } from "./support/mcp.ts";
import { ask } from "./support/requests.ts";
import { isWireName } from "./support/wire-names.ts";
import { agent, allEvents, newWorkspace, person, testEnvironment } from "./support/workspace.ts";

/** Every property that a JSON Schema declares, by its path. */
function declaredNames(schema: JsonSchema | boolean | undefined, path = ""): string[] {
  if (schema === undefined || typeof schema === "boolean") return [];
  const inside = [schema.items, schema.additionalProperties, schema.anyOf, schema.oneOf, schema.allOf].flat();
  return [
    ...Object.entries(schema.properties ?? {}).flatMap(([name, part]) => [
      `${path}.${name}`,
      ...declaredNames(part, `${path}.${name}`),
    ]),
    ...inside.flatMap((part) => declaredNames(part, path)),
  ];
}

const strangeNames = (type: z.ZodType, io: "input" | "output") =>
  declaredNames(jsonSchema(type, io)).filter((path) => !isWireName(path.split(".").at(-1) ?? ""));

/** Keys of users' own data, which nobody renames. */
const usersOwn = new Set(["properties", "changes", "latest_properties"]);

/** Every key of a JSON value that is ours and is not named as the wire names things. */
function strangeKeys(value: unknown, path = ""): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => strangeKeys(item, `${path}[]`));
  if (value === null || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([key, member]) => [
    ...(isWireName(key) ? [] : [`${path}.${key}`]),
    ...(usersOwn.has(key) ? [] : strangeKeys(member, `${path}.${key}`)),
  ]);
}

describe("H5: on the wire every name is snake_case, but for those that are promised", () => {
  test("what operations declare", () => {
    const strange = allOperations.flatMap(({ name, input, output }) => [
      ...strangeNames(input, "input").map((path) => `${name} takes ${path}`),
      ...strangeNames(output, "output").map((path) => `${name} gives ${path}`),
    ]);
    expect(strange).toEqual([]);
  });

  test("scriptorium.yaml", () => {
    expect(strangeNames(configFile, "input")).toEqual([]);
  });

  test("scriptorium.yaml refuses a camelCase key and names the right one", async () => {
    const { root, file } = await newWorkspace();
    appendFileSync(file("scriptorium.yaml"), "crew: {prices: {m: {input: 1, output: 2, cacheRead: 0.1}}}\n");
    expect(loadConfig(root, testEnvironment())).toMatchObject({
      ok: false,
      problem: { message: expect.stringContaining("cache_read") },
    });
  });

  test("answers, refusals and events, whatever the face", async () => {
    const page = "# Deploy\n\nDeploy on Fridays.\n";
    const made = await newWorkspace({ files: { "docs/deploy.md": page } });
    appendFileSync(made.file("scriptorium.yaml"), "crew: {sandbox: none}\n");
    const app = await made.open();
    const { root } = made;
    const admin = person();
    const planner = agent("planner", "r-1");

    // Something of everything that is recorded.
    unwrap(await operations.commit_entry.perform(app, { id: "vision", content: "# V\n", version: 1 }, planner));
    unwrap(await operations.append_log.perform(app, { id: "decisions", line: "chose it" }, planner));
    unwrap(await operations.add_source.perform(app, { name: "a.txt", content: "raw" }, admin));
    const added = { type: "service", properties: { ownerName: "Ada" } };
    const node = unwrap(await operations.memory_add_node.perform(app, added, planner));
    const change = { id: node.id, version: 1, properties: { ownerName: "Bob" } };
    unwrap(await operations.memory_update_node.perform(app, change, planner));
    unwrap(await operations.add_user.perform(app, { name: "Grace", rank: "reader" }, admin));
    unwrap(await operations.create_token.perform(app, { kind: "agent", role: "planner" }, admin));
    const topic = unwrap(
      await operations.open_topic.perform(
        app,
        { source_path: "docs/deploy.md", quote: "Fridays", content: "Really?" },
        admin,
      ),
    );
    unwrap(await operations.reply_topic.perform(app, { id: topic.id, content: "Yes." }, admin));
    const proposed = unwrap(
      await operations.insert_proposal.perform(
        app,
        { topic_id: topic.id, base_sha: topic.source_sha, content: page.replace("Fridays", "Mondays") },
        admin,
      ),
    );
    unwrap(await operations.request_revision.perform(app, { id: proposed.id, content: "Tuesdays" }, admin));
    unwrap(await operations.approve_proposal.perform(app, { id: proposed.id }, admin));
    const todo = unwrap(await operations.create_todo.perform(app, { title: "Do it" }, admin));
    unwrap(await operations.lock_todo.perform(app, { id: todo.id, agent_id: "e-1" }, planner));
    const run = await newRun(app, [planned("0"), planned("1.1", { max_retries: 1 })]);
    await executed(
      app,
      run,
      playing({
        worker: writes(),
        qc: async (scene) => {
          if (scene.number === "0") return passes(scene);
          await scene.use("submit_verdict", verdictOf(false));
          return undefined;
        },
      }),
    );

    const events = await allEvents(app);
    expect(events.flatMap(({ kind, data }) => strangeKeys(data, kind))).toEqual([]);
    const unread = new Set(["passages", "preamble"]);
    expect(
      events.filter(({ kind }) => nounsOfEvent(kind).length === 0 && !unread.has(kind.split("-", 1)[0] ?? "")),
    ).toEqual([]);

    const { url, token } = await serve(root);
    const get = async (path: string) => (await ask(url, `/api${path}`, { token })).json();
    const [task] = (await get(`/runs/${run}`)).tasks.filter(({ number }: { number: string }) => number === "1.1");
    const paths = ["/entries", "/entries/vision", "/entries/vision/history", "/sources", "/topics", "/inbox"];
    paths.push(`/topics/${topic.id}`, "/proposals", `/proposals/${proposed.id}`, "/pages/docs%2Fdeploy.md");
    paths.push(`/graph/nodes/${node.id}?fields=*`, "/tasks", `/tasks/${todo.id}`, "/runs", `/runs/${run}`, "/status");
    paths.push(`/runs/${run}/usage`, `/tasks/${task.id}/record`, `/metrics?run=${run}`, "/people", "/tokens");
    paths.push("/rendered/page?path=docs%2Fdeploy.md", "/search/model", "/entries/nothing", "/doctor");
    for (const path of paths) expect(strangeKeys(await get(path)), path).toEqual([]);
    expect(await get(`/tasks/${task.id}/record`)).toMatchObject({
      failure: { root_causes: expect.any(Array) },
      attempts: [{ statements: [], verdicts: [{ required_fixes: ["make it right"] }] }, {}],
    });

    const stream = await fetch(`${url}/api/events?after=0`, { headers: { authorization: `Bearer ${token}` } });
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    const { value: heard = "" } = (await reader?.read()) ?? {};
    await reader?.cancel();
    const told = [...heard.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data));
    expect(told.length).toBeGreaterThan(10);
    expect(strangeKeys(told)).toEqual([]);

    const key = await ask(url, "/api/tokens", { method: "POST", token, body: { kind: "agent", role: "planner" } });
    const { call } = await overHttp(url, key.json().token);
    const asked: [string, Record<string, unknown>][] = [
      ["list_entries", {}],
      ["fetch_entry", { id: "vision" }],
      ["commit_entry", { id: "vision", content: "# W\n", version: 1 }],
      ["commit_entry", { id: "api/errors", content: "x", version: 1 }],
      ["memory_get_node", { id: node.id, fields: ["*"] }],
      ["memory_update_node", change],
      ["lock_todo", { id: todo.id, agentId: "e-2" }],
      ["get_topic", { id: topic.id }],
      ["get_task_context", { id: task.id }],
    ];
    for (const [name, input] of asked) expect(strangeKeys(await call(name, input)), name).toEqual([]);

    const commands = [
      ["proposal", "list"],
      ["graph", "export"],
      ["execute", run, "--dry-run"],
    ];
    for (const args of commands) {
      const ran = await scriptoriumProcess([...args, "--json"], { cwd: root });
      expect(strangeKeys(ran.json()), args.join(" ")).toEqual([]);
    }
    const claimed = await scribe(["lock-todo", "--role", "planner", "--id", todo.id, "--agent-id", "e-3"], {
      cwd: root,
    });
    expect(claimed.json()).toMatchObject({ status: "held", holder: "e-1" });
  }, 120_000);
});

test("H8: a library call takes and gives camelCase, and keeps users' own keys", async () => {
  const { root } = await newWorkspace();
  const workspace = await openWorkspace(root);
  const made = unwrap(
    await workspace.call("create_section", {
      id: "risks",
      title: "Risks",
      mode: "snapshot",
      writableBy: ["planner"],
      description: "What could go wrong",
    }),
  );
  expect(made).toMatchObject({ status: "pending", proposalId: expect.stringMatching(/^p-/) });
  const properties = { snake_key: 1, camelKey: { more_of: true } };
  const { id } = unwrap(await workspace.call("memory_add_node", { type: "thing", properties }));
  const node = unwrap(await workspace.call("memory_get_node", { id, fields: ["*"] }));
  expect(node).toMatchObject({ createdAt: expect.any(String), properties });
  const stale = await workspace.call("memory_update_node", { id, version: 7, properties: {} });
  expect(stale).toMatchObject({ ok: false, problem: { details: { latestVersion: 1, latestProperties: properties } } });
  await workspace.close();
});

test("H8: a library call without a required field does not compile", () => {
  // Never called: the compiler is what is tested.
  const calls = (workspace: Workspace) => [
    () => workspace.call("fetch_entry", { id: "vision" }),
    // @ts-expect-error id is missing
    () => workspace.call("fetch_entry", {}),
    // @ts-expect-error version is missing
    () => workspace.call("commit_entry", { id: "vision", content: "" }),
    // @ts-expect-error the library's name is topicId
    () => workspace.call("list_proposals", { topic_id: "t-1" }),
    // @ts-expect-error there is no such operation
    () => workspace.call("fetch_entries", {}),
    async () => {
      const shown = unwrap(await workspace.call("show_run", { id: "run-1" }));
      // @ts-expect-error the library's name is createdAt
      return shown.created_at;
    },
  ];
  expect(calls).toBeTypeOf("function");
});

test("H8: every operation says what it reads or touches", () => {
  for (const { name, effect, reads, touches } of allOperations) {
    expect({ name, reads: reads !== undefined, touches: touches !== undefined }).toEqual({
      name,
      reads: effect === "reads",
      touches: effect !== "reads",
    });
  }
});

test("H8: a JSON Schema is computed once", () => {
  const { input, output } = operations.fetch_entry;
  expect(jsonSchema(input)).toBe(jsonSchema(input));
  expect(jsonSchema(output, "output")).toBe(jsonSchema(output, "output"));
  expect(jsonSchema(output, "output")).not.toBe(jsonSchema(output, "input"));
});
