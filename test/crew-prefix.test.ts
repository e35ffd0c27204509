import { appendFileSync } from "node:fs";
import { encode } from "gpt-3-encoder";
import { expect, test } from "vitest";
import { allOperations } from "../src/operation-list.ts";
import { scriptoriumProcess } from "./support/commands.ts";
import { planned, verdictOf } from "./support/crew.ts";
import { crewMind } from "./support/crew-mind.ts";
import { modelServer } from "./support/model-server.ts";
import type { Heard } from "./support/model-wire.ts";
import { newWorkspace } from "./support/workspace.ts";

const deliveries = {
  pm: "finish_plan",
  preamble: "submit_preamble",
  worker: "submit_output",
  qc: "submit_verdict",
  reporter: "submit_report",
};

/** Every call to the model in a run with a planner, two workers in parallel, a retry and a final report. */
async function callsOfRun(): Promise<Heard[]> {
  const tasks = [planned("0"), planned("1.1"), planned("1.2")];
  let failed = false;
  const { url, heard } = await modelServer(
    crewMind(tasks, (number, { tools }) => {
      if (failed || number !== "1.1" || !tools.includes("submit_verdict")) return undefined;
      failed = true;
      return { calls: [{ name: "submit_verdict", input: verdictOf(false) }] };
    }),
  );
  const made = await newWorkspace();
  const crew = {
    sandbox: "none",
    agents: { all: { runner: "model", model: "fake/one" } },
    providers: { fake: { kind: "anthropic", base_url: `${url}/v1`, key_env: "FAKE_KEY" } },
  };
  appendFileSync(made.file("scriptorium.yaml"), `crew: ${JSON.stringify(crew)}\n`);
  made.git("commit", "-qam", "Configure the crew");
  const how = { cwd: made.root, env: { FAKE_KEY: "none" } };
  const { run } = (await scriptoriumProcess(["plan", "Make it so", "--json"], how)).json<{ run: string }>();
  const ran = await scriptoriumProcess(["execute", run, "--json"], how);
  expect(ran.code, ran.stderr).toBe(0);
  return heard;
}

const taskOf = ({ messages }: Heard) => /# (?:Verify task|Task) ([\d.]+)/.exec(messages[0]?.text ?? "")?.[1];
const withoutMarks = (value: unknown) =>
  JSON.parse(JSON.stringify(value, (key, inner) => (key === "cache_control" ? undefined : inner)));

test("W16, O17: the tools of workers and verifiers take at most 1,100 tokens, those of the others 2,500, its prefix never changes, and its end is marked for the provider's cache", async () => {
  const heard = await callsOfRun();
  for (const [part, delivers] of Object.entries(deliveries)) {
    const calls = heard.filter(({ tools }) => tools.includes(delivers));
    expect(calls.length, part).toBeGreaterThan(0);
    const tokens = Math.max(...calls.map(({ body }) => encode(JSON.stringify(body.tools)).length));
    process.stderr.write(`tools of ${part}: ${calls[0]?.tools.length} tools, ${tokens} tokens\n`);
    expect.soft(tokens, part).toBeLessThanOrEqual(part === "worker" || part === "qc" ? 1100 : 2500);
  }

  // A tool that the agent does not have would only mislead it.
  const names = allOperations.map(({ name }) => name).filter((name) => name.includes("_"));
  for (const { tools, body } of heard) {
    const descriptions = JSON.stringify(body.tools);
    const named = names.filter((name) => new RegExp(`\\b${name}\\b`).test(descriptions));
    const there = (name: string) => tools.includes(name) || descriptions.includes(`${name}(`);
    expect(named.filter((name) => !there(name))).toEqual([]);
  }

  // Parts with a task: every attempt of every task with files begins alike, up to the first word of its prompt.
  for (const part of ["worker", "qc"] as const) {
    const calls = heard.filter((one) => one.tools.includes(deliveries[part]) && taskOf(one) !== "0");
    const prefixes = new Set(calls.map(({ body }) => JSON.stringify([body.model, body.tools, body.system])));
    expect(prefixes.size, part).toBe(1);
  }

  for (const { body } of heard) {
    const system = body.system as { cache_control?: unknown }[];
    expect(system.at(-1)?.cache_control).toEqual({ type: "ephemeral" });
    const messages = body.messages as { content: { cache_control?: unknown }[] }[];
    expect(messages.at(-1)?.content.at(-1)?.cache_control).toEqual({ type: "ephemeral" });
  }

  // Each call of an agent repeats its previous call unchanged and adds to it.
  const ofWorker = heard.filter((one) => one.tools.includes("submit_output") && taskOf(one) === "1.2");
  expect(ofWorker.length).toBeGreaterThan(1);
  for (const [i, { body }] of ofWorker.entries()) {
    const before = (ofWorker[i - 1]?.body.messages ?? []) as unknown[];
    const now = body.messages as unknown[];
    expect(withoutMarks(now.slice(0, before.length))).toEqual(withoutMarks(before));
  }

  // A verifier of files sees the change in its first message and needs no call for it; nobody follows its steps.
  const verifiers = heard.filter((one) => one.tools.includes("submit_verdict") && taskOf(one) === "1.2");
  expect(verifiers[0]?.messages[0]?.text).toMatch(
    /The whole change as show_diff returns it:\n`+data from the delivered commit\ndiff --git /,
  );
  expect(verifiers[0]?.tools).not.toContain("todo_write");
});
