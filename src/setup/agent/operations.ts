import { createHash } from "node:crypto";
import { join } from "node:path";
import * as z from "zod";
import { configFile } from "../../config/config.ts";
import { configName } from "../../config/environment.ts";
import type { LiveConfig } from "../../config/live.ts";
import { sensitiveSettings } from "../../config/trust/settings.ts";
import { nameOf } from "../../kernel/caller.ts";
import { hunksBetween, unifiedDiff } from "../../kernel/hunks.ts";
import { operation } from "../../kernel/operation.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { readYaml } from "../../kernel/yaml.ts";
import type { Database } from "../../store/database.ts";
import { appendEvent } from "../../store/events.ts";
import { applyAll, readText } from "../change.ts";
import { detectClients } from "../clients/detect.ts";
import { type AgentBlock, agentChoices, keysFor, keysIn } from "./choices.ts";
import { withAgentKeys } from "./edit.ts";
import { tryAgent } from "./trial.ts";

export type AgentSetupApp = { config: LiveConfig; db: Database; now(): Date };

const name = z.enum(agentChoices.map((choice) => choice.name) as [string, ...string[]]);

export const showAgents = operation({
  name: "show_agents",
  summary: "Show the agent of jobs and runs, and the agent programs and keys that are on this machine.",
  effect: "reads",
  reads: ["setting"],
  callers: ["admin"],
  group: "admin",
  http: { method: "get", path: "/agents" },
  input: z.object({}),
  output: z.object({
    present: z
      .object({
        runner: z.string(),
        command: z.array(z.string()).describe("For the runners acp and command"),
        model: z.string().nullable(),
      })
      .nullable()
      .describe("The `agent` block; null if there is none and jobs are off"),
    overridden: z.array(z.string()).describe("Keys of `agent` that your own configuration file sets; it overrides"),
    crew: z.boolean().describe("True if `crew.agents` sets other agents for runs"),
    keys: z.array(z.string()).describe("Variables with API keys that are set; never their values"),
    programs: z.array(
      z.object({
        name,
        title: z.string(),
        runner: z.string(),
        path: z.string().nullable().describe("Null if it is not installed"),
        version: z.string().nullable(),
        login: z.boolean().nullable().describe("Whether a login or key was found; null if that cannot be told"),
        install: z.string(),
        sign_in: z.string(),
      }),
    ),
  }),
  async run({ config }: AgentSetupApp) {
    const { agent, crew, own, root, environment } = config;
    const found = await detectClients(root, environment);
    const programs = agentChoices.map(({ name, runner, install, signIn }) => {
      const client = found.find((one) => one.client.name === name);
      return {
        ...{ name, runner, install, sign_in: signIn },
        title: client?.client.title ?? name,
        path: client?.program ?? null,
        version: client?.version ?? null,
        login: client?.login ?? null,
      };
    });
    return ok({
      present: agent ? { runner: agent.runner, command: agent.command, model: agent.model ?? null } : null,
      overridden: own.keys.filter((key) => key.startsWith("agent.")),
      crew: Object.keys(crew.agents).length > 0,
      keys: keysIn(environment),
      programs,
    });
  },
});

