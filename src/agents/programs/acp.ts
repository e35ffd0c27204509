import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { PassThrough, Readable, Writable } from "node:stream";
import type { NewSessionRequest, PromptRequest, RequestPermissionRequest } from "@agentclientprotocol/sdk";
import type { Control, StopTimeouts } from "../process.ts";
import { checkProgram } from "../program.ts";
import type { Limits, Runner, RunSpec } from "../runner.ts";
import { type Program, programRunner, wholePrompt } from "./command.ts";
import { count, type Listener, overLimit } from "./listener.ts";

type Options = {
  /** The agent's command line, from the configuration. */
  argv: readonly string[];
  isolation: "scratch" | "workspace";
  stopTimeouts?: StopTimeouts;
};

/** Any agent that speaks the Agent Client Protocol over stdin and stdout. */
export const acpRunner = ({ argv, isolation, stopTimeouts }: Options): Runner => ({
  name: "acp",
  check: ({ env, cwd }) => checkProgram(argv[0] ?? "", env, cwd),
  run(spec, signal) {
    const session = conversation(spec, isolation);
    const program: Program = {
      name: "acp",
      bin: argv[0] ?? "",
      async prepare() {
        const [command = "", ...args] = argv;
        return { command, args, input: undefined, talk: session.talk };
      },
      listener: () => session.listener,
      ...(stopTimeouts ? { stopTimeouts } : {}),
    };
    return programRunner(program).run(spec, signal);
  },
});

/** One prompt and its answer. The protocol has no limits, so tool calls are counted as they are announced. */
function conversation(spec: RunSpec, isolation: Options["isolation"]) {
  const calls = new Set<string>();
  let messages = 0;
  let speaking = false;
  let failure: string | undefined;
  let done = false;
  let reached: keyof Limits | undefined;
  let used: ReportedUsage = {};
  /** The sum over the calls to the model, of agents that report each call instead of the whole turn. */
  let ofCalls: ReportedUsage | undefined;
  let costUsd: number | null = null;

  async function talk(child: ChildProcessWithoutNullStreams, control: Control): Promise<void> {
    // Imported here, because its schemas would be the largest part of every cold start.
    const { client, methods, ndJsonStream, PROTOCOL_VERSION } = await import("@agentclientprotocol/sdk");
    const copy = child.stdout.pipe(new PassThrough());
    const stream = ndJsonStream(
      Writable.toWeb(child.stdin),
      Readable.toWeb(copy) as unknown as Parameters<typeof ndJsonStream>[1],
    );
    const app = client({ name: "scriptorium" })
      .onRequest(methods.client.session.requestPermission, ({ params }) => permissionFor(params, isolation))
      .onNotification(methods.client.session.update, ({ params: { update } }) => {
        if (update.sessionUpdate === "tool_call") calls.add(update.toolCallId);
        costUsd = dollars(update) ?? costUsd;
        ofCalls = plusCall(ofCalls, update);
        const speaks = update.sessionUpdate === "agent_message_chunk";
        if (speaks && !speaking) messages++;
        speaking = speaks;
        const over = overLimit(spec.limits, { toolCalls: calls.size, messages, outputTokens: 0 });
        if (over) {
          reached = over.limit;
          control.stop("limit", over.reason);
        }
      });
    await app.connectWith(stream, async (agent) => {
      await agent.request(methods.agent.initialize, { protocolVersion: PROTOCOL_VERSION, clientCapabilities: {} });
      const request: NewSessionRequest = {
        cwd: spec.cwd,
        mcpServers: spec.mcp ? [{ ...spec.mcp, env: pairs(spec.mcp.env) }] : [],
      };
      const { sessionId } = await agent.request(methods.agent.session.new, request);
      const turn: PromptRequest = { sessionId, prompt: [{ type: "text", text: wholePrompt(spec) }] };
      const { stopReason, ...rest } = await agent.request(methods.agent.session.prompt, turn);
      done = true;
      used = (rest as { usage?: ReportedUsage }).usage ?? ofCalls ?? {};
      if (stopReason !== "end_turn") failure = `the agent stopped: ${stopReason}`;
    });
  }

  const listener: Listener = {
    line: () => undefined,
    summary: () => ({
      usage: {
        inputTokens: count(used.inputTokens),
        outputTokens: count(used.outputTokens),
        cacheReadTokens: count(used.cachedReadTokens),
        cacheWriteTokens: count(used.cachedWriteTokens),
        toolCalls: done ? calls.size : null,
        messages: done ? messages : null,
      },
      costUsd,
      ...(failure ? { error: failure } : {}),
      ...(reached ? { reached } : {}),
    }),
  };
  return { talk, listener };
}

/** Not part of the protocol, but some agents report it. */
type ReportedUsage = {
  inputTokens?: number;
  outputTokens?: number;
  cachedReadTokens?: number;
  cachedWriteTokens?: number;
};

/** Input tokens of a single call include those read from the cache; those of a turn do not. */
function plusCall(sum: ReportedUsage | undefined, update: object): ReportedUsage | undefined {
  const { usage } = (update as { _meta?: { usage?: ReportedUsage } | null })._meta ?? {};
  const [input, output] = [count(usage?.inputTokens), count(usage?.outputTokens)];
  if (input === null || output === null) return sum;
  const cached = Math.min(input, count(usage?.cachedReadTokens) ?? 0);
  return {
    inputTokens: (sum?.inputTokens ?? 0) + input - cached,
    outputTokens: (sum?.outputTokens ?? 0) + output,
    cachedReadTokens: (sum?.cachedReadTokens ?? 0) + cached,
  };
}

function dollars(update: object): number | null {
  const { cost } = update as { cost?: { amount?: number; currency?: string } };
  return cost?.currency === "USD" ? count(cost.amount) : null;
}

const pairs = (env: Record<string, string>) => Object.entries(env).map(([name, value]) => ({ name, value }));

/** Kinds that can leave the scratch folder. Tools of MCP servers are of kind `other`. */
const leavingFolder = new Set(["execute", "delete", "move", "fetch", "switch_mode"]);

function permissionFor({ toolCall, options }: RequestPermissionRequest, isolation: Options["isolation"]) {
  const isAllowed = isolation === "workspace" || !leavingFolder.has(toolCall.kind ?? "other");
  const preferred = isAllowed ? ["allow_once", "allow_always"] : ["reject_once", "reject_always"];
  const chosen = preferred.flatMap((kind) => options.filter((option) => option.kind === kind))[0];
  return {
    outcome: chosen ? { outcome: "selected" as const, optionId: chosen.optionId } : { outcome: "cancelled" as const },
  };
}
