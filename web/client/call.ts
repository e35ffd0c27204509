import type * as z from "zod";
import type { OperationName, Operations } from "../../src/operation-loaders.ts";
import { boot } from "../boot.ts";
import { inBrowserWords } from "./next-step.ts";
import { fromPage } from "./page-secret.ts";
import { noteWarning } from "./warning.ts";

export type Input<N extends OperationName> = z.input<Operations[N]["input"]>;
export type Output<N extends OperationName> = z.output<Operations[N]["output"]>;

/** A refusal, in the server's own sentence. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly details: Record<string, unknown> = {},
  ) {
    super(message);
    this.name = "Refusal";
  }
}

/** True when the signed-in person's rank may call the operation. */
export const mayCall = (name: OperationName): boolean =>
  boot.operations[name]?.callers.includes(boot.person.rank) ?? false;

/** Performs an operation over its HTTP route. */
export async function call<N extends OperationName>(
  name: N,
  input: Input<N>,
  signal?: AbortSignal,
): Promise<Output<N>> {
  const route = boot.operations[name];
  if (!route) throw new Refusal(404, `the server has no operation ${name}; reload the page`);
  const { method, path: template } = route;
  const rest: Record<string, unknown> = { ...input };
  const path = template.replace(/\{(\w+)\}/g, (_, key: string) => {
    const value = String(rest[key] ?? "");
    delete rest[key];
    return encodeURIComponent(value);
  });
  const inQuery = method === "get" || method === "delete";
  const query = inQuery ? queryOf(rest) : "";
  const url = `/api${path}${query}`;
  if (method === "get") return ask(url, method, undefined, signal) as Promise<Output<N>>;
  return askOnce(url, method, inQuery ? undefined : rest, signal) as Promise<Output<N>>;
}

const againAfterMs = 1000;

/** A change whose answer was lost is sent again; with its key it takes effect once. */
async function askOnce(url: string, method: string, body?: unknown, signal?: AbortSignal): Promise<unknown> {
  const key = [...crypto.getRandomValues(new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");
  try {
    return await ask(url, method, body, signal, key);
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 0) throw error;
    await new Promise((resolve) => setTimeout(resolve, againAfterMs));
    return ask(url, method, body, signal, key);
  }
}

/** One request; what goes wrong is always a Refusal with a sentence for people. */
export async function ask(
  url: string,
  method = "get",
  body?: unknown,
  signal?: AbortSignal,
  key?: string,
): Promise<unknown> {
  let answer: Response;
  try {
    answer = await fetch(url, {
      method: method.toUpperCase(),
      headers: {
        ...fromPage(),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(key === undefined ? {} : { "idempotency-key": key }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    });
  } catch (error) {
    if ((error as Error).name === "AbortError") throw error;
    throw new Refusal(0, "the server is not reachable; your text is kept in this browser");
  }
  noteWarning(answer);
  const said = (await answer.json().catch(() => ({}))) as Record<string, unknown>;
  if (answer.ok) return said;
  if (answer.status === 401)
    throw new Refusal(401, "your session has ended; sign in again. Your text is kept in this browser");
  const message = String(said.error ?? said.message ?? `the server responded with status ${answer.status}`);
  throw new Refusal(answer.status, inBrowserWords(message, said.next), said);
}

function queryOf(values: Record<string, unknown>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined || value === null || value === "") continue;
    for (const one of Array.isArray(value) ? value : [value]) query.append(name, String(one));
  }
  const text = query.toString();
  return text && `?${text}`;
}