export const configureAgent = operation({
  name: "configure_agent",
  summary: "Set the agent of jobs in scriptorium.yaml. Without a hash it only shows the change.",
  effect: "writes",
  touches: ["setting"],
  callers: ["admin"],
  group: "admin",
  http: { method: "post", path: "/agents/configure" },
  decision: (_app, { hash }) => hash !== undefined,
  input: z.object({
    agent: name.describe("The agent program"),
    model: z
      .string()
      .trim()
      .min(1)
      .max(200)
      .regex(/^[^\u0000-\u001f<>]*$/, "expected one line without < and >")
      .optional()
      .describe("Model to request; the program's own default if left out"),
    hash: z.string().max(64).optional().describe("`hash` of the change as it was shown; writes it"),
  }),
  output: z.object({
    before: z.string(),
    after: z.string(),
    diff: z.string().describe("Unified diff of scriptorium.yaml; empty if nothing changes"),
    hash: z.string().describe("Pass it to write exactly this change"),
    allows: z
      .array(z.object({ key: z.string(), value: z.string(), why: z.string().nullable() }))
      .describe("Settings that need a person's confirmation; writing the change also allows them on this machine"),
    waiting: z.boolean().describe("True if other settings of the file wait to be allowed, so that agents stay off"),
    written: z.boolean(),
  }),
  async run(app: AgentSetupApp, { agent, model, hash }, caller) {
    const { config } = app;
    const file = join(config.root, configName);
    const read = readText(file, configName, config.root);
    if (!read.ok) return read;
    const before = read.value ?? "";
    const planned = planChange(config, before, agent, model);
    if (!planned.ok) return planned;
    const { after, sensitive, allows } = planned.value;
    const present = createHash("sha256")
      .update(JSON.stringify([before, after]))
      .digest("hex");
    const waiting = !config.trust.workspace.isAllowed(config.trust.item());
    const diff = before === after ? "" : unifiedDiff(configName, configName, hunksBetween(before, after));
    const answer = { before, after, diff, hash: present, allows, waiting };
    if (hash === undefined) return ok({ ...answer, written: false });
    if (hash !== present)
      return refuse("conflict", `${configName} changed since the change was shown; look at the change again`);
    const done = applyAll([{ file, shown: configName, inside: config.root, before, after }]);
    if (!done.ok) return done;
    // The settings that were shown, not those of the file, which may have changed again.
    if (!waiting && sensitive.length > 0)
      config.trust.workspace.allow([{ name: configName, entries: sensitive }], nameOf(caller), app.now());
    const event = { at: app.now().toISOString(), actor: nameOf(caller), kind: "settings-changed" as const };
    await app.db.write((tx) => appendEvent(tx, { ...event, subject: `settings:${configName}`, data: { agent } }));
    return ok({ ...answer, written: true });
  },
});

function planChange(config: LiveConfig, before: string, agent: string, model: string | undefined) {
  const choice = agentChoices.find((one) => one.name === agent);
  if (!choice) return refuse("invalid", `agent ${agent} is not supported`);
  const valid = parsed(before);
  if (!valid.ok) return valid;
  const block = (valid.value.document.toJS()?.agent ?? {}) as AgentBlock;
  const after = withAgentKeys(before, keysFor(choice, model, config.environment, block));
  if (!after.ok) return after;
  const value = parsed(after.value);
  if (!value.ok) return value;
  const isOwn = (path: readonly string[]) => config.own.keys.includes(path.join("."));
  const sensitive = sensitiveSettings(value.value.value, config.root, isOwn);
  const known = new Map(config.trust.item().entries.map((entry) => [entry.key, entry.value]));
  const allows = sensitive
    .filter((entry) => known.get(entry.key) !== entry.value)
    .map((entry) => ({ key: entry.key, value: entry.value, why: entry.why ?? null }));
  return ok({ after: after.value, sensitive, allows });
}

const parsed = (text: string) => readYaml(text, configFile, { file: configName, maxBytes: 256 * 1024 });

export const testAgent = operation({
  name: "test_agent",
  summary: "Start the configured agent once with a short prompt, and report how it went.",
  effect: "writes",
  touches: [],
  callers: ["admin"],
  group: "admin",
  http: { method: "post", path: "/agents/test" },
  decision: true,
  input: z.object({}),
  output: z.object({
    works: z.boolean(),
    said: z.string().nullable().describe("Its answer"),
    error: z.string().nullable(),
    fix: z.string().nullable().describe("What to do about the error"),
    stderr: z.string().describe("The end of what it wrote to stderr"),
    duration_ms: z.number(),
    cost_usd: z.number().nullable(),
    input_tokens: z.number().nullable(),
    output_tokens: z.number().nullable(),
  }),
  async run({ config }: AgentSetupApp): Promise<Result<Awaited<ReturnType<typeof tryAgent>>>> {
    return ok(await tryAgent(config));
  },
});
