import type { McpServer, StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import { jsonSchema, type Operation } from "../kernel/operation.ts";
import { type Result, refusalFor } from "../kernel/result.ts";

/** Registers an operation as an MCP tool. */
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
      // MCP requires `type: object` at the top level; the JSON Schema of a union has it only inside.
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

/** Publishes a schema without validating by it: `perform` validates all input. */
const unchecked = (schema: Record<string, unknown>): StandardSchemaWithJSON => ({
  "~standard": {
    version: 1,
    vendor: "scriptorium",
    validate: (value) => ({ value }),
    jsonSchema: { input: () => schema, output: () => schema },
  },
});
