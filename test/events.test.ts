import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import type { App } from "../src/app.ts";
import { appendEvent, appendEvents } from "../src/store/events.ts";
import { type Served, scribe, serve, serveProcess } from "./support/commands.ts";
import { ask, type Json } from "./support/requests.ts";
import { engines, newWorkspace } from "./support/workspace.ts";

type Heard = { id: string; kind: string; subject: string; actor: string; data: Json; at: string };
type Stream = { events: Heard[]; comments: string[]; status: number; ended: Promise<void>; leave(): void };

/** Reads the event log as a browser would. */
function listen(
  { url, token }: Pick<Served, "url" | "token">,
  from: { last?: string; query?: string } = {},
): Promise<Stream> {
  return new Promise((ready, fail) => {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(from.last === undefined ? {} : { "last-event-id": from.last }),
    };
    const { hostname, port } = new URL(url);
    const path = `/api/events${from.query ?? ""}`;
    const outgoing: ClientRequest = request({ hostname, port, path, headers, agent: false });
    const leave = () => void outgoing.destroy();
    onTestFinished(leave);
    outgoing.on("error", fail);
    outgoing.on("response", (response: IncomingMessage) => {
      const events: Heard[] = [];
      const comments: string[] = [];
      let text = "";
      response.setEncoding("utf8");
      response.on("error", () => undefined);
      response.on("data", (chunk) => {
        text += chunk;
        for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
          const block = text.slice(0, end);
          text = text.slice(end + 2);
          if (block.startsWith(":")) comments.push(block.slice(2));
          else events.push(parse(block));
        }
      });
      const ended = new Promise<void>((done) => response.once("close", () => done()));
      ready({ events, comments, status: response.statusCode ?? 0, ended, leave });
    });
    outgoing.end();
  });
}

function parse(block: string): Heard {
  const fields = new Map(block.split("\n").map((line) => line.split(/: (.*)/s, 2) as [string, string]));
  const data = JSON.parse(fields.get("data") ?? "null");
  expect([fields.get("id"), fields.get("event")]).toEqual([data.id, data.kind]);
  return data;
}

const note = (n: number | string, data: Record<string, string> = {}) => ({
  at: new Date().toISOString(),
  actor: "test",
  kind: "task-edited" as const,
  subject: `note:${n}`,
  data,
});

const write = (app: App, ...subjects: (number | string)[]) =>
  app.db.write(async (tx) => {
    for (const subject of subjects) await appendEvent(tx, note(subject));
  });

const subjects = (stream: Stream) => stream.events.map((event) => event.subject);
const notes = (count: number, from = 0) => Array.from({ length: count }, (_, n) => `note:${n + from}`);
const residentKb = (pid: number | undefined) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);

