import { isAbsolute } from "node:path";
import * as z from "zod";

const runnerNames = ["claude", "codex", "acp", "command", "model"] as const;
const parts = ["brief", "pm", "preamble", "worker", "qc", "reporter"] as const;

const agent = z
  .strictObject({
    runner: z
      .enum(runnerNames, { error: `expected one of ${runnerNames.join(", ")}` })
      .optional()
      .describe("How this agent is run: an agent's command-line program, or a model over an API"),
    model: z.string().min(1).max(200).optional().describe("For the runner model: provider/model"),
    role: z.string().min(1).max(100).optional().describe("Its role in schema.yaml, which decides what it may write"),
    command: z
      .array(z.string())
      .min(1)
      .max(100)
      .optional()
      .describe("For the runners command and acp: the program and its arguments"),
  })
  .describe("One part of the crew");

const provider = z.strictObject({
  kind: z.enum(["anthropic", "openai", "openai-compatible"], {
    error: "expected anthropic, openai or openai-compatible",
  }),
  base_url: z
    .url({ protocol: /^https?$/, error: "expected an http address" })
    .optional()
    .describe("With /v1 at its end"),
  key_env: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "expected the name of an environment variable, not the key itself")
    .optional()
    .describe("The environment variable that holds the key"),
});

const price = z.strictObject({
  input: z.number().min(0).describe("US dollars for a million input tokens"),
  output: z.number().min(0),
  cache_read: z.number().min(0).optional(),
  cache_write: z.number().min(0).optional(),
});

const tokens = z.int().min(1).max(1e12);
const usd = z.number().min(0).max(1e9);

/** The crew: the agent for each part, its model, and its limits. */
export const crewBlock = z
  .strictObject({
    workers: z.int().min(1).max(64).default(3).describe("How many tasks are worked on at once"),
    sandbox: z
      .enum(["bubblewrap", "none"], {
        error: "expected bubblewrap, or none to run what agents write without a sandbox",
      })
      .default("bubblewrap")
      .describe("Where agents that are programs, their commands and checks run; none is without any boundary"),
    read: z
      .array(z.string().refine(isAbsolute, "expected an absolute path"))
      .max(50)
      .default([])
      .describe("Further folders that programs in the sandbox can read, such as a toolchain"),
    own: z
      .array(z.string().regex(/^(\/|~\/)/, "expected an absolute path, or one that begins with ~/"))
      .max(50)
      .default([])
      .describe("Files that an agent's program needs and may change, such as its login"),
    network: z
      .boolean()
      .default(true)
      .describe(
        "Whether agents that are programs have the network, to reach their model; commands and checks never do",
      ),
    command_seconds: z.number().min(1).max(86_400).default(120).describe("How long one command or check may take"),
    attempt_minutes: z.number().min(0.01).max(1440).default(20).describe("How long one agent may take"),
    idle_minutes: z.number().min(0.01).max(1440).default(5).describe("How long an agent may be silent"),
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
      .describe("What may be spent; a run's own budget goes before run_tokens and run_usd"),
    agents: z
      .partialRecord(z.enum(["all", ...parts], { error: `expected all, ${parts.join(", ")}` }), agent)
      .default({})
      .describe("Who plays which part; what a part leaves out is taken from all"),
    providers: z
      .record(z.string().regex(/^[\w-]{1,50}$/), provider)
      .default({})
      .describe("Servers of models, by name"),
    prices: z.record(z.string().max(200), price).default({}).describe("Prices of models that are not in the table"),
  })
  .prefault({});

export type CrewConfig = z.infer<typeof crewBlock>;
