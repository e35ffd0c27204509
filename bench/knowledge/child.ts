import type { ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import type { App } from "../../src/app.ts";
import { environment } from "../../src/config/environment.ts";
import { unwrap } from "../../src/kernel/result.ts";
import type { KnowledgeStore } from "../../src/wiki/knowledge.ts";
import { timed } from "../support/measure.ts";
import type { Place } from "../support/place.ts";
import { agent, openWorkspace } from "../support/workspace.ts";

/** One of several processes on one workspace: `node knowledge.js child <job> <options as JSON>`. */
export async function work([job = "", options = "{}"]: string[]): Promise<void> {
  const { root, ...given } = JSON.parse(options);
  const env = environment() as Record<string, string>;
  if (job === "open") {
    let app: App | undefined;
    const ms = await timed(async () => {
      app = await openWorkspace(root, env);
      unwrap(await app.schema());
    });
    answer({ ms });
    await app?.close();
    return;
  }
  const app = await openWorkspace(root, env);
  const knowledge = app.knowledge(agent());
  unwrap(await app.schema());
  answer("ready");
  await new Promise<void>((go) => createInterface({ input: process.stdin }).once("line", () => go()));
  answer(job === "append" ? await appendLines(knowledge, given) : await commitEntries(knowledge, given));
  process.stdin.destroy();
  await app.close();
}

/** A write that was acknowledged, and when (in ms since 1970, so that processes can be compared). */
export type Acknowledged = { mark: string; entry: string; version: number; at: number };
export type Worked = { acknowledged: Acknowledged[]; conflicts: number; merged: number };
type Given = { name: string; ids: string[]; count: number };

const now = () => performance.timeOrigin + performance.now();

async function appendLines(knowledge: KnowledgeStore, { name, ids, count }: Given): Promise<Worked> {
  const acknowledged: Acknowledged[] = [];
  const entry = ids[0] as string;
  for (let i = 0; i < count; i++) {
    const mark = `${name}-${i}.`;
    const { version } = unwrap(await knowledge.appendLog(entry, mark));
    acknowledged.push({ mark, entry, version, at: now() });
  }
  return { acknowledged, conflicts: 0, merged: 0 };
}

/** Every process visits the entries in the same order, so that they meet; a refused commit is brought up to date. */
async function commitEntries(knowledge: KnowledgeStore, { name, ids, count }: Given): Promise<Worked> {
  const worked: Worked = { acknowledged: [], conflicts: 0, merged: 0 };
  for (let i = 0; i < count; i++) {
    const entry = ids[i % ids.length] as string;
    const mark = `${name}-${i}.`;
    const read = unwrap(await knowledge.fetchEntry(entry));
    // An agent thinks between reading and writing.
    await sleep(2);
    let { version } = read;
    let content = addMark(read.content, name, mark, i);
    for (;;) {
      const done = await knowledge.commitEntry(entry, content, version);
      if (done.ok) {
        worked.acknowledged.push({ mark, entry, version: done.value.version, at: now() });
        break;
      }
      if (done.problem.code !== "conflict") unwrap(done);
      worked.conflicts++;
      const details = done.problem.details as { latestContent: string; latestVersion: number; merged?: string };
      if (details.merged !== undefined) worked.merged++;
      version = details.latestVersion;
      content = details.merged ?? addMark(details.latestContent, name, mark, i);
    }
  }
  return worked;
}

/** Even entries under a heading of one's own, which merges; odd ones under a heading that all share. */
function addMark(content: string, name: string, mark: string, i: number): string {
  const heading = i % 2 === 0 ? `## ${name}\n` : "## all\n";
  return content.replace(heading, `${heading}${mark}\n`);
}

const answer = (value: unknown) => process.stdout.write(`${JSON.stringify(value)}\n`);

export type Child = { ready: Promise<void>; go(): void; result<T>(): Promise<T> };

/** From the parent's side: starts a child and reads its answers line by line. */
export function startChild(place: Place, job: "open" | "append" | "commit", options: object): Child {
  const script = process.argv[1] as string;
  const child: ChildProcess = place.start(process.execPath, [script, "child", job, JSON.stringify(options)]);
  const lines: string[] = [];
  let said = "";
  child.stderr?.on("data", (chunk) => {
    said += chunk;
  });
  let isReady: () => void = () => undefined;
  const ready = new Promise<void>((done) => {
    isReady = done;
  });
  createInterface({ input: child.stdout as NodeJS.ReadableStream }).on("line", (line) => {
    if (line === '"ready"') isReady();
    else lines.push(line);
  });
  const ended = new Promise<void>((done, fail) => {
    child.on("error", fail);
    child.on("close", (code) => (code === 0 ? done() : fail(new Error(`a child failed (${code}): ${said}`))));
  });
  // Whoever waits for `ready` or `result` hears of it; a failure before that must not end the bench.
  ended.catch(() => undefined);
  return {
    ready: Promise.race([ready, ended]),
    go: () => child.stdin?.write("go\n"),
    async result<T>() {
      await ended;
      return JSON.parse(lines[0] ?? "null") as T;
    },
  };
}
