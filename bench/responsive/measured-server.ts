import type { ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { timed } from "../support/measure.ts";
import { command, type Place } from "../support/place.ts";
import { atMost, type Row } from "../support/table.ts";
import type { Workspace } from "../support/workspace.ts";

/** No request may delay another one by more than this. */
const mostMs = 100;
/** What a write causes begins after it was answered: history, index, anchors. */
const aftermathMs = 1_500;
const settleMs = 200;

export type Answer = { status: number; body: Record<string, unknown> };

export type MeasuredServer = {
  call(method: string, path: string, body?: object): Promise<Answer>;
  /** Runs `work` and what it causes, and says for how long the server's event loop was blocked meanwhile. */
  measure(what: string, work: () => Promise<unknown>, options?: { isBaseline?: boolean }): Promise<Row>;
  stop(): Promise<void>;
};

/** Serves the workspace with the command as it ships, and pings it from a process of its own. */
export async function serveMeasured(place: Place, { root }: Workspace): Promise<MeasuredServer> {
  const child = place.start(process.execPath, [command("scriptorium"), "serve", "--port", "0", "--json"], {
    cwd: root,
    env: { SCRIPTORIUM_LOG: "error" },
  });
  child.stderr?.pipe(process.stderr);
  const { url, token } = JSON.parse(await firstLine(child)) as { url: string; token: string };
  const pinger = place.start(process.execPath, ["-e", pingScript, `${url}/healthz`]);
  let pings: number[] = [];
  if (pinger.stdout) createInterface({ input: pinger.stdout }).on("line", (line) => pings.push(Number(line)));

  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const send = (method: string, path: string, body?: object) =>
    fetch(url + path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) });
  const blockedMs = async () => {
    const text = await (await send("GET", "/metrics")).text();
    const found = /scriptorium_event_loop_delay_seconds\{state="worst"\} (\S+)/.exec(text)?.[1];
    if (found === undefined) throw new Error("the server has no metric of its event loop");
    return Number(found) * 1000;
  };

  return {
    async call(method, path, body) {
      const answer = await send(method, path, body);
      return { status: answer.status, body: (await answer.json()) as Answer["body"] };
    },
    async measure(what, work, { isBaseline = false } = {}) {
      // The first scrape loads code and so blocks the loop itself.
      await blockedMs();
      await blockedMs();
      // After a reset the histogram ignores the time until its next tick.
      await pause(settleMs);
      pings = [];
      const took = await timed(work);
      await pause(aftermathMs);
      const blocked = await blockedMs();
      const slowest = Math.max(...pings);
      const figures = { "took ms": took, "loop blocked ms": blocked, "slowest ping ms": slowest };
      return isBaseline
        ? { what, figures }
        : { what, figures, target: atMost(mostMs, Math.max(blocked, slowest), "ms") };
    },
    async stop() {
      pinger.kill("SIGKILL");
      const closed = new Promise((done) => child.once("close", done));
      child.kill("SIGTERM");
      await closed;
    },
  };
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((done, fail) => {
    child.stdout?.once("data", (chunk) => done(String(chunk)));
    child.once("close", (code) => fail(new Error(`serve ended with ${code}`)));
  });
}

/** Prints the milliseconds of each answer. Nothing else runs in this process, so it does not wait for itself. */
const pingScript = `
  const { Agent, get } = require("node:http");
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const again = () => setTimeout(ping, 5);
  function ping() {
    const began = performance.now();
    get(process.argv[1], { agent }, (answer) => {
      answer.resume().once("end", () => {
        console.log(performance.now() - began);
        again();
      });
    }).once("error", again);
  }
  ping();
`;
