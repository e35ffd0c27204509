import * as z from "zod";
import { networkHosts, networkMode } from "./network.ts";
import { sandboxKeys } from "./sandbox.ts";

const runnerNames = ["claude", "codex", "acp", "command", "model"] as const;
const parts = ["brief", "pm", "preamble", "worker", "qc", "reporter"] as const;

const agent = z
  .strictObject({
    runner: z
      .enum(runnerNames, { error: `expected ${runnerNames.join(", ")}` })
      .optional()
      .describe("How the agent runs: as an agent CLI, or as a `model` over an API"),
    model: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe("For the runner `model`: `provider/model`, such as `anthropic/claude-opus-4-5`"),
    answer_tokens: z
      .int()
      .min(256)
      .max(1_000_000)
      .optional()
      .describe(
        "Maximum output tokens of one answer of a model over an API. Default: 16000 for `worker` and `pm`, 4000 for `qc` and `preamble`, 8192 for `brief` and `reporter`",
      ),
    role: z.string().min(1).max(100).optional().describe("Role in `schema.yaml` under which the agent writes"),
    command: z
      .array(z.string())
      .min(1)
      .max(100)
      .optional()
      .describe("For the runners `command` and `acp`: program and arguments"),
  })
  .describe("The agent of one part; `all` sets defaults for every part");

const provider = z.strictObject({
  kind: z
    .enum(["anthropic", "openai", "openai-compatible"], {
      error: "expected anthropic, openai or openai-compatible",
    })
    .describe("API that the server speaks"),
  base_url: z
    .url({ protocol: /^https?$/, error: "expected an http or https URL" })
    .optional()
    .describe("Address of the API, ending in `/v1`"),
  key_env: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "expected the name of an environment variable, not the key itself")
    .optional()
    .describe("Name of the environment variable that holds the API key"),
});

const price = z.strictObject({
  input: z.number().min(0).describe("US dollars per million input tokens"),
  output: z.number().min(0).describe("US dollars per million output tokens"),
  cache_read: z.number().min(0).optional().describe("US dollars per million tokens read from the prompt cache"),
  cache_write: z.number().min(0).optional().describe("US dollars per million tokens written to the prompt cache"),
});

const modelLimits = z.strictObject({
  context_tokens: z.int().min(1000).max(1e9).optional().describe("Tokens of input and answer together"),
  answer_tokens: z.int().min(256).max(1e9).optional().describe("Longest answer that the model can give"),
});

const tokens = z.int().min(1).max(1e12);
const usd = z.number().min(0).max(1e9);

/** The crew: the agent for each part, its model, and its limits. */
export const crewBlock = z
  .strictObject({
    workers: z.int().min(1).max(64).default(3).describe("Number of tasks that are worked on at once"),
    ...sandboxKeys,
    network: networkMode,
    network_hosts: networkHosts,
    setup: z
      .enum(["auto", "none"], { error: "expected auto or none" })
      .default("auto")
      .describe(
        "Dependencies of a run. `auto`: the commands that the plan declares, or else `npm ci`, `pnpm install` or `yarn install` where the repository has a lockfile. `none`: nothing is installed",
      ),
    setup_minutes: z.number().min(0.01).max(1440).default(15).describe("Time limit of a setup, in minutes"),
    registry_hosts: networkHosts.describe(
      "Hosts that a setup can reach beside the registries of your npm and yarn configuration, such as the package index of another language; each with an optional port (80 and 443 if left out)",
    ),
    packs: z
      .enum(["auto", "always", "never"], { error: "expected auto, always or never" })
      .default("auto")
      .describe(
        "Whether the commits of runs are stored in the database, so that workers on other machines can fetch them. `auto`: with PostgreSQL",
      ),
    pack_mb: z
      .number()
      .min(1)
      .max(100_000)
      .default(1024)
      .describe("Largest git pack of a run's base or of one attempt in the database, in MB"),
    command_seconds: z
      .number()
      .min(1)
      .max(86_400)
      .default(120)
      .describe("Time limit of one command or check, in seconds"),
    attempt_minutes: z.number().min(0.01).max(1440).default(20).describe("Time limit of one agent, in minutes"),
    idle_minutes: z
      .number()
      .min(0.01)
      .max(1440)
      .default(5)
      .describe("Stop an agent that sends nothing for this long, in minutes"),
    outage_minutes: z
      .number()
      .min(0)
      .max(10_080)
      .default(60)
      .describe("How long a run waits for a model provider that is out of service before it stops, in minutes"),
    budget: z
      .strictObject({
        run_tokens: tokens.optional().describe("Tokens of one run; `execute --budget-tokens` overrides it"),
        run_usd: usd.optional().describe("US dollars of one run; `execute --budget-usd` overrides it"),
        task_tokens: tokens.optional().describe("Tokens of one task, over all its attempts"),
        task_usd: usd.optional().describe("US dollars of one task, over all its attempts"),
        attempt_tokens: tokens.optional().describe("Tokens of one attempt"),
        attempt_output_tokens: tokens.optional().describe("Output tokens of one agent in one attempt"),
        attempt_usd: usd.optional().describe("US dollars of one attempt"),
      })
      .default({})
      .describe("Spending limits, checked before each model call"),
    agents: z
      .partialRecord(z.enum(["all", ...parts], { error: `expected all, ${parts.join(", ")}` }), agent)
      .default({})
      .describe(
        "The agent of each part: `brief`, `pm`, `preamble`, `worker`, `qc`, `reporter`. A part inherits the keys it leaves out from `all`",
      ),
    reports: z
      .enum(["agents", "facts"], { error: "expected agents or facts" })
      .default("agents")
      .describe(
        "`agents`: agents write an analysis of each failed task (parts `qc` and `pm`) and of each run (part `reporter`) beside the recorded facts. `facts`: no agent is started for reports",
      ),
    questions: z
      .enum(["person", "pm"], { error: "expected person or pm" })
      .default("person")
      .describe(
        "Who answers workers' questions. `pm`: the planner, which may pass a question on to a person. `person`: a person, in the inbox",
      ),
    providers: z
      .record(z.string().regex(/^[\w-]{1,50}$/), provider)
      .default({})
      .describe("Model servers by name. `anthropic`, `openai` and `ollama` are built in"),
    models: z
      .record(z.string().max(200), modelLimits)
      .default({})
      .describe(
        "Limits of models by `provider/model`, for models over an API. A conversation that would not fit is compacted before the call",
      ),
    prices: z
      .record(z.string().max(200), price)
      .default({})
      .describe("Prices by `provider/model`. They override the built-in price table"),
  })
  .prefault({});

export type CrewConfig = z.infer<typeof crewBlock>;
