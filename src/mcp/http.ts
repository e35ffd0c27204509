import { randomUUID } from "node:crypto";
import {
  createMcpHandler,
  isLegacyRequest,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import type { App } from "../app.ts";
import type { Caller } from "../kernel/caller.ts";
import { ok, type Result } from "../kernel/result.ts";
import { parseToolGroups, type ToolGroup } from "../kernel/tool-groups.ts";
import { mcpServer } from "./server.ts";

type Session = { transport: WebStandardStreamableHTTPServerTransport; owner: string; usedAt: number };

const idleMs = 30 * 60_000;
const maxSessions = 1000;

/**
 * Streamable HTTP for current clients and for those of the 2025 protocol. The current protocol has no sessions, so a
 * turn belongs to the token; older clients get a session each, which only the same token can use.
 */
export function mcpOverHttp(
  app: App,
  callerFor: (tokenId: string, session: string) => Caller,
  newServer: typeof mcpServer = mcpServer,
) {
  const sessions = new Map<string, Session>();
  const modern = createMcpHandler(
    ({ authInfo, requestInfo }) => {
      const groups = requestInfo ? groupsOf(requestInfo) : ok([]);
      return newServer(app, callerFor(authInfo?.clientId ?? "", ""), groups.ok ? groups.value : []);
    },
    { legacy: "reject", onerror: (error) => app.log.warn({ error: error.message }, "mcp-refused") },
  );

  /** The map is ordered by last use, least recent first. */
  function forgetIdle(): void {
    for (const [id, session] of sessions) {
      if (performance.now() - session.usedAt <= idleMs && sessions.size < maxSessions) return;
      sessions.delete(id);
      void session.transport.close();
    }
  }

  async function legacy(request: Request, tokenId: string, groups: readonly ToolGroup[]): Promise<Response> {
    const id = request.headers.get("mcp-session-id");
    const known = id === null ? undefined : sessions.get(id);
    if (id !== null && known && known.owner === tokenId) {
      known.usedAt = performance.now();
      sessions.delete(id);
      sessions.set(id, known);
      return known.transport.handleRequest(request);
    }
    if (id !== null) return refusal(404, "unknown session; send initialize again");

    forgetIdle();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (session) => {
        sessions.set(session, { transport, owner: tokenId, usedAt: performance.now() });
      },
      onsessionclosed: (session) => {
        sessions.delete(session);
      },
    });
    const server = await newServer(app, callerFor(tokenId, randomUUID()), groups);
    await server.connect(transport);
    return transport.handleRequest(request);
  }

  return {
    async fetch(request: Request, tokenId: string): Promise<Response> {
      const groups = groupsOf(request);
      if (!groups.ok) return refusal(400, groups.problem.message);
      if (await isLegacyRequest(request)) return legacy(request, tokenId, groups.value);
      return modern.fetch(request, { authInfo: { token: "", clientId: tokenId, scopes: [] } });
    },
    async close() {
      await modern.close();
      await Promise.all([...sessions.values()].map((session) => session.transport.close()));
      sessions.clear();
    },
  };
}

/** The tool groups in the address, as in `/mcp?tools=graph,tasks`. */
const groupsOf = (request: Request): Result<readonly ToolGroup[]> =>
  parseToolGroups(new URL(request.url).searchParams.get("tools") ?? undefined);

const refusal = (status: number, message: string) =>
  Response.json({ jsonrpc: "2.0", error: { code: -32001, message }, id: null }, { status });