describe.each(engines)("the event log over HTTP, on %s", (engine) => {
  test("a reader who asks for what is new gets that, in order, from now on", async () => {
    const { root, app } = await newWorkspace({ engine });
    const served = await serve(root);
    await write(app, "before");
    const stream = await listen(served);
    expect(stream.status).toBe(200);
    await expect.poll(() => stream.comments.length).toBe(1);
    for (let n = 0; n < 250; n += 50) await write(app, ...Array.from({ length: 50 }, (_, i) => n + i));
    await expect.poll(() => stream.events.length).toBe(250);
    expect(subjects(stream)).toEqual(notes(250));
    expect(stream.events[0]).toMatchObject({ actor: "test", kind: "task-edited", data: {}, at: expect.any(String) });
  });

  test("what is done through the API, by a scribe and in an editor is heard without asking", async () => {
    const { root, file } = await newWorkspace({ engine });
    const served = await serve(root);
    const { url, token } = served;
    const stream = await listen(served);
    const heard = (check: (event: Heard) => boolean) => expect.poll(() => stream.events.some(check)).toBe(true);

    await ask(url, "/api/entries/decisions/log", { method: "POST", token, body: { line: "by HTTP" } });
    await heard((event) => event.subject.includes("decisions") && event.actor === "Ada Lovelace");

    const line = ["append-log", "--role", "engineer", "--id", "decisions", "--line", "by scribe"];
    expect(await scribe(line, { cwd: root })).toMatchObject({ code: 0 });
    await heard((event) => event.subject.includes("decisions") && event.actor === "engineer");

    writeFileSync(file("notes.md"), "# Notes\n\nby hand\n");
    await expect.poll(() => stream.events.some((event) => event.subject.includes("notes"))).toBe(true);
  });

  test("a reader who was away goes on where it was, and one who starts over hears everything", async () => {
    const { root, app } = await newWorkspace({ engine });
    const served = await serve(root);
    const first = await listen(served);
    await write(app, 0, 1, 2, 3, 4);
    await expect.poll(() => first.events.length).toBe(5);
    first.leave();
    await write(app, 5, 6);
    const last = first.events[2]?.id ?? "";
    const again = await listen(served, { last });
    await expect.poll(() => subjects(again)).toEqual(notes(4, 3));
    const byQuery = await listen(served, { query: `?after=${last}` });
    await expect.poll(() => subjects(byQuery)).toEqual(notes(4, 3));
    const whole = await listen(served, { last: "0" });
    await expect.poll(() => subjects(whole).filter((subject) => subject.startsWith("note:"))).toEqual(notes(7));
  });

  test("readers who come and go while many write lose nothing and hear nothing twice", async () => {
    const { root, app, open } = await newWorkspace({ engine });
    const served = await serve(root);
    // SQLite waits for its lock without letting others of its process go on, so there each process has one writer.
    const others = engine === "postgres" ? [app, await open(), await open()] : [app];
    const begin = await listen(served);
    await write(app, "begin");
    await expect.poll(() => begin.events.length).toBe(1);

    const count = 600;
    let written = 0;
    let next = 0;
    const writers = Array.from({ length: 12 }, async (_, n) => {
      while (next < count) {
        const subject = next++;
        await write(others[n % others.length] as App, subject);
        written++;
      }
    });
    const heard: Heard[] = [];
    let last = begin.events[0]?.id;
    while (heard.length < count) {
      const stream = await listen(served, { last });
      await sleep(60);
      stream.leave();
      await stream.ended;
      heard.push(...stream.events);
      last = heard.at(-1)?.id ?? last;
    }
    await Promise.all(writers);
    expect([written, heard.length]).toEqual([count, count]);
    expect(new Set(heard.map((event) => event.subject)).size).toBe(count);

    const whole = await listen(served, { last: begin.events[0]?.id });
    await expect.poll(() => whole.events.length).toBe(count);
    expect(whole.events.map((event) => event.id)).toEqual(heard.map((event) => event.id));
    await expect.poll(() => subjects(begin).slice(1)).toEqual(subjects(whole));
  });

  test("a reader that does not read holds no memory in the server", async () => {
    const { root, app } = await newWorkspace({ engine });
    const served = await serveProcess(root);
    const { port, host } = new URL(served.url);
    const warm = await listen(served);
    await write(app, "warm");
    await expect.poll(() => warm.events.length).toBe(1);
    const deaf = Array.from({ length: 20 }, () => {
      const socket = connect(Number(port), "127.0.0.1");
      socket.pause();
      onTestFinished(() => void socket.destroy());
      socket.write(`GET /api/events HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${served.token}\r\n\r\n`);
      return socket;
    });
    await sleep(300);

    const before = residentKb(served.child.pid);
    const filler = "x".repeat(4000);
    for (let batch = 0; batch < 10; batch++) {
      const some = Array.from({ length: 500 }, (_, n) => note(batch * 500 + n, { filler }));
      await app.db.write((tx) => appendEvents(tx, engine, some));
    }
    await expect.poll(() => warm.events.length).toBe(5001);
    const grown = (residentKb(served.child.pid) - before) / 1024;
    // What the collector has not yet swept counts too, so the line is drawn at half of what would be held.
    expect(grown, "MiB, of 20 MiB of events for each of twenty").toBeLessThan(200);
    expect(deaf.every((socket) => !socket.destroyed)).toBe(true);
    expect((await ask(served.url, "/healthz")).status).toBe(200);
  });

  test("a stream ends when the server stops, and the server does not wait for it", async () => {
    const { root } = await newWorkspace({ engine });
    const served = await serveProcess(root);
    const streams = await Promise.all([listen(served), listen(served), listen(served)]);
    await served.stop("SIGTERM");
    await Promise.all(streams.map((stream) => stream.ended));
    expect([served.child.exitCode, served.child.signalCode]).toEqual([0, null]);
  });
});

test("a silent stream gives a sign of life, and one whose token was revoked ends", async () => {
  const { root } = await newWorkspace();
  const served = await serve(root);
  const { url, token } = served;
  const made = (
    await ask(url, "/api/tokens", { method: "POST", token, body: { kind: "person", name: "Bob", rank: "reader" } })
  ).json();
  const own = await listen(served);
  const revoked = await listen({ url, token: made.token });
  let isOver = false;
  void revoked.ended.then(() => {
    isOver = true;
  });
  await ask(url, `/api/tokens/${made.id}`, { method: "DELETE", token });
  await expect.poll(() => own.comments, { interval: 200 }).toEqual(["still here", "still here"]);
  await expect.poll(() => isOver).toBe(true);
});

