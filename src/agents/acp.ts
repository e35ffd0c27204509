import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { PassThrough, Readable, Writable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import type { NewSessionRequest, PromptRequest, RequestPermissionRequest } from "@agentclientprotocol/sdk";
import { count, overLimit } from "./claude.ts";
import { type Listener, type Program, programRunner, wholePrompt } from "./command.ts";
import type { Control, Patience } from "./process.ts";
import type { Runner, RunSpec } from "./runner.ts";

type Options = {
  /** The agent's command line, from the configuration. */
  argv: readonly string[];
  isolation: "scratch" | "workspace";
  patience?: Patience;
};

/** Any agent that speaks the Agent Client Protocol over stdin and stdout. */
export const acpRunner = ({ argv, isolation, patience }: Options): Runner => ({
  name: "acp",
  run(spec, signal) {
    const talk = conversation(spec, isolation);
    const program: Program = {
      name: "acp",
      async prepare() {
        const [command = "", ...args] = argv;
        return { command, args, env: spec.env, input: undefined, talk: talk.hold };
      },
      listener: () => talk.listener,
      ...(patience ? { patience } : {}),
    };
    return programRunner(program).run(spec, signal);
  },
});

/** The protocol has no limits of its own: calls are counted as they are announced. */
function conversation(spec: RunSpec, isolation: Options["isolation"]) {
  const calls = new Set<string>();
  let messages = 0;
  let speaking = false;
  let failure: string | undefined;
  let done = false;
  let used: Spent = {};
  let costUsd: number | null = null;

  async function hold(child: ChildProcessWithoutNullStreams, control: Control): Promise<void> {
    // Loaded only where it is spoken: its schemas are the largest part of a cold start.
    const { client, methods, ndJsonStream, PROTOCOL_VERSION } = await import("@agentclientprotocol/sdk");
    const copy = child.stdout.pipe(new PassThrough());
    const stream = ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(copy) as ReadableStream<Uint8Array>);
    const app = client({ name: "scriptorium" })
      .onRequest(methods.client.session.requestPermission, ({ params }) => decide(params, isolation))
      .onNotification(methods.client.session.update, ({ params: { update } }) => {
        if (update.sessionUpdate === "tool_call") calls.add(update.toolCallId);
        costUsd = dollars(update) ?? costUsd;
        const speaks = update.sessionUpdate === "agent_message_chunk";
        if (speaks && !speaking) messages++;
        speaking = speaks;
        const over = overLimit(spec.limits, { toolCalls: calls.size, messages, outputTokens: 0 });
        if (over) control.stop("limit", over);
      });
    await app.connectWith(stream, async (agent) => {
      await agent.request(methods.agent.initialize, { protocolVersion: PROTOCOL_VERSION, clientCapabilities: {} });
      const session: NewSessionRequest = {
        cwd: spec.cwd,
        mcpServers: spec.mcp ? [{ ...spec.mcp, env: pairs(spec.mcp.env) }] : [],
      };
      const { sessionId } = await agent.request(methods.agent.session.new, session);
      const turn: PromptRequest = { sessionId, prompt: [{ type: "text", text: wholePrompt(spec) }] };
      const { stopReason, ...rest } = await agent.request(methods.agent.session.prompt, turn);
      done = true;
      used = (rest as { usage?: Spent }).usage ?? {};
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
    }),
  };
  return { hold, listener };
}

/** Some agents say what they used; the protocol does not ask them to. */
type Spent = { inputTokens?: number; outputTokens?: number; cachedReadTokens?: number; cachedWriteTokens?: number };

function dollars(update: object): number | null {
  const { cost } = update as { cost?: { amount?: number; currency?: string } };
  return cost?.currency === "USD" ? count(cost.amount) : null;
}

const pairs = (env: Record<string, string>) => Object.entries(env).map(([name, value]) => ({ name, value }));

/** Kinds that reach out of the scratch folder; tools of an MCP server come as `other`. */
const outside = new Set(["execute", "delete", "move", "fetch", "switch_mode"]);

function decide({ toolCall, options }: RequestPermissionRequest, isolation: Options["isolation"]) {
  const may = isolation === "workspace" || !outside.has(toolCall.kind ?? "other");
  const wanted = may ? ["allow_once", "allow_always"] : ["reject_once", "reject_always"];
  const chosen = wanted.flatMap((kind) => options.filter((option) => option.kind === kind))[0];
  return {
    outcome: chosen ? { outcome: "selected" as const, optionId: chosen.optionId } : { outcome: "cancelled" as const },
  };
}
