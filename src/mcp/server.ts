import {
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  ResourceTemplate,
} from "@modelcontextprotocol/server";
import { serveTools } from "../agents/mcp-tool.ts";
import type { App } from "../app.ts";
import { type Caller, kindOf } from "../kernel/caller.ts";
import { asTool, type NextOperation } from "../kernel/next-step.ts";
import type { Operation } from "../kernel/operation.ts";
import { onlySteps, type Problem, problemText, type Result, refusalFor, refuse } from "../kernel/result.ts";
import { isListed, type ToolGroup } from "../kernel/tool-groups.ts";
import { version } from "../kernel/version.ts";
import { isOperation, loaders } from "../operation-loaders.ts";
import { manifest } from "../operation-manifest.ts";
import { instructions } from "./instructions.ts";
import { sessionClaims } from "./session-claims.ts";

/**
 * What the caller may do, as MCP tools, and the entries as resources. The list has the core tools and those of
 * `groups`; calling depends on rights alone.
 */
export async function mcpServer(app: App, caller: Caller, groups: readonly ToolGroup[] = []): Promise<McpServer> {
  const read = await app.schema();
  const schema = read.ok ? read.value : undefined;
  const server = new McpServer(
    { name: "scriptorium", title: `Scriptorium: ${app.config.name}`, version },
    { instructions: instructions(app.config.name, caller, schema) },
  );
  const allowed = manifest.filter(({ callers }) => callers.includes(kindOf(caller)));
  const callable = allowed.map(({ name }) => name);
  const claims = sessionClaims();
  const isAllowed = (step: NextOperation) => callable.includes(step);
  serveTools(server, {
    listed: allowed.filter((operation) => isListed(operation, caller, groups, schema)),
    callable,
    warning: app.schemaWarning,
    async call(name, raw, key): Promise<Result<unknown>> {
      if (!isOperation(name)) return refuse("not_found", `no tool ${name}`);
      const operation: Operation<App> = await loaders[name]();
      const once = app.idempotency.once(key);
      const result: Result<unknown> = await operation.perform(app, claims.withSecret(name, raw), caller, once);
      claims.remember(name, raw, result);
      return result.ok ? result : { ok: false, problem: onlySteps(result.problem, isAllowed) };
    },
  });
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
    const entry = await (await loaders.fetch_entry()).perform(app, { id: String(id) }, caller);
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
