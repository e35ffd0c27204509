import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { PassThrough, Readable, Writable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import {
  client,
  methods,
  type NewSessionRequest,
  ndJsonStream,
  PROTOCOL_VERSION,
  type PromptRequest,
  type RequestPermissionRequest,
} from "@agentclientprotocol/sdk";
import { overLimit } from "./claude.ts";
import { type Listener, type Program, programRunner, wholePrompt } from "./command.ts";
import type { Control, Patience } from "./process.ts";
import { type Runner, type RunSpec, unknownUsage } from "./runner.ts";

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

/** The protocol has no limits of its own and no account of cost: calls are counted as they are announced. */
function conversation(spec: RunSpec, isolation: Options["isolation"]) {
  const calls = new Set<string>();
  let messages = 0;
  let speaking = false;
  let failure: string | undefined;
  let done = false;

  async function hold(child: ChildProcessWithoutNullStreams, control: Control): Promise<void> {
    const copy = child.stdout.pipe(new PassThrough());
    const stream = ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(copy) as ReadableStream<Uint8Array>);
    const app = client({ name: "scriptorium" })
      .onRequest(methods.client.session.requestPermission, ({ params }) => decide(params, isolation))
      .onNotification(methods.client.session.update, ({ params: { update } }) => {
        if (update.sessionUpdate === "tool_call") calls.add(update.toolCallId);
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
      const { stopReason } = await agent.request(methods.agent.session.prompt, turn);
      done = true;
      if (stopReason !== "end_turn") failure = `the agent stopped: ${stopReason}`;
    });
  }

  const listener: Listener = {
    line: () => undefined,
    summary: () => ({
      usage: { ...unknownUsage, toolCalls: done ? calls.size : null, messages: done ? messages : null },
      costUsd: null,
      ...(failure ? { error: failure } : {}),
    }),
  };
  return { hold, listener };
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
