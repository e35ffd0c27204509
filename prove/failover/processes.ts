import type { ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import type { Context } from "../support/proof.ts";

/** A process that a service manager keeps running, as `Restart=always` of systemd does. */
export type Process = {
  name: string;
  readonly child: ChildProcess | undefined;
  /** How often it ended without being told to. */
  ownEnds(): number;
  /** Kills it as a crash does; it is started again. */
  kill(): void;
  /** Ends it for good. */
  stop(): Promise<void>;
};

type Definition = {
  name: string;
  start(): ChildProcess;
  /** Called when a new process writes a line. */
  onLine?(line: string, child: ChildProcess): void;
  onEnd?(): void;
};

const restartMs = 500;

export function keepRunning({ name, start, onLine, onEnd }: Definition): Process {
  let child: ChildProcess | undefined;
  let ownEnds = 0;
  let isKilled = false;
  let stopping = false;
  let running: Promise<void> = Promise.resolve();
  const said: string[] = [];

  function launch() {
    const fresh = start();
    child = fresh;
    isKilled = false;
    if (fresh.stdout) createInterface({ input: fresh.stdout }).on("line", (line) => onLine?.(line, fresh));
    fresh.stderr?.on("data", (chunk) => {
      said.push(String(chunk));
      if (process.env.PROVE_DEBUG) process.stderr.write(`${name}: ${chunk}`);
    });
    running = new Promise((ended) => {
      fresh.once("close", async () => {
        onEnd?.();
        ended();
        if (stopping) return;
        if (!isKilled) ownEnds++;
        await sleep(restartMs);
        try {
          if (!stopping) launch();
        } catch {
          // The proof's time is over: nothing is started any more.
        }
      });
    });
  }
  launch();
  return {
    name,
    get child() {
      return child;
    },
    ownEnds: () => ownEnds,
    kill() {
      isKilled = true;
      child?.kill("SIGKILL");
    },
    async stop() {
      stopping = true;
      child?.kill("SIGCONT");
      child?.kill("SIGTERM");
      const timer = setTimeout(() => child?.kill("SIGKILL"), 5000);
      await running;
      clearTimeout(timer);
    },
  };
}

/** What an operation answered; `unknown` when no answer came, or one that promises nothing. */
export type Answer = { outcome: "ok" | "refused" | "unknown"; value: Record<string, unknown>; why?: string };

/** Sends an operation and waits for its answer. */
export type Caller = (operation: string, input: Record<string, unknown>) => Promise<Answer>;

const answerMs = 12_000;
export const noAnswer = (why: string): Answer => ({ outcome: "unknown", value: {}, why });

export const withTimeout = (answer: Promise<Answer>): Promise<Answer> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Answer>((done) => {
    timer = setTimeout(() => done(noAnswer("no answer in time")), answerMs);
  });
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
};

/** A refusal promises that nothing was changed, unless it says that this is unknown. */
export function refusedOrUnknown(value: Record<string, unknown>): Answer {
  const why = `${value.status}: ${String(value.error ?? value.message ?? "").slice(0, 120)}`;
  const promises = typeof value.status === "string" && value.status !== "failed" && value.outcome !== "unknown";
  return { outcome: promises ? "refused" : "unknown", value, why };
}

type Message = {
  id?: number;
  result?: { isError?: boolean; content?: { text: string }[] };
  error?: { message: string };
};

/** `scriptorium mcp` over stdio, kept running. */
export function mcpProcess(
  context: Pick<Context, "start" | "atEnd">,
  {
    name,
    root,
    role,
    env,
    within,
  }: { name: string; root: string; role: string; env: Record<string, string>; within: string[] },
): Process & { call: Caller; isReady(): boolean } {
  const waiting = new Map<number, (answer: Answer) => void>();
  let last = 0;
  let ready = false;
  const send = (child: ChildProcess | undefined, message: object) =>
    child?.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const hello = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "prove", version: "1" } };

  const kept = keepRunning({
    name,
    start() {
      const child = context.start("scriptorium", ["mcp", "--role", role], { cwd: root, env, within });
      send(child, { id: 0, method: "initialize", params: hello });
      return child;
    },
    onLine(line, child) {
      const message = parsed(line);
      if (message?.id === 0) {
        send(child, { method: "notifications/initialized" });
        ready = true;
      }
      const done = waiting.get(message?.id ?? 0);
      if (!message || !done) return;
      waiting.delete(message.id ?? 0);
      done(answerOf(message));
    },
    onEnd() {
      ready = false;
      for (const answer of waiting.values()) answer(noAnswer("the process ended"));
      waiting.clear();
    },
  });
  return Object.assign(kept, {
    isReady: () => ready,
    call: (operation: string, input: Record<string, unknown>) => {
      if (!ready) return sleep(50).then((): Answer => ({ outcome: "refused", value: {}, why: "not started" }));
      const id = ++last;
      const answer = new Promise<Answer>((done) => waiting.set(id, done));
      send(kept.child, { id, method: "tools/call", params: { name: operation, arguments: input } });
      return withTimeout(answer);
    },
  });
}

function answerOf({ result, error }: Message): Answer {
  const value = (parsed(result?.content?.[0]?.text ?? "") ?? {}) as Record<string, unknown>;
  if (result && !result.isError) return { outcome: "ok", value };
  return error ? noAnswer(error.message) : refusedOrUnknown(value);
}

/** A killed process may leave half a line. */
function parsed(line: string): (Message & Record<string, unknown>) | undefined {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
