import type { McpServer, StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import { jsonSchema, type Operation } from "../kernel/operation.ts";
import { type Result, refusalFor } from "../kernel/result.ts";

/** One operation as a tool; `perform` is how it is called for this client. */
export function addTool(
  server: McpServer,
  operation: Operation,
  perform: (raw: unknown) => Promise<Result<unknown>>,
): void {
  const { name, summary, guidance, effect, input, output } = operation;
  server.registerTool(
    name,
    {
      description: guidance ? `${summary} ${guidance}` : summary,
      inputSchema: unchecked(jsonSchema(input)),
      // A union of objects says so only inside; the protocol wants it said at the top.
      outputSchema: unchecked({ type: "object", ...jsonSchema(output, "output") }),
      annotations: {
        readOnlyHint: effect === "reads",
        destructiveHint: effect === "destroys",
        idempotentHint: effect === "reads",
        openWorldHint: false,
      },
    },
    async (raw: unknown) => {
      const result = await perform(raw ?? {});
      const answer = result.ok ? (result.value as Record<string, unknown>) : refusalFor(result.problem);
      return {
        content: [{ type: "text" as const, text: JSON.stringify(answer) }],
        structuredContent: answer,
        isError: !result.ok,
      };
    },
  );
}

/** `perform` is the only door for input; the SDK shows its shape to the client and lets everything through. */
const unchecked = (schema: Record<string, unknown>): StandardSchemaWithJSON => ({
  "~standard": {
    version: 1,
    vendor: "scriptorium",
    validate: (value) => ({ value }),
    jsonSchema: { input: () => schema, output: () => schema },
  },
});
