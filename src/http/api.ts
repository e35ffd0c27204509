import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { App } from "../app.ts";
import { jsonSchema } from "../kernel/json-schema.ts";
import type { NextOperation } from "../kernel/next-step.ts";
import type { Operation } from "../kernel/operation.ts";
import { fieldsOf, type JsonSchema } from "../kernel/operation-description.ts";
import { ok, type Problem, refusalFor } from "../kernel/result.ts";
import { onBehalfOf } from "../kernel/threads/threads.ts";
import { allOperations, operations } from "../operation-list.ts";
import { checkCursor } from "../store/events.ts";
import { openEventFeed } from "./event-feed.ts";
import { eventStream } from "./events.ts";
import { openApi } from "./openapi.ts";
import { callerOf, type Principal, type SignIn } from "./sign-in.ts";

export type Env = { Variables: { principal: Principal } };

const limitBody = bodyLimit({
  maxSize: 48 * 1024 * 1024,
  onError: (c) => c.json({ status: "invalid", error: "the request body is too large; the maximum is 48 MiB" }, 413),
});

const statuses = {
  invalid: 400,
  denied: 403,
  not_found: 404,
  conflict: 409,
  refused: 422,
  storage: 503,
} as const satisfies Record<Problem["code"], number>;

const statusOf = ({ code, details }: Problem) => (details?.reason === "disk_full" ? 507 : statuses[code]);

/** The message without next steps, which are in `next` as routes: the browser has its own words for them. */
export function refusalAnswer(c: Context, problem: Problem) {
  const refusal = refusalFor(problem, () => undefined);
  const next = problem.details?.next?.map((step) => ({ ...step, ...routeOf(step.operation) }));
  const wait = problem.details?.retry_after;
  const headers: Record<string, string> = typeof wait === "number" ? { "retry-after": String(wait) } : {};
  return c.json(next ? { ...refusal, next } : refusal, { status: statusOf(problem), headers });
}

function routeOf(name: NextOperation): { method: string; path: string } | undefined {
  const { http } = operations[name];
  return http && { method: http.method.toUpperCase(), path: `/api${http.path}` };
}

/** Every operation with a path, under /api. */
export function apiRoutes(app: App, signIn: SignIn, stopping: AbortSignal): Hono<Env> {
  const api = new Hono<Env>();
  const feed = openEventFeed(app.db, stopping);
  api.get("/openapi.json", (c) => c.json(openApi(allOperations)));
  api.get("/events", async (c) => {
    const reader = c.get("principal").person;
    if (!reader) {
      return c.json({ status: "denied", error: "agents may not read the event log; use a token of a person" }, 403);
    }
    const after = c.req.header("last-event-id") ?? c.req.query("after");
    const checked = after === undefined ? ok(after) : await checkCursor(app.db, after);
    if (!checked.ok) return refusalAnswer(c, checked.problem);
    const rank = async () => (await signIn.principal(c))?.person?.rank;
    return eventStream(c, app, { feed, name: reader.name, after, stopping, rank });
  });
  for (const operation of allOperations) {
    if (!operation.http) continue;
    const path = operation.http.path.replace(/\{(\w+)\}/g, ":$1");
    api.on(operation.http.method.toUpperCase(), path, (c) => answer(c, app, operation, signIn));
  }
  api.all("*", (c) =>
    c.json({ status: "not_found", error: "this route does not exist; /api/openapi.json lists the routes" }, 404),
  );
  return api;
}

async function answer(c: Context<Env>, app: App, operation: Operation<App>, signIn: SignIn): Promise<Response> {
  const body = await readBody(c);
  if (body instanceof Response) return body;
  const inPath = Object.entries(c.req.param()).map(([name, text]) => [name, [text]]);
  const input = {
    ...fromText(operation, c.req.queries()),
    ...body,
    ...fromText(operation, Object.fromEntries(inPath)),
  };
  const once = app.idempotency.once(c.req.header("idempotency-key"));
  const principal = c.get("principal");
  const perform = () => operation.perform(app, input, callerOf(principal, signIn), once);
  // A change is completed although its client left: it may have been sent without waiting for the answer.
  const result = await (operation.effect === "reads"
    ? onBehalfOf({ client: principal.tokenId, signal: c.req.raw.signal }, perform)
    : perform());
  if (result.ok) return c.json(result.value as object, 200);
  return refusalAnswer(c, result.problem);
}

/** JSON only: a form or text body is what a page of another site could send without asking (T10). */
export async function readBody(c: Context<Env>): Promise<Record<string, unknown> | Response> {
  if (c.req.method === "GET") return {};
  const principal: Principal | undefined = c.get("principal");
  if ((!principal || principal.session) && c.req.header("origin") === undefined) {
    return c.json(
      { status: "denied", error: "the Origin header is missing; browsers must send it with every change" },
      403,
    );
  }
  if (c.req.method === "DELETE") return {};
  const tooLarge = await limitBody(c, async () => undefined);
  if (tooLarge) return tooLarge;
  const text = await c.req.text();
  if (text === "") return {};
  if (!/^application\/json\b/i.test(c.req.header("content-type") ?? "")) {
    return c.json({ status: "invalid", error: "the content type of the body must be application/json" }, 415);
  }
  try {
    const value: unknown = JSON.parse(text);
    if (value !== null && typeof value === "object" && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch (error) {
    return c.json({ status: "invalid", error: `the body is not JSON: ${(error as Error).message}` }, 400);
  }
  return c.json({ status: "invalid", error: "the body must be a JSON object" }, 400);
}

/** Query strings are text; the operation's own schema says which of them are numbers, truths and lists. */
function fromText(operation: Operation<App>, query: Record<string, string[]>): Record<string, unknown> {
  const types = new Map(fieldsOf(jsonSchema(operation.input)).map(({ name, schema }) => [name, schema.type]));
  const read = (type: JsonSchema["type"], texts: string[]) => {
    const [text = ""] = texts;
    if (type === "array") return texts;
    if ((type === "integer" || type === "number") && text.trim() !== "") return Number(text);
    return type === "boolean" ? (truths.get(text) ?? text) : text;
  };
  return Object.fromEntries(Object.entries(query).map(([name, texts]) => [name, read(types.get(name), texts)]));
}

const truths = new Map([
  ["true", true],
  ["1", true],
  ["false", false],
  ["0", false],
]);
