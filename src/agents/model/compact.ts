import type { ModelMessage } from "ai";

/** One thing that was removed from a conversation, in words for the record. */
export type Removed = { what: string; characters: number };
export type Compacted = { messages: ModelMessage[]; removed: Removed[] };

/** The last rounds stay whole: the model is working on what they say. */
const keptRounds = 2;
/** Shorter texts are not worth removing. */
const shortest = 400;

type Part = Exclude<Extract<ModelMessage, { role: "assistant" | "tool" }>["content"], string>[number];

/**
 * Shortens a conversation to about `target` characters: first the results of old tool calls, which the model can ask
 * for again, then the long arguments of old calls, then whole old rounds. The prompt and the last rounds stay. Returns
 * undefined if nothing can be removed.
 */
export function compact(messages: readonly ModelMessage[], target: number): Compacted | undefined {
  const removed: Removed[] = [];
  let result = [...messages];
  let size = sizeOf(result);
  const shorten = (at: number, part: (one: Part) => { part: Part; removed?: Removed }) => {
    const message = result[at];
    if (!message || typeof message.content === "string") return;
    const content = (message.content as Part[]).map((one) => {
      const done = part(one);
      if (done.removed) {
        removed.push(done.removed);
        size -= done.removed.characters;
      }
      return done.part;
    });
    result[at] = { ...message, content } as ModelMessage;
  };
  const old = roundStarts(result).at(-keptRounds) ?? 1;
  for (const step of [withoutResult, withoutArguments]) {
    for (let at = 1; at < old && size > target; at++) shorten(at, step);
  }
  const starts = roundStarts(result);
  const dropped = size > target ? roundsToDrop(result, starts, size - target) : 0;
  if (dropped > 0) {
    const [from = 1, to = result.length] = [starts[0], starts[dropped]];
    const gone = result.slice(from, to);
    removed.push({ what: `${dropped} rounds: ${callsIn(gone).join(", ")}`, characters: sizeOf(gone) });
    result = [...result.slice(0, from), noteOf(gone), ...result.slice(to)];
  }
  return removed.length > 0 ? { messages: result, removed } : undefined;
}

/** Where rounds begin: each is an answer of the model and the results of its calls. */
const roundStarts = (messages: readonly ModelMessage[]) =>
  messages.flatMap(({ role }, at) => (role === "assistant" ? [at] : []));

function roundsToDrop(messages: readonly ModelMessage[], starts: number[], excess: number): number {
  const most = Math.max(0, starts.length - keptRounds);
  let saved = 0;
  for (let n = 0; n < most; n++) {
    if (saved >= excess) return n;
    saved += sizeOf(messages.slice(starts[n], starts[n + 1]));
  }
  return most;
}

function withoutResult(part: Part): { part: Part; removed?: Removed } {
  if (part.type !== "tool-result") return { part };
  const characters = JSON.stringify(part.output).length;
  if (characters < shortest) return { part };
  const value = `(removed to save context: ${characters} characters; call ${part.toolName} again if you need them)`;
  return {
    part: { ...part, output: { type: "text", value } },
    removed: { what: `the result of ${part.toolName}`, characters },
  };
}

function withoutArguments(part: Part): { part: Part; removed?: Removed } {
  if (part.type !== "tool-call" || typeof part.input !== "object" || part.input === null) return { part };
  let characters = 0;
  const input = Object.fromEntries(
    Object.entries(part.input).map(([name, value]) => {
      const length = JSON.stringify(value)?.length ?? 0;
      if (length < shortest) return [name, value];
      characters += length;
      return [name, `(removed to save context: ${length} characters)`];
    }),
  );
  if (characters === 0) return { part };
  return { part: { ...part, input }, removed: { what: `the arguments of ${part.toolName}`, characters } };
}

const noteOf = (gone: ModelMessage[]): ModelMessage => ({
  role: "user",
  content: `(Earlier rounds were removed to save context. Your calls in them: ${callsIn(gone).join(", ").slice(0, 2000)}. Their effects stay; read again what you need.)`,
});

/** Calls with the argument that tells them apart, such as a path. */
function callsIn(messages: ModelMessage[]): string[] {
  return messages.flatMap(({ role, content }) =>
    role !== "assistant" || typeof content === "string"
      ? []
      : content.flatMap((part) => {
          if (part.type !== "tool-call") return [];
          const [first] = Object.values((part.input ?? {}) as Record<string, unknown>);
          return [`${part.toolName}(${typeof first === "string" ? first.slice(0, 60) : ""})`];
        }),
  );
}

const sizeOf = (messages: readonly ModelMessage[]) => JSON.stringify(messages).length;
