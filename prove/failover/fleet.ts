import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { succeed } from "../support/commands.ts";
import type { Context } from "../support/proof.ts";
import { appends, claims, commits, type Log, type Tasks } from "./clients.ts";
import { type Caller, mcpProcess, type Process } from "./processes.ts";
import { serverProcess } from "./servers.ts";

export const leaseMs = 4000;

export type Member = Process & {
  call: Caller;
  kind: "server" | "worker";
  root: string;
  setClock(seconds: number): void;
};
export type Fleet = { members: Member[]; stop(): Promise<void> };

const faketime = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";

export type Host = {
  name: string;
  kind: "server" | "worker";
  root: string;
  within: string[];
  env: Record<string, string>;
};

/** Starts one process on each host, and resolves when each answers. */
export async function startFleet(context: Context, hosts: Host[]): Promise<Fleet> {
  const members = hosts.map(({ name, kind, root, within, env }): Member => {
    const clock = join(root, `../${name}.clock`);
    writeFileSync(clock, "+0\n");
    const clocked = {
      LD_PRELOAD: faketime,
      FAKETIME_TIMESTAMP_FILE: clock,
      FAKETIME_NO_CACHE: "1",
      DONT_FAKE_MONOTONIC: "1",
    };
    const given = { name, root, within, env: { ...env, ...clocked } };
    const kept =
      kind === "server" ? serverProcess(context, given) : mcpProcess(context, { ...given, role: "engineer" });
    return Object.assign(kept, {
      kind,
      root,
      setClock: (seconds: number) => writeFileSync(clock, `${seconds >= 0 ? "+" : ""}${seconds}\n`),
    });
  });
  const stop = async () => void (await Promise.all(members.map((member) => member.stop())));
  for (const member of members) {
    const end = Date.now() + 60_000;
    while ((await member.call("fetch_entry", { id: "decisions" })).outcome !== "ok") {
      if (Date.now() > end || Date.now() > context.until) {
        await stop();
        throw new Error(`${member.name} did not start`);
      }
      await sleep(100);
    }
  }
  return { members, stop };
}

/** Clients on every host. Resolves when all have ended, which they do when the log is closed. */
export function startClients(log: Log, { members }: Fleet): { names: Map<string, Member>; ended: Promise<unknown> } {
  const tasks: Tasks = { open: [] };
  const names = new Map<string, Member>();
  const running = members.flatMap((member) => {
    const named = (what: string) => {
      const name = `${member.name}-${what}`;
      names.set(name, member);
      return name;
    };
    return member.kind === "server"
      ? [
          commits(log, named("commit"), "vision", member.call),
          commits(log, named("commit2"), "requirements", member.call),
          appends(log, named("log"), "decisions", member.call),
        ]
      : [
          appends(log, named("log"), "lessons", member.call),
          claims(log, named("claims"), tasks, member.call, leaseMs),
          claims(log, named("claims2"), tasks, member.call, leaseMs),
        ];
  });
  return { names, ended: Promise.all(running) };
}

/** A workspace whose entries are rows of this database, moved there as people do. */
export async function moveToDatabase(
  context: Context,
  { base, root, url, within }: { base: string; root: string; url: string; within: string[] },
): Promise<void> {
  cpSync(base, root, { recursive: true });
  const SCRIPTORIUM_TOKEN = readFileSync(join(root, ".scriptorium/token"), "utf8").trim();
  await succeed(context, "scriptorium", ["store", "move", "database", "--to", url], {
    cwd: root,
    env: { SCRIPTORIUM_TOKEN },
    within,
  });
}
