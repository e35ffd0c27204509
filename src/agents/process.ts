import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { createWriteStream, mkdirSync, type WriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { Readable, Writable } from "node:stream";
import { finished } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { privateFile, privateFolder } from "../store/disk/private.ts";
import { endWithParent } from "./end-with-parent.ts";
import type { EndReason, Limits } from "./runner.ts";
import type { SandboxedCommand } from "./sandbox/access.ts";
import { watchSandbox } from "./sandbox/watch.ts";
import { endSurvivors, kill, processesInSandbox, runMarker } from "./survivors.ts";
import { boundedTail, lineSplitter } from "./tail.ts";

/** How long to wait after SIGINT and after SIGTERM. */
export type StopTimeouts = { interruptMs: number; terminateMs: number };

const defaultStopTimeouts: StopTimeouts = { interruptMs: 2000, terminateMs: 3000 };

/** `env` is the whole environment; only the run's marker is added. */
export type ProcessSpec = SandboxedCommand & {
  run: string;
  cwd: string;
  /** Written to stdin, which is then closed; undefined leaves stdin to `talk`. */
  input: string | undefined;
  /** Signals then go to the processes inside: bubblewrap would die of them and kill all processes at once. */
  isSandboxed?: boolean;
  limits: Pick<Limits, "wallMs" | "idleMs" | "afterResultMs">;
  logFile?: string;
  onOutput?(chunk: Buffer): void;
  /** Called with each line of stdout. */
  onLine?(line: string, control: Control): void;
  /** For a protocol over stdin and stdout. Its end is the result of the agent. */
  talk?(child: ChildProcessWithoutNullStreams, control: Control): Promise<void>;
  stopTimeouts?: StopTimeouts;
};

export type Control = {
  /** The agent has reported its result: its work is over, and `afterResultMs` is the only limit from here on. */
  sawResult(): void;
  stop(why: EndReason, error?: string): void;
};

export type ProcessResult = {
  exitCode: number | null;
  ended: EndReason;
  errorTail: string;
  error?: string;
  durationMs: number;
};

const tailBytes = 4096;
const maxLineBytes = 8 * 1024 * 1024;
const maxLogBytes = 64 * 1024 * 1024;
/** How long a program may take to exit once its protocol over stdin has ended. */
const exitAfterTalkMs = 5000;

/**
 * Runs a program as the leader of its own process group and leaves no process of it behind.
 *
 *   exit ─────────────────────────────────────────────────────────────▶ sweep ▶ done
 *   limit, stop ─▶ SIGINT ─(2 s)─▶ SIGTERM ─(3 s)─▶ SIGKILL to the group ──▶ sweep ▶ done
 *   sandbox limit ────────────────────────────────▶ SIGKILL to the group ──▶ sweep ▶ done
 *
 * SIGINT comes first because agents then still report their usage. The sweep ends processes that left the group,
 * found by the run's marker in their environment. A stop takes 5 s at most (R8).
 */
export async function runProcess(spec: ProcessSpec, signal: AbortSignal): Promise<ProcessResult> {
  const startedAt = performance.now();
  const tail = boundedTail(tailBytes);
  const { interruptMs, terminateMs } = spec.stopTimeouts ?? defaultStopTimeouts;
  const result = (rest: Pick<ProcessResult, "exitCode" | "ended" | "error">): ProcessResult => ({
    ...rest,
    errorTail: tail.text(),
    durationMs: Math.round(performance.now() - startedAt),
  });
  if (signal.aborted) return result({ exitCode: null, ended: "stopped" });

  const log = spec.logFile ? openLog(spec.logFile) : undefined;
  const child = await start(spec);
  if (child instanceof Error) {
    await log?.close();
    return result({ exitCode: null, ended: "spawn-error", error: child.message });
  }

  const guard = spec.isSandboxed ? undefined : endWithParent(child.pid ?? 0, spec.run, spec.env.PATH);
  let ended: EndReason = "exit";
  let error: string | undefined;
  let escalation: Promise<void> | undefined;
  let killAt: number | undefined;
  const exited = new Promise<number | null>((done) => child.once("exit", (code) => done(code)));
  const stop = (why: EndReason, reason?: string, timeouts: StopTimeouts = { interruptMs, terminateMs }) => {
    if (escalation) return;
    ended = why;
    error = reason;
    killAt = performance.now() + timeouts.interruptMs + timeouts.terminateMs;
    escalation = endGroup(child, exited, timeouts, spec.isSandboxed ? spec.run : undefined);
  };
  const timers = clocks(spec.limits, stop);
  const info = child.stdio[3 + (spec.inputs?.length ?? 0)] as Readable;
  const watch = spec.watched && watchSandbox(info, spec.watched, (reason) => stop("limit", reason, atOnce));
  const control: Control = { sawResult: () => timers.sawResult(spec.limits.afterResultMs), stop };
  const onAbort = () => stop("stopped");
  signal.addEventListener("abort", onAbort, { once: true });

  const lines = lineSplitter(maxLineBytes, (line) => spec.onLine?.(line, control));
  const listen = (stream: Readable, take: (chunk: Buffer) => void) =>
    stream.on("data", (chunk: Buffer) => {
      timers.active();
      take(chunk);
      if (log?.write(chunk, () => stream.resume()) === false) stream.pause();
    });
  listen(child.stdout, (chunk) => {
    spec.onOutput?.(chunk);
    lines(chunk);
  });
  listen(child.stderr, tail.push);
  if (spec.input === undefined) child.stdin.on("error", () => undefined);
  else endWith(child.stdin, spec.input);
  const talking = spec.talk?.(child, control).then(
    () => {
      // Most agents exit when their stdin is closed.
      child.stdin.end();
      timers.sawResult(exitAfterTalkMs);
    },
    (reason: Error) => stop("exit", reason.message),
  );

  const exitCode = await exited;
  timers.clear();
  watch?.close();
  signal.removeEventListener("abort", onAbort);
  await escalation;
  kill(-(child.pid ?? 0), "SIGTERM");
  await endSurvivors(spec.run, killAt === undefined ? terminateMs : Math.max(0, killAt - performance.now()));
  kill(-(child.pid ?? 0), "SIGKILL");
  guard?.over();
  await Promise.race([closed(child), sleep(1000, undefined, { ref: false })]);
  child.stdout.destroy();
  child.stderr.destroy();
  await Promise.race([talking, sleep(100)]);
  await log?.close();
  for (const folder of spec.temporary ?? []) await rm(folder, { recursive: true, force: true });
  const unstarted = spec.isSandboxed && ended === "exit" ? notStarted(exitCode, tail.text()) : undefined;
  if (unstarted) return result({ exitCode: null, ended: "spawn-error", error: unstarted });
  // The sandbox exits with 128 and the number of the signal that ended the program.
  const isOurSignal = escalation !== undefined && (exitCode ?? 0) > 128;
  return result({ exitCode: isOurSignal ? null : exitCode, ended, ...(error ? { error } : {}) });
}

/** spawn() throws some errors and emits others; both come before the program runs. */
function start(spec: ProcessSpec): Promise<ChildProcessWithoutNullStreams | Error> {
  return new Promise((done) => {
    try {
      const env = { ...spec.env, [runMarker]: spec.run };
      const inputs = spec.inputs ?? [];
      const more = [...inputs, ...(spec.watched ? [spec.watched] : [])].map(() => "pipe" as const);
      const stdio = ["pipe" as const, "pipe" as const, "pipe" as const, ...more];
      const child = spawn(spec.command, spec.args, { cwd: spec.cwd, env, detached: true, stdio });
      for (const [i, content] of inputs.entries()) endWith(child.stdio[3 + i] as Writable, content);
      child.once("spawn", () => done(child as ChildProcessWithoutNullStreams));
      child.once("error", (error) => done(error));
    } catch (error) {
      done(error as Error);
    }
  });
}

/** The message of bubblewrap, of the shell inside that sets limits, or of the relay, if it could not start the program. */
const notStarted = (exitCode: number | null, stderr: string) =>
  exitCode === 0 ? undefined : /^(?:bwrap: |network-relay: |sh: (?:\d+: )?exec: )(.+)/.exec(stderr)?.[1];

/** Ignores EPIPE from a program that ends without reading its input. */
const endWith = (stream: Writable, content: string | Buffer) => stream.on("error", () => undefined).end(content);

const atOnce: StopTimeouts = { interruptMs: 0, terminateMs: 0 };

async function endGroup(
  child: ChildProcessWithoutNullStreams,
  exited: Promise<unknown>,
  { interruptMs, terminateMs }: StopTimeouts,
  sandboxedRun: string | undefined,
): Promise<void> {
  const group = -(child.pid ?? 0);
  for (const [signal, waitMs] of [
    ["SIGINT", interruptMs],
    ["SIGTERM", terminateMs],
  ] as const) {
    if (waitMs === 0) continue;
    if (sandboxedRun === undefined) kill(group, signal);
    else for (const pid of await processesInSandbox(sandboxedRun)) kill(pid, signal);
    if (await within(exited, waitMs)) return;
  }
  kill(group, "SIGKILL");
  await within(exited, 5000);
}

async function within(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const over = new AbortController();
  const late = sleep(ms, false, { signal: over.signal }).catch(() => false);
  const done = await Promise.race([promise.then(() => true), late]);
  over.abort();
  return done;
}

const closed = (child: ChildProcessWithoutNullStreams) =>
  child.stdout.closed && child.stderr.closed
    ? Promise.resolve()
    : new Promise<void>((done) => child.once("close", () => done()));

function clocks(limits: ProcessSpec["limits"], stop: (why: EndReason, error: string) => void) {
  const { wallMs, idleMs } = limits;
  const wall = setTimeout(() => stop("timeout", `took longer than ${spell(wallMs)}`), wallMs);
  const idle = idleMs ? setTimeout(() => stop("idle", `said nothing for ${spell(idleMs)}`), idleMs) : undefined;
  let after: NodeJS.Timeout | undefined;
  let isWorking = true;
  return {
    active: () => void (isWorking && idle?.refresh()),
    sawResult(exitMs: number | undefined) {
      if (!exitMs) return;
      // Slow exits are neither silence nor slow work.
      for (const timer of [wall, idle]) clearTimeout(timer);
      isWorking = false;
      after ??= setTimeout(() => stop("after-result", `did not exit within ${spell(exitMs)} after its result`), exitMs);
    },
    clear() {
      for (const timer of [wall, idle, after]) clearTimeout(timer);
    },
  };
}

export const spell = (ms: number) =>
  ms >= 60_000 && ms % 60_000 === 0 ? `${ms / 60_000} min` : ms >= 1000 ? `${Math.round(ms / 100) / 10} s` : `${ms} ms`;

/** A log file with backpressure, cut off at `maxLogBytes`. */
function openLog(file: string) {
  mkdirSync(dirname(file), privateFolder);
  const stream: WriteStream = createWriteStream(file, { flags: "a", ...privateFile });
  const waiting: (() => void)[] = [];
  const resumeAll = () => {
    for (const resume of waiting.splice(0)) resume();
  };
  let failed = false;
  stream.on("drain", resumeAll).on("error", () => {
    failed = true;
    resumeAll();
  });
  let left = maxLogBytes;
  return {
    /** False when the disk is slower than the program; `resume` is called once it has caught up. */
    write(chunk: Buffer, resume: () => void): boolean {
      if (left <= 0 || failed) return true;
      left -= chunk.length;
      const last = `\n[the log ends here: more than ${maxLogBytes / 1024 / 1024} MiB]\n`;
      const hasRoom = stream.write(left > 0 ? chunk : last);
      if (!hasRoom) waiting.push(resume);
      return hasRoom;
    },
    async close() {
      stream.end();
      if (!failed) await finished(stream).catch(() => undefined);
    },
  };
}

/** How a program is started, without limits and log. */
export type Invocation = SandboxedCommand & Pick<ProcessSpec, "input" | "talk" | "isSandboxed">;
