import {
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  ResourceTemplate,
} from "@modelcontextprotocol/server";
import { addTool } from "../agents/mcp-tool.ts";
import type { App } from "../app.ts";
import { type Caller, kindOf } from "../kernel/caller.ts";
import { asTool, type NextOperation } from "../kernel/next-step.ts";
import { onlySteps, type Problem, problemText, refusalFor } from "../kernel/result.ts";
import { version } from "../kernel/version.ts";
import { allOperations, operations } from "../operation-list.ts";
import type { Schema } from "../wiki/schema.ts";

/** Everything the caller may do, as MCP tools, and the entries as resources. */
export async function mcpServer(app: App, caller: Caller): Promise<McpServer> {
  const schema = await app.schema();
  const server = new McpServer(
    { name: "scriptorium", title: `Scriptorium: ${app.config.name}`, version },
    { instructions: instructions(app, caller, schema.ok ? schema.value : undefined) },
  );
  const isAllowed = (step: NextOperation) => operations[step].callers.some((kind) => kind === kindOf(caller));
  for (const operation of allOperations) {
    const isVisible = operation.visibleTo?.(caller, schema.ok ? schema.value : undefined) ?? true;
    if (!isVisible || !operation.callers.includes(kindOf(caller))) continue;
    addTool(server, operation, async (raw) => {
      const result = await operation.perform(app, raw, caller);
      return result.ok ? result : { ok: false, problem: onlySteps(result.problem, isAllowed) };
    });
  }
  addResources(server, app, caller);
  return server;
}

const entryUri = "scriptorium://entries/";

function addResources(server: McpServer, app: App, caller: Caller): void {
  const template = new ResourceTemplate(`${entryUri}{+id}`, {
    list: async () => ({
      resources: (await app.entries.list()).map(({ id, title, version, wordCount }) => ({
        uri: `${entryUri}${id}`,
        name: id,
        title,
        description: `version ${version}, ${wordCount} words`,
        mimeType: "text/markdown",
      })),
    }),
  });
  server.registerResource("entry", template, { title: "Entry", mimeType: "text/markdown" }, async (uri, { id }) => {
    const entry = await operations.fetch_entry.perform(app, { id: String(id) }, caller);
    if (!entry.ok) throw resourceError(uri.href, entry.problem);
    return { contents: [{ uri: uri.href, mimeType: "text/markdown", text: entry.value.content }] };
  });
}

/** A resource has no structured answer to refuse with, so the refusal travels as the error's data. */
function resourceError(uri: string, problem: Problem): ProtocolError {
  const unknown = problem.code === "not_found" || problem.code === "invalid";
  if (unknown) return new ResourceNotFoundError(uri, problemText(problem, asTool));
  return new ProtocolError(ProtocolErrorCode.InvalidRequest, problemText(problem, asTool), refusalFor(problem));
}

function instructions(app: App, caller: Caller, schema: Schema | undefined): string {
  if (caller.kind === "person") return `The shared book "${app.config.name}".`;
  const handsOver = schema?.pipeline.includes(caller.role) ?? false;
  const mine = schema?.sections.filter((section) => section.writable_by.includes(caller.role)) ?? [];
  return [
    `You share one book, "${app.config.name}", with other agents and with people, and it is your only memory. Your role is ${caller.role}.`,
    `You may write: ${someOf(mine.map((s) => `${s.id} (${s.mode})`)) || "nothing"}.`,
    ...(handsOver ? [`The pipeline is ${schema?.pipeline.join(" → ")}.`] : []),
    handsOver
      ? "A turn has five steps. Scan: list_entries, which also gives you the handoff from the role before you."
      : "A turn has four steps. Scan: list_entries, which begins a new turn.",
    `Select: fetch only the 2 to 4 entries your task needs (at most ${schema?.readCap ?? 4} a turn); search_entries finds passages.`,
    "Reason. Persist: commit_entry (whole body, with the version you read) or append_log (one line).",
    ...(handsOver ? ["Hand off: transfer_focus with a summary for the next role."] : []),
    "What you do not write down is lost.",
  ].join("\n");
}

/** Instructions are read in every conversation, so a base of hundreds of sections is not spelled out there. */
const someOf = (names: string[]) =>
  names.length <= 20
    ? names.join(", ")
    : `${names.slice(0, 20).join(", ")} and ${names.length - 20} more, which list_entries marks with may_write`;
