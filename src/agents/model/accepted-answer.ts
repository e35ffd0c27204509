import type { ModelMessage } from "ai";
import type { RequestedCall } from "./call.ts";

type Assistant = Extract<ModelMessage, { role: "assistant" }>;
type Part = Exclude<Assistant["content"], string>[number];
type Answer = { calls: RequestedCall[]; messages: ModelMessage[] };

/**
 * An answer as servers accept it in the next request. They refuse empty messages and texts of blanks, two calls with
 * one id, and some also two messages of the user in a row; models and local servers send all of these.
 */
export function acceptedAnswer({ calls, messages }: Answer, usedIds: Set<string>): Answer {
  const fresh = freshIds(calls, usedIds);
  let next = 0;
  const shown = messages.flatMap((message): ModelMessage[] => {
    if (message.role !== "assistant") return [message];
    if (typeof message.content === "string") return isBlank(message.content) ? [] : [message];
    const content = message.content
      .filter((part) => part.type !== "text" || !isBlank(part.text))
      .map(
        (part): Part => (part.type === "tool-call" ? { ...part, toolCallId: fresh[next++] ?? part.toolCallId } : part),
      );
    return content.some((part) => part.type !== "reasoning") ? [{ ...message, content }] : [];
  });
  return {
    calls: calls.map((call, i) => ({ ...call, id: fresh[i] ?? call.id })),
    messages: shown.length > 0 ? shown : [{ role: "assistant", content: [{ type: "text", text: "(empty answer)" }] }],
  };
}

/** The ids of calls, with a number behind those that an earlier call of the conversation had. */
const freshIds = (calls: readonly RequestedCall[], used: Set<string>): string[] =>
  calls.map(({ id }) => {
    let fresh = id;
    for (let n = 2; used.has(fresh); n++) fresh = `${id}_${n}`;
    used.add(fresh);
    return fresh;
  });

const isBlank = (text: string) => text.trim() === "";
