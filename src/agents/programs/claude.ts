import type { StopTimeouts } from "../process.ts";
import type { Limits, Runner, Usage } from "../runner.ts";
import { mcpConfig, type Program, programRunner } from "./command.ts";
import { count, type Listener, outageIn, overLimit, parseEvent } from "./listener.ts";

type Options = {
  bin: string;
  args?: readonly string[];
  /** `scratch` ignores hooks, settings and servers of the folder; `workspace` trusts them (R8). */
  isolation: "scratch" | "workspace";
  pluginDir?: string;
  stopTimeouts?: StopTimeouts;
};

/** Claude Code, headless. The prompt goes to stdin, because Linux limits an argument to 128 KiB. */
export const claudeRunner = (options: Options): Runner => programRunner(claude(options));

const claude = ({ bin, args: extra = [], isolation, pluginDir, stopTimeouts }: Options): Program => ({
  name: "claude",
  bin,
  enforces: ["tokens", "usd"],
  async prepare(spec, keep) {
    const args = ["-p", "--output-format", "stream-json", "--verbose", ...extra];
    if (spec.model) args.push("--model", spec.model);
    if (spec.limits.usd !== undefined) args.push("--max-budget-usd", String(spec.limits.usd));
    if (spec.system) args.push("--append-system-prompt", spec.system);
    if (pluginDir) args.push("--plugin-dir", pluginDir);
    if (isolation === "workspace") args.push("--dangerously-skip-permissions");
    else args.push(...(await confined(spec.mcp?.name, () => keep("mcp.json", mcpConfig(spec)))));
    // Claude Code refuses to skip permissions as root, the usual user in a container, unless this is set.
    const asRoot: Record<string, string> =
      isolation === "workspace" && process.getuid?.() === 0 ? { IS_SANDBOX: "1" } : {};
    return { command: bin, args, env: asRoot, input: spec.prompt };
  },
  config: { variable: "CLAUDE_CONFIG_DIR", inHome: ".claude", files: [".credentials.json"] },
  listener: claudeListener,
  ...(stopTimeouts ? { stopTimeouts } : {}),
});

/** No hooks, MCP servers or settings of the folder; no shell or network; files of the folder only; the run's tools. */
async function confined(server: string | undefined, config: () => Promise<string>): Promise<string[]> {
  const tools = ["Read", "Glob", "Grep", "Skill"];
  // Not Read, Glob or Grep: allowed by name they reach the whole disk, otherwise only the folder.
  const allowedTools = ["Skill", ...(server ? [`mcp__${server}`] : [])];
  return [
    ...["--setting-sources", "user", "--strict-mcp-config", "--mcp-config", await config()],
    ...["--tools", tools.join(","), "--allowedTools", allowedTools.join(",")],
    ...["--permission-mode", "dontAsk", "--no-session-persistence"],
  ];
}

type Event = {
  type?: string;
  message?: { id?: string; content?: { type?: string; id?: string }[]; usage?: Record<string, unknown> };
  is_error?: boolean;
  subtype?: string;
  result?: string;
  errors?: string[];
  api_error_status?: number | null;
  terminal_reason?: string;
  /** By model, all calls of the run; `usage` leaves out some of them when a limit ended it. */
  /** Of `api_retry`. */
  attempt?: number;
  max_retries?: number;
  error_status?: number | null;
  error?: string;
  modelUsage?: Record<string, Record<string, unknown>>;
  total_cost_usd?: number;
  usage?: Record<string, unknown>;
};

/** Each block of a message comes as an `assistant` event with the usage of the whole message: count by message id. */
export function claudeListener(limits: Limits, onRetry?: (message: string) => void): Listener {
  const usageById = new Map<string, { output: number; all: number }>();
  const calls = new Set<string>();
  let last: Event | undefined;
  let reached: keyof Limits | undefined;

  return {
    line(text, control) {
      const event = parseEvent<Event>(text);
      if (event?.type === "result") {
        last = event;
        control.sawResult();
      }
      if (event?.subtype === "api_retry") onRetry?.(retryMessage(event));
      if (event?.type !== "assistant" || !event.message?.id) return;
      usageById.set(event.message.id, usedBy(event.message.usage ?? {}));
      for (const block of event.message.content ?? []) if (block.type === "tool_use") calls.add(block.id ?? "");
      const over = overLimit(limits, {
        toolCalls: calls.size,
        messages: usageById.size,
        outputTokens: [...usageById.values()].reduce((sum, { output }) => sum + output, 0),
        tokens: [...usageById.values()].reduce((sum, { all }) => sum + all, 0),
      });
      if (over) {
        reached = over.limit;
        control.stop("limit", over.reason);
      }
    },
    summary() {
      const used = (name: string, ofModel: string) => total(last, ofModel) ?? count(last?.usage?.[name]);
      const usage: Usage = {
        inputTokens: used("input_tokens", "inputTokens"),
        outputTokens: used("output_tokens", "outputTokens"),
        cacheReadTokens: used("cache_read_input_tokens", "cacheReadInputTokens"),
        cacheWriteTokens: used("cache_creation_input_tokens", "cacheCreationInputTokens"),
        toolCalls: last ? calls.size : null,
        messages: last ? usageById.size : null,
      };
      const failed = last?.is_error || (last?.subtype ?? "success") !== "success";
      const said = last?.result || last?.errors?.[0] || last?.terminal_reason || last?.subtype;
      const isOverBudget = last?.subtype === "error_max_budget_usd";
      if (isOverBudget) reached = "usd";
      const hasBegun = !(last?.is_error && usage.outputTokens === 0);
      const reason = isOverBudget ? `reached its limit of $${limits.usd}` : (said ?? "the agent reported an error");
      const error = hasBegun ? reason : `Claude Code cannot use its model: ${reason}${loginAdvice(last)}`;
      const outage = last?.is_error ? outageIn(last.api_error_status ?? undefined, said ?? "") : undefined;
      const costUsd = last?.total_cost_usd ?? null;
      return {
        usage,
        costUsd,
        ...(hasBegun ? {} : { hasBegun }),
        ...(outage ? { outage } : {}),
        ...(failed ? { error } : {}),
        ...(reached ? { reached } : {}),
      };
    },
  };
}

const loginAdvice = (last: Event | undefined) =>
  [401, 403].includes(last?.api_error_status ?? 0) || /logged in|api key/i.test(last?.result ?? "")
    ? "; run: claude auth login, or check the value of ANTHROPIC_API_KEY"
    : "";

const retryMessage = ({ attempt, max_retries, error_status, error }: Event) =>
  `Claude Code cannot call its model (${error_status ?? error ?? "unknown"}); retry ${attempt} of ${max_retries}`;

/** The sum over all models; null when it was not reported. */
function total(last: Event | undefined, name: string): number | null {
  const counts = Object.values(last?.modelUsage ?? {}).map((model) => count(model[name]));
  return counts.length === 0 || counts.includes(null) ? null : counts.reduce<number>((sum, one) => sum + (one ?? 0), 0);
}

function usedBy(usage: Record<string, unknown>): { output: number; all: number } {
  const of = (name: string) => count(usage[name]) ?? 0;
  const output = of("output_tokens");
  const input = of("input_tokens") + of("cache_read_input_tokens") + of("cache_creation_input_tokens");
  return { output, all: input + output };
}
