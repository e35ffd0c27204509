import type { IncomingMessage, ServerResponse } from "node:http";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { Connect } from "./connection.ts";
import { endToEnd, forward } from "./forward.ts";
import type { Ledger } from "./ledger.ts";
import type { ModelServer } from "./model-server.ts";
import { hostAndPort } from "./policy.ts";

type Deps = { servers: readonly ModelServer[]; connect: Connect; ledger: Ledger };

/** TRACE would send the key back. */
const methods = new Set(["GET", "HEAD", "POST"]);
/** The ways in which the APIs take a key. Cookies are none of the agent's. */
const credentials = ["authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie"];

/** Forwards a request under `/<name>/` to the model server of that name, with the key in place of its placeholder. */
export async function askModel(
  { servers, connect, ledger }: Deps,
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
): Promise<Result<true>> {
  // Resolves dot segments, also encoded ones, before the path is compared.
  const url = new URL(path, "http://relay.invalid");
  const [, name = "", rest = ""] = /^\/([^/]*)(\/.*)?$/.exec(url.pathname) ?? [];
  const server = servers.find((one) => one.name === name);
  if (!server) return refuse("denied", `there is no model server ${name.slice(0, 100)}; known: ${namesOf(servers)}`);
  const { base, keys, headers, paths } = server;
  const destination = hostAndPort(base);
  const prefix = base.pathname.replace(/\/$/, "");
  const isModelPath = rest.startsWith(`${prefix}/`) && paths.test(rest.slice(prefix.length));
  if (!isModelPath || !methods.has(request.method ?? "")) {
    const message = `${request.method} ${rest.slice(0, 200)} does not ask a model; this agent may only do that`;
    // Without the path, of which an agent could invent any number.
    ledger.note({ destination, allowed: false, reason: "the request did not ask a model" });
    return refuse("denied", message);
  }
  const host = base.hostname.replace(/^\[(.*)\]$/, "$1");
  const to = { host, port: Number(base.port || (base.protocol === "http:" ? 80 : 443)) };
  const connection = await connect(to, ok(to));
  if (!connection.ok) return connection;
  const isTls = base.protocol === "https:";
  const sent = { ...withKeys(endToEnd(request.headers), keys), ...headers, host: base.host };
  const query = queryWithKeys(url.searchParams, keys);
  await forward(request, response, { ...connection.value, isTls, host, path: rest + query, headers: sent });
  return ok(true);
}

const namesOf = (servers: readonly ModelServer[]) => servers.map(({ name }) => name).join(", ") || "none";

/** Keeps a credential only if it is a placeholder: an agent cannot use an account of someone else (T19). */
function withKeys(headers: ReturnType<typeof endToEnd>, keys: ModelServer["keys"]): ReturnType<typeof endToEnd> {
  const given = credentials.flatMap((name) => {
    const [, scheme = "", value = ""] = /^(Bearer )?(.*)$/i.exec(String(headers[name] ?? "")) ?? [];
    const key = keys.find(({ placeholder }) => placeholder === value)?.key;
    return key ? [[name, scheme + key] as const] : [];
  });
  const others = Object.entries(headers).filter(([name]) => !credentials.includes(name));
  return Object.fromEntries([...others, ...given]);
}

/** Gemini also takes the key as a parameter. */
function queryWithKeys(parameters: URLSearchParams, keys: ModelServer["keys"]): string {
  const given = parameters.get("key");
  const key = keys.find(({ placeholder }) => placeholder === given)?.key;
  if (given !== null) parameters.delete("key");
  if (key) parameters.set("key", key);
  const query = parameters.toString();
  return query ? `?${query}` : "";
}
