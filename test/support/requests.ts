import { request } from "node:http";
import { connect } from "node:net";

/** What a server sent, before the test has looked at it. */
// biome-ignore lint/suspicious/noExplicitAny: tests check such values by their shape, with toMatchObject
export type Json = any;

export type Answer = {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  json: () => Json;
};

type Ask = { method?: string; token?: string; headers?: Record<string, string>; body?: string | object };

/** One request as given: unlike fetch it lets a test forge Host, Origin and the rest. */
export function ask(
  url: string,
  path: string,
  { method = "GET", token, headers: given = {}, body }: Ask = {},
): Promise<Answer> {
  const text = typeof body === "object" ? JSON.stringify(body) : body;
  const sent: Record<string, string> = {
    ...(token ? { authorization: `Bearer ${token}` } : {}),
    ...(typeof body === "object" ? { "content-type": "application/json" } : {}),
    ...given,
  };
  return new Promise((done, fail) => {
    const { hostname: name, host, port } = new URL(url);
    // Browsers resolve names below localhost themselves; Node asks the system, which may not.
    const hostname = name.endsWith(".localhost") ? "127.0.0.1" : name.replace(/^\[|\]$/g, "");
    const headers = { host, ...sent };
    const outgoing = request({ hostname, headers, port, path, method, agent: false }, (response) => {
      let received = "";
      response.setEncoding("utf8");
      response.on("data", (chunk) => {
        received += chunk;
      });
      response.on("error", fail);
      response.on("end", () =>
        done({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: received,
          json: () => JSON.parse(received),
        }),
      );
    });
    outgoing.on("error", fail);
    outgoing.end(text);
  });
}

/** What a server says to bytes that no HTTP library would send. */
export function sendRaw(url: string, bytes: string): Promise<string> {
  return new Promise((done, fail) => {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    let received = "";
    socket.on("data", (chunk) => {
      received += chunk;
    });
    socket.on("end", () => done(received));
    socket.on("error", fail);
    socket.setTimeout(10_000, () => socket.destroy(new Error("no answer")));
  });
}

/** What a signed-in browser sends with each request: the cookie, and as our pages do the page secret. */
export type SessionHeaders = { cookie: string; "x-page-secret": string };

/** Signs in with a link as its page does. */
export async function signIn(link: string, more: object = {}): Promise<SessionHeaders> {
  const answer = await postLink(link, more);
  const [cookie] = answer.headers["set-cookie"] ?? [];
  if (!cookie) throw new Error(`no cookie: ${answer.status} ${answer.text}`);
  return { cookie: cookie.split(";", 1)[0] ?? "", "x-page-secret": answer.json().page_secret };
}

/** The answer to the code or token of a link. */
export function postLink(link: string, more: object = {}, headers: Record<string, string> = {}): Promise<Answer> {
  const { origin, searchParams } = new URL(link);
  const [code, token] = [searchParams.get("code"), searchParams.get("token")];
  const body = { ...(code ? { code } : { token }), ...more };
  return ask(origin, "/sign-in", { method: "POST", headers: { origin, ...headers }, body });
}