test("a request for the headers alone, and readers who hang up, leave nothing behind", async () => {
  const { root } = await newWorkspace();
  const served = await serveProcess(root);
  const { url, token } = served;
  expect((await ask(url, "/api/events", { method: "HEAD", token })).status).toBe(200);
  const descriptors = () => readdirSync(`/proc/${served.child.pid}/fd`).length;
  const before = descriptors();
  for (let round = 0; round < 20; round++) {
    const streams = await Promise.all(Array.from({ length: 10 }, () => listen(served)));
    for (const stream of streams) stream.leave();
    await Promise.all(streams.map((stream) => stream.ended));
  }
  // One left by every round would be twenty; the thread that renders pages has started meanwhile and has a few.
  await expect.poll(descriptors).toBeLessThan(before + 15);
});

test("on postgres, transactions that commit out of order are all heard, each when it has committed", async () => {
  const { root, app } = await newWorkspace({ engine: "postgres" });
  const served = await serve(root);
  const { database } = app.config;
  if (database.engine !== "postgres") throw new Error("not postgres");
  const [slow, quick] = await Promise.all(
    [1, 2].map(async () => {
      const client = new pg.Client({ connectionString: database.url });
      await client.connect();
      onTestFinished(() => client.end());
      return client;
    }),
  );
  if (!slow || !quick) throw new Error("no clients");
  const insert = (client: pg.Client, subject: string) =>
    client.query("INSERT INTO events (at, actor, kind, subject, data) VALUES ('', 'raw', 'task-edited', $1, '{}')", [
      subject,
    ]);

  const stream = await listen(served);
  await slow.query("BEGIN");
  await insert(slow, "note:slow-1");
  await quick.query("BEGIN");
  await insert(quick, "note:quick-1");
  await insert(slow, "note:slow-2");
  await insert(quick, "note:quick-2");
  await quick.query("COMMIT");
  const quickOnes = ["note:quick-1", "note:quick-2"];
  await expect.poll(() => subjects(stream)).toEqual(quickOnes);
  const meanwhile = await listen(served);
  await insert(slow, "note:slow-3");
  await slow.query("COMMIT");

  const slowOnes = ["note:slow-1", "note:slow-2", "note:slow-3"];
  const all = [...quickOnes, ...slowOnes];
  await expect.poll(() => subjects(stream)).toEqual(all);
  await expect.poll(() => subjects(meanwhile)).toEqual(slowOnes);
  for (const [at, event] of stream.events.entries()) {
    const resumed = await listen(served, { last: event.id });
    await expect.poll(() => subjects(resumed)).toEqual(all.slice(at + 1));
    resumed.leave();
  }

  await slow.query("BEGIN");
  await insert(slow, "note:undone");
  await write(app, "kept");
  await slow.query("ROLLBACK");
  await expect.poll(() => subjects(stream).at(-1)).toBe("note:kept");
  expect(stream.events.length).toBe(6);
});

test("C5: on postgres, two hundred idle readers cause no more queries than a few", async () => {
  const { root, app } = await newWorkspace({ engine: "postgres" });
  const { database } = app.config;
  if (database.engine !== "postgres") throw new Error("not postgres");
  const { url, token } = await serve(root);
  const body = { kind: "person", name: "Bob", rank: "reader" };
  const bob = (await ask(url, "/api/tokens", { method: "POST", token, body })).json();
  const streams = await Promise.all(Array.from({ length: 200 }, () => listen({ url, token: bob.token })));
  await expect.poll(() => streams.every(({ comments }) => comments.length > 0)).toBe(true);
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  onTestFinished(() => client.end());
  const transactions = async () => {
    // A connection that is idle reports its transactions after ten seconds.
    await sleep(11_000);
    const counted = "SELECT xact_commit::int AS count FROM pg_stat_database WHERE datname = current_database()";
    return (await client.query<{ count: number }>(counted)).rows[0]?.count ?? 0;
  };
  const before = await transactions();
  await sleep(8000);
  // In 19 seconds. One query of each reader for each sign of life would be 600.
  expect((await transactions()) - before).toBeLessThan(300);
  // Every reader has had a sign of life meanwhile, and still gets what is new.
  expect(streams.every(({ comments }) => comments.length > 1)).toBe(true);
  await write(app, "news");
  await expect.poll(() => streams.every((stream) => subjects(stream).includes("note:news"))).toBe(true);
});
