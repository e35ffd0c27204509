import { readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { percentile } from "../support/measure.ts";
import { command, type Place, succeed } from "../support/place.ts";
import type { Row, Table } from "../support/table.ts";

const crowds = [10, 100, 1000];

/** From the acknowledgement of a write to the event at each of the clients of one server. */
export async function eventsToClients(place: Place, writes = 20): Promise<Table> {
  const rows: Row[] = [];
  const root = place.folder("events");
  const url = await place.postgres();
  const start = (...args: string[]) => place.start(process.execPath, [command("scriptorium"), ...args], { cwd: root });
  await succeed(start("init", root, "--template", "crew"));
  const env = { SCRIPTORIUM_DATABASE_URL: url };
  const server = place.start(process.execPath, [command("scriptorium"), "serve", "--port", "0", "--json"], {
    cwd: root,
    env,
  });
  const address = await new Promise<string>((done) => {
    let said = "";
    server.stdout?.on("data", (chunk) => {
      said += chunk;
      if (said.includes("\n")) done(JSON.parse(said).url);
    });
  });
  const authorization = `Bearer ${readFileSync(join(root, ".scriptorium/token"), "utf8").trim()}`;
  for (const crowd of crowds) {
    const arrivals: number[] = [];
    let heard = 0;
    const open = await Promise.all(
      Array.from({ length: crowd }, () =>
        listen(`${address}/api/events`, authorization, () => {
          heard++;
          arrivals.push(performance.now());
        }),
      ),
    );
    const waits: number[] = [];
    for (let n = 0; n < writes; n++) {
      heard = 0;
      arrivals.length = 0;
      const body = JSON.stringify({ line: `Write ${n}` });
      const response = await fetch(`${address}/api/entries/decisions/log`, {
        method: "POST",
        headers: { authorization, "content-type": "application/json" },
        body,
      });
      if (!response.ok) throw new Error(await response.text());
      const acknowledged = performance.now();
      for (let end = Date.now() + 20_000; heard < crowd && Date.now() < end; ) await sleep(2);
      if (heard < crowd) throw new Error(`${heard} of ${crowd} clients got the event`);
      waits.push(...arrivals.map((at) => Math.max(0, at - acknowledged)));
    }
    for (const close of open) close();
    await sleep(200);
    rows.push({
      what: `${crowd} clients`,
      figures: { "P50 ms": percentile(waits, 0.5), "P99 ms": percentile(waits, 0.99), "last ms": Math.max(...waits) },
    });
  }
  server.kill("SIGTERM");
  return { question: "Events to live clients of one server: from the acknowledged write to the client", rows };
}

/** Calls back for each event of an appended line. Resolves when the stream is open. */
function listen(url: string, authorization: string, onAppend: () => void): Promise<() => void> {
  return new Promise((done, fail) => {
    const asked = request(url, { headers: { authorization }, agent: false }, (response) => {
      response.setEncoding("utf8");
      let rest = "";
      response.on("data", (chunk: string) => {
        const lines = (rest + chunk).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) if (line.startsWith("data:") && line.includes("entry-appended")) onAppend();
        done(() => asked.destroy());
      });
      response.on("error", () => undefined);
    });
    asked.on("error", fail);
    asked.end();
  });
}
