/** Kills a run of real agent CLIs again and again. Without vitest, because prove/killed-clis.ts uses it too. */
import type { ChildProcess } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** Put into the environment of the commands and, by `agent.env`, of their agents, so that all are found in /proc. */
export const markName = "CREW_MARK";

type Found = { pid: number; isAgent: boolean };

/** The processes of one try: commands, and agents with everything that they started. */
export function processesMarked(mark: string): Found[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((name) => {
      const read = (file: string) => {
        try {
          return readFileSync(`/proc/${name}/${file}`, "latin1");
        } catch {
          return "";
        }
      };
      const variables = read("environ").split("\0");
      // A zombie has ended; only its parent has not asked yet.
      if (!variables.includes(`${markName}=${mark}`) || /\) [ZX] /.test(read("stat"))) return [];
      return [{ pid: Number(name), isAgent: variables.some((one) => one.startsWith("SCRIPTORIUM_RUN=")) }];
    });
}

type Kills = {
  mark: string;
  /** How often the command is killed, and how often an agent. */
  command: number;
  agent: number;
  random(): number;
  /** Starts or resumes the run. */
  start(): ChildProcess;
};

export type Killed = { command: number; agent: number; last: { code: number | null; stdout: string; stderr: string } };

/** Resolves with the end of the last command, which nobody killed, and with the number of kills. */
export async function killAtRandom({ mark, command, agent, random, start }: Kills): Promise<Killed> {
  const left = { command, agent };
  const killed = { command: 0, agent: 0 };
  for (;;) {
    const child = start();
    const end = endOf(child);
    let isOver = false;
    void end.then(() => {
      isOver = true;
    });
    while (!isOver && left.command + left.agent > 0) {
      await Promise.race([end, sleep(200 + random() * 2500)]);
      if (isOver) break;
      if (random() * (left.command + left.agent) < left.command) {
        left.command--;
        killed.command++;
        child.kill("SIGKILL");
        await end;
        continue;
      }
      const agents = processesMarked(mark).filter((one) => one.isAgent);
      const victim = agents[Math.floor(random() * agents.length)];
      if (!victim) continue;
      left.agent--;
      killed.agent++;
      kill(victim.pid);
    }
    const last = await end;
    if (last.signal !== "SIGKILL") return { ...killed, last };
  }
}

/** It may have ended by itself. */
function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {}
}

type End = { code: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string };

function endOf(child: ChildProcess): Promise<End> {
  let [stdout, stderr] = ["", ""];
  child.stdout?.on("data", (chunk) => {
    stdout += chunk;
  });
  child.stderr?.on("data", (chunk) => {
    stderr += chunk;
  });
  child.stdin?.end();
  return new Promise((done) => child.once("close", (code, signal) => done({ code, signal, stdout, stderr })));
}

/** Waits until no process of the try is left; resolves with those that stay. */
export async function leftOver(mark: string, ms = 10_000): Promise<number[]> {
  for (const until = Date.now() + ms; ; await sleep(100)) {
    const left = processesMarked(mark).map(({ pid }) => pid);
    if (left.length === 0 || Date.now() > until) return left;
  }
}
