import { isAbsolute } from "node:path";
import * as z from "zod";

const runnerNames = ["claude", "codex", "acp", "command", "model"] as const;
const parts = ["brief", "pm", "preamble", "worker", "qc", "reporter"] as const;

const agent = z
  .strictObject({
    runner: z
      .enum(runnerNames, { error: `expected ${runnerNames.join(", ")}` })
      .optional()
      .describe("claude, codex, acp or command: a program; model: a model over its API"),
    model: z.string().min(1).max(200).optional().describe("Model as provider/model, for the runner model"),
    role: z.string().min(1).max(100).optional().describe("Role in schema.yaml, which decides what the agent may write"),
    command: z
      .array(z.string())
      .min(1)
      .max(100)
      .optional()
      .describe("Program and arguments, for the runners command and acp"),
  })
  .describe("Agent of one part of the crew");

const provider = z.strictObject({
  kind: z.enum(["anthropic", "openai", "openai-compatible"], {
    error: "expected anthropic, openai or openai-compatible",
  }),
  base_url: z
    .url({ protocol: /^https?$/, error: "expected an http or https URL" })
    .optional()
    .describe("Base URL of the API, ending in /v1"),
  key_env: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "expected the name of an environment variable, not the key itself")
    .optional()
    .describe("Name of the environment variable with the API key"),
});

const price = z.strictObject({
  input: z.number().min(0).describe("US dollars per million input tokens"),
  output: z.number().min(0),
  cache_read: z.number().min(0).optional(),
  cache_write: z.number().min(0).optional(),
});

const tokens = z.int().min(1).max(1e12);
const usd = z.number().min(0).max(1e9);

/** The crew: the agent for each part, its model, and its limits. */
export const crewBlock = z
  .strictObject({
    workers: z.int().min(1).max(64).default(3).describe("Maximum number of tasks in progress at the same time"),
    sandbox: z
      .enum(["bubblewrap", "none"], {
        error: "expected bubblewrap, or none to run without a sandbox",
      })
      .default("bubblewrap")
      .describe("Sandbox of agents, their commands and checks; none runs them with your permissions"),
    read: z
      .array(z.string().refine(isAbsolute, "expected an absolute path"))
      .max(50)
      .default([])
      .describe("Additional folders that the sandbox can read, such as a toolchain"),
    own: z
      .array(z.string().regex(/^(\/|~\/)/, "expected an absolute path, or one that starts with ~/"))
      .max(50)
      .default([])
      .describe("Files that the agent may read and change, such as its login"),
    network: z
      .boolean()
      .default(true)
      .describe("Network access of agents, to reach their model; commands and checks never have it"),
    command_seconds: z.number().min(1).max(86_400).default(120).describe("Time limit of one command or check"),
    attempt_minutes: z.number().min(0.01).max(1440).default(20).describe("Time limit of one agent"),
    idle_minutes: z.number().min(0.01).max(1440).default(5).describe("Stop an agent that is silent for this long"),
    budget: z
      .strictObject({
        run_tokens: tokens.optional(),
        run_usd: usd.optional(),
        task_tokens: tokens.optional(),
        task_usd: usd.optional(),
        attempt_tokens: tokens.optional(),
        attempt_usd: usd.optional(),
      })
      .default({})
      .describe("Budgets; the budget of a run overrides run_tokens and run_usd"),
    agents: z
      .partialRecord(z.enum(["all", ...parts], { error: `expected all, ${parts.join(", ")}` }), agent)
      .default({})
      .describe("Agent of each part; all is the default for every part"),
    providers: z
      .record(z.string().regex(/^[\w-]{1,50}$/), provider)
      .default({})
      .describe("Model providers by name"),
    prices: z.record(z.string().max(200), price).default({}).describe("Prices of models that are not built in"),
  })
  .prefault({});

export type CrewConfig = z.infer<typeof crewBlock>;
