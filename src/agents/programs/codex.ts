import type { StopTimeouts } from "../process.ts";
import type { Limits, Runner, RunSpec, Usage } from "../runner.ts";
import { codexModelAccess } from "./codex-model.ts";
import { type Program, programRunner, wholePrompt } from "./command.ts";
import { count, type Listener, outageIn, overLimit, parseEvent } from "./listener.ts";

type Options = {
  bin: string;
  args?: readonly string[];
  /** `scratch`: commands may read but not write; `workspace`: no sandbox, as in R8. */
  isolation: "scratch" | "workspace";
  stopTimeouts?: StopTimeouts;
};

/** Codex, headless. It reports tokens, but no cost. */
export const codexRunner = (options: Options): Runner => programRunner(codex(options));

const codex = ({ bin, args: extra = [], isolation, stopTimeouts }: Options): Program => ({
  name: "codex",
  bin,
  async prepare(spec) {
    const trust =
      isolation === "workspace" ? ["--dangerously-bypass-approvals-and-sandbox"] : ["--sandbox", "read-only"];
    const args = [
      ...["exec", "--json", "--skip-git-repo-check", "--ephemeral", ...trust],
      ...(isolation === "scratch" ? confined : []),
      ...(spec.model ? ["--model", spec.model] : []),
      ...serverSettings(spec),
      ...extra,
      "-",
    ];
    return { command: bin, args, input: wholePrompt(spec) };
  },
  config: { variable: "CODEX_HOME", inHome: ".codex", files: ["auth.json", "config.toml"] },
  modelAccess: codexModelAccess,
  listener: codexListener,
  ...(stopTimeouts ? { stopTimeouts } : {}),
});

/** No shell and no web; AGENTS.md and rules of the folder are ignored. */
const confined = [
  ...["--ignore-rules", "-c", "project_doc_max_bytes=0", "-c", 'web_search="disabled"'],
  ...["--disable", "shell_tool", "--disable", "unified_exec"],
];

/** Values are written as JSON: JSON strings and arrays are valid TOML. */
function serverSettings({ mcp }: RunSpec): string[] {
  if (!mcp) return [];
  const at = `mcp_servers.${mcp.name}`;
  const env = Object.entries(mcp.env).map(([name, value]) => `${JSON.stringify(name)} = ${JSON.stringify(value)}`);
  const settings = [
    `${at}.command=${JSON.stringify(mcp.command)}`,
    `${at}.args=${JSON.stringify(mcp.args)}`,
    `${at}.env={${env.join(", ")}}`,
    // Headless, so nobody can approve a call; these are the tools the agent was started for.
    `${at}.default_tools_approval_mode="approve"`,
  ];
  return settings.flatMap((setting) => ["-c", setting]);
}

type Event = {
  type?: string;
  item?: { id?: string; type?: string };
  usage?: {
    input_tokens?: number;
    cached_input_tokens?: number;
    cache_write_input_tokens?: number;
    output_tokens?: number;
  };
  error?: { message?: string };
  message?: string;
};

const toolItems = new Set(["mcp_tool_call", "command_execution", "file_change", "web_search"]);

export function codexListener(limits: Limits): Listener {
  let toolCalls = 0;
  let messages = 0;
  let total: { input: number; cached: number; written: number | null; output: number } | undefined;
  let error: string | undefined;
  let reached: keyof Limits | undefined;

  return {
    line(text, control) {
      const event = parseEvent<Event>(text);
      if (event?.type === "item.completed") {
        if (toolItems.has(event.item?.type ?? "")) toolCalls++;
        if (event.item?.type === "agent_message") messages++;
      }
      if (event?.type === "turn.completed") {
        total = {
          input: (total?.input ?? 0) + (event.usage?.input_tokens ?? 0),
          cached: (total?.cached ?? 0) + (event.usage?.cached_input_tokens ?? 0),
          written: count(event.usage?.cache_write_input_tokens),
          output: (total?.output ?? 0) + (event.usage?.output_tokens ?? 0),
        };
        error = undefined;
        control.sawResult();
      }
      if (event?.type === "turn.failed") error = event.error?.message ?? "the agent reported an error";
      const over = overLimit(limits, {
        toolCalls,
        messages,
        outputTokens: total?.output ?? 0,
        tokens: (total?.input ?? 0) + (total?.output ?? 0),
      });
      if (over) {
        reached = over.limit;
        control.stop("limit", over.reason);
      }
    },
    summary() {
      const usage: Usage = {
        inputTokens: count(total && total.input - total.cached),
        outputTokens: count(total?.output),
        cacheReadTokens: count(total?.cached),
        cacheWriteTokens: count(total?.written),
        toolCalls: total ? toolCalls : null,
        messages: total ? messages : null,
      };
      const outage = error ? outageIn(undefined, error) : undefined;
      return {
        usage,
        costUsd: null,
        ...(outage ? { outage } : {}),
        ...(error ? { error } : {}),
        ...(reached ? { reached } : {}),
      };
    },
  };
}
