import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { McpServer } from "@modelcontextprotocol/server";
import { ok, Refused, type Result } from "../kernel/result.ts";
import { version } from "../kernel/version.ts";
import { parseJsonOr } from "../store/json.ts";
import { serveUntilClosed } from "./stdio.ts";

type Start = {
  /** The folder that the client was started in. */
  folder: string;
  workspace: Result<string>;
  serve(): Promise<Result<true>>;
};

/**
 * For a server that a person installs once for all projects, such as the plugin's. Where it cannot or need not serve,
 * it connects without tools and explains why to the agent: a failed server would be shown as an error in every
 * project that has no workspace.
 */
export async function serveOptional({ folder, workspace, serve }: Start): Promise<Result<true>> {
  if (!workspace.ok) return explain(noWorkspace);
  const configured = await Promise.all([folder, workspace.value].map(configuresServer));
  if (configured.includes(true)) return explain(otherServer);
  const served = await serve().catch((error: unknown): Result<true> => {
    if (error instanceof Refused) return { ok: false, problem: error.problem };
    throw error;
  });
  if (served.ok) return served;
  return explain(`Scriptorium has no tools here: ${served.problem.message}. ${remedy}`);
}

const remedy =
  "If the person wants to use the shared memory, tell them; where a role is missing, they set session.role in scriptorium.yaml.";

const noWorkspace =
  "This folder has no Scriptorium workspace, so there is no shared memory and this server has no tools. " +
  "`scriptorium init` makes a workspace; propose it only if the person asks for shared memory.";

const otherServer =
  "The tools of Scriptorium come from the server in .mcp.json. If you do not have them, the person has to approve that server, with /mcp in Claude Code.";

/** Whether the project's own configuration has a Scriptorium server. */
async function configuresServer(folder: string): Promise<boolean> {
  const text = await readFile(join(folder, ".mcp.json"), "utf8").catch(() => undefined);
  if (text === undefined) return false;
  const { isOurs } = await import("../setup/clients/entry.ts");
  const config = parseJsonOr<{ mcpServers?: unknown } | null>(text, null);
  return Object.entries(config?.mcpServers ?? {}).some(
    ([name, server]) => name === "scriptorium" || (typeof server === "object" && server !== null && isOurs(server)),
  );
}

async function explain(instructions: string): Promise<Result<true>> {
  await serveUntilClosed(() => new McpServer({ name: "scriptorium", version }, { instructions }));
  return ok(true);
}
