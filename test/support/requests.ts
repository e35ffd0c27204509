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
  { method = "GET", token, headers = {}, body }: Ask = {},
): Promise<Answer> {
  const text = typeof body === "object" ? JSON.stringify(body) : body;
  const sent: Record<string, string> = {
    ...(token ? { authorization: `Bearer ${token}` } : {}),
    ...(typeof body === "object" ? { "content-type": "application/json" } : {}),
    ...headers,
  };
  return new Promise((done, fail) => {
    const { hostname, port } = new URL(url);
    const outgoing = request({ hostname, port, path, method, headers: sent, agent: false }, (response) => {
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

/** The cookie that a sign-in link gives. */
export async function signIn(link: string): Promise<string> {
  const { origin, pathname, search } = new URL(link);
  const answer = await ask(origin, pathname + search);
  const [cookie] = answer.headers["set-cookie"] ?? [];
  if (!cookie) throw new Error(`no cookie: ${answer.status} ${answer.text}`);
  return cookie.split(";", 1)[0] ?? "";
}
