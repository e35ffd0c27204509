import { mcpConfig, type Program, programRunner } from "./command.ts";
import type { Control, Patience } from "./process.ts";
import type { Limits, Runner, Usage } from "./runner.ts";

type Options = {
  bin: string;
  args?: readonly string[];
  /** `scratch` starts nothing that a workspace's files ask for; `workspace` trusts them (R8). */
  isolation: "scratch" | "workspace";
  pluginDir?: string;
  patience?: Patience;
};

/** Claude Code, headless. It gets its prompt on stdin: an argument would be refused past 128 KiB. */
export const claudeRunner = (options: Options): Runner => programRunner(claude(options));

const claude = ({ bin, args: extra = [], isolation, pluginDir, patience }: Options): Program => ({
  name: "claude",
  async prepare(spec, keep) {
    const args = ["-p", "--output-format", "stream-json", "--verbose", ...extra];
    if (spec.model) args.push("--model", spec.model);
    if (spec.limits.usd !== undefined) args.push("--max-budget-usd", String(spec.limits.usd));
    if (spec.system) args.push("--append-system-prompt", spec.system);
    if (pluginDir) args.push("--plugin-dir", pluginDir);
    if (isolation === "workspace") args.push("--dangerously-skip-permissions");
    else args.push(...(await confined(spec.mcp?.name, () => keep("mcp.json", mcpConfig(spec)))));
    // Without this, Claude Code refuses to skip permissions for root, who is often all there is in a container.
    const asRoot: Record<string, string> =
      isolation === "workspace" && process.getuid?.() === 0 ? { IS_SANDBOX: "1" } : {};
    return { command: bin, args, env: { ...spec.env, ...asRoot }, input: spec.prompt };
  },
  own: { variable: "CLAUDE_CONFIG_DIR", inHome: ".claude", files: [".credentials.json"] },
  listener: claudeListener,
  ...(patience ? { patience } : {}),
});

/** No hooks, MCP servers or settings of the folder; no shell, no network; files of the folder only; our tools. */
async function confined(server: string | undefined, config: () => Promise<string>): Promise<string[]> {
  const tools = ["Read", "Glob", "Grep", "Skill"];
  // Reading is not in here: allowed by name it would reach the whole disk; unnamed it reaches the folder.
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
  terminal_reason?: string;
  total_cost_usd?: number;
  usage?: Record<string, unknown>;
};

/** One `assistant` event comes for each block of a message, all with the usage of the whole: count by id. */
export function claudeListener(limits: Limits) {
  const written = new Map<string, { output: number; all: number }>();
  const calls = new Set<string>();
  let last: Event | undefined;

  return {
    line(text: string, control: Control) {
      const event = parse(text);
      if (event?.type === "result") {
        last = event;
        control.sawResult();
      }
      if (event?.type !== "assistant" || !event.message?.id) return;
      written.set(event.message.id, usedBy(event.message.usage ?? {}));
      for (const block of event.message.content ?? []) if (block.type === "tool_use") calls.add(block.id ?? "");
      const over = overLimit(limits, {
        toolCalls: calls.size,
        messages: written.size,
        outputTokens: [...written.values()].reduce((sum, { output }) => sum + output, 0),
        tokens: [...written.values()].reduce((sum, { all }) => sum + all, 0),
      });
      if (over) control.stop("limit", over);
    },
    summary() {
      const usage: Usage = {
        inputTokens: count(last?.usage?.input_tokens),
        outputTokens: count(last?.usage?.output_tokens),
        cacheReadTokens: count(last?.usage?.cache_read_input_tokens),
        cacheWriteTokens: count(last?.usage?.cache_creation_input_tokens),
        toolCalls: last ? calls.size : null,
        messages: last ? written.size : null,
      };
      const failed = last?.is_error || (last?.subtype ?? "success") !== "success";
      const reason = last?.result || last?.terminal_reason || last?.subtype || "the agent reported an error";
      return { usage, costUsd: last?.total_cost_usd ?? null, ...(failed ? { error: reason } : {}) };
    },
  };
}

function usedBy(usage: Record<string, unknown>): { output: number; all: number } {
  const of = (name: string) => count(usage[name]) ?? 0;
  const output = of("output_tokens");
  const input = of("input_tokens") + of("cache_read_input_tokens") + of("cache_creation_input_tokens");
  return { output, all: input + output };
}

/** Which limit has been passed, in words. */
export function overLimit(
  limits: Limits,
  spent: { toolCalls: number; messages: number; outputTokens: number; tokens?: number },
): string | undefined {
  const names = { toolCalls: "tool calls", messages: "messages", outputTokens: "output tokens", tokens: "tokens" };
  for (const key of ["toolCalls", "messages", "outputTokens", "tokens"] as const) {
    const most = limits[key];
    if (most !== undefined && (spent[key] ?? 0) > most) return `used more than ${most} ${names[key]}`;
  }
  return undefined;
}

function parse(text: string): Event | undefined {
  if (!text.startsWith("{")) return undefined;
  try {
    return JSON.parse(text) as Event;
  } catch {
    return undefined;
  }
}

export const count = (value: unknown) => (typeof value === "number" && Number.isFinite(value) ? value : null);
