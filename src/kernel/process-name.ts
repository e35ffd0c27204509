import { createHash, randomBytes } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/**
 * Identifies this process across machines, for as long as data is kept: `host:pid:start:machine.boot.namespace.random`.
 * The start time tells it from a later process with the same pid, the random part from every other process. Two
 * containers can share host name, pid and machine, so a name is never judged by those alone.
 */
export const processName = (): string => {
  const { machine, boot, namespace } = here();
  return `${hostname()}:${process.pid}:${startTime(process.pid) ?? 0}:${machine}.${boot}.${namespace}.${thisStart}`;
};

const thisStart = randomBytes(4).toString("hex");

/** The part of the name that is safe in a file name. */
export const processMark = (): string =>
  processName()
    .slice(hostname().length + 1)
    .replaceAll(":", "-");

/** The state of the process of a mark; see `processState`. */
export const stateOfMark = (mark: string): "running" | "gone" | "unknown" =>
  processState(`${hostname()}:${mark.replaceAll("-", ":")}`);

/**
 * The state of the process that a name, or a name followed by `/…`, identifies. Only the kernel under which it ran
 * knows, and only in its pid namespace; elsewhere it is unknown. A machine that was restarted knows as well.
 */
export function processState(name: string): "running" | "gone" | "unknown" {
  const found = /^(.+):(\d+):(\d+)(?::(\w+)\.(\w+)\.(\w+)\.(\w+))?(?:\/|$)/.exec(name);
  const [, host, digits = "", started = "", machine, boot, namespace, random] = found ?? [];
  if (host === undefined) return "unknown";
  if (random === thisStart) return "running";
  const me = here();
  // Names of 0.1, and machines that tell no more about themselves.
  if (boot === undefined || boot === none || me.boot === none)
    return host === hostname() ? stateOfPid(Number(digits), started) : "unknown";
  if (boot === me.boot) return namespace === me.namespace ? stateOfPid(Number(digits), started) : "unknown";
  const isThisMachine = machine !== none && machine === me.machine && host === hostname();
  return isThisMachine && namespace === outermost && me.namespace === outermost ? "gone" : "unknown";
}

function stateOfPid(pid: number, started: string): "running" | "gone" {
  if (!exists(pid)) return "gone";
  const now = startTime(pid);
  // Where the kernel tells no start times, an existing pid has to do.
  return now === undefined || String(now) === started ? "running" : "gone";
}

/** What the machine and the kernel say about themselves; it does not change while this process lives. */
type Place = { machine: string; boot: string; namespace: string };

const none = "0";
/** The number that Linux gives to the pid namespace of the host itself. */
const outermost = short("pid:[4026531836]");
let known: Place | undefined;

function here(): Place {
  known ??= {
    machine: fact(() => readFileSync("/etc/machine-id", "utf8").trim()),
    boot: fact(() => bootId() ?? ""),
    namespace: fact(() => readlinkSync("/proc/self/ns/pid")),
  };
  return known;
}

/** The id of this start of the machine's kernel; undefined where there is none. */
export function bootId(): string | undefined {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return undefined;
  }
}

/** The id of this machine's installation; undefined where there is none, as in most containers. */
export const machineId = (): string | undefined => {
  const { machine } = here();
  return machine === none ? undefined : machine;
};

function fact(ask: () => string): string {
  try {
    const text = ask();
    return text === "" ? none : short(text);
  } catch {
    return none;
  }
}

function short(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 8);
}

/** Clock ticks since boot; undefined without /proc, NaN for a zombie, which equals no recorded start time. */
function startTime(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? Number.NaN : Number(fields[19]);
  } catch {
    return undefined;
  }
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
