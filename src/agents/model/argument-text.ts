/** Arguments of a call as an object, which some local servers send where OpenAI's API has text. */
const objectArguments = /"arguments"\s*:\s*[{[]/;

type Chunk = { choices?: { delta?: { tool_calls?: { function?: { arguments?: unknown } }[] | null } | null }[] };

/** `fetch` for servers with OpenAI's API that turns arguments into text, which the SDK expects. */
export const fetchWithArgumentText: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  if (!response.body || !response.headers.get("content-type")?.includes("event-stream")) return response;
  const lines = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(byLine(argumentsAsText));
  return new Response(lines.pipeThrough(new TextEncoderStream()), response);
};

function byLine(change: (line: string) => string): TransformStream<string, string> {
  let rest = "";
  return new TransformStream({
    transform(text, controller) {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      if (lines.length > 0) controller.enqueue(`${lines.map(change).join("\n")}\n`);
    },
    flush(controller) {
      if (rest !== "") controller.enqueue(change(rest));
    },
  });
}

function argumentsAsText(line: string): string {
  if (!line.startsWith("data:") || !objectArguments.test(line)) return line;
  const chunk = parsed(line.slice("data:".length));
  if (!chunk) return line;
  for (const { delta } of chunk.choices ?? [])
    for (const { function: called } of delta?.tool_calls ?? [])
      if (called && typeof called.arguments === "object" && called.arguments !== null)
        called.arguments = JSON.stringify(called.arguments);
  return `data: ${JSON.stringify(chunk)}`;
}

function parsed(text: string): Chunk | undefined {
  try {
    return JSON.parse(text) as Chunk;
  } catch {
    return undefined;
  }
}
