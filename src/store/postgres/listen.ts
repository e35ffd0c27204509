import { setTimeout as sleep } from "node:timers/promises";
import type { PostgresAddress } from "./address.ts";
import { HostClient, hostList } from "./client.ts";
import type { Connections } from "./connections.ts";
import type { Limits } from "./limits.ts";

export const channel = "scriptorium";
const betweenNotices = 20;
const pollMs = 500;
/** How often the connection that listens is asked whether it is still one. */
const beatMs = 10_000;

/**
 * Notifies the other processes after a commit. Commits during a notification and shortly after share the
 * next one, because each NOTIFY is a transaction of its own. If the process dies before it, the others see
 * the change with the next notification or when their timer polls.
 */
export function teller({ query }: Connections, me: string) {
  let telling: Promise<void> | undefined;
  let more = false;
  async function tell() {
    do {
      more = false;
      await query("SELECT pg_notify($1, $2)", [channel, me]).catch(() => undefined);
      await sleep(betweenNotices);
    } while (more);
    telling = undefined;
  }
  return {
    others() {
      more = true;
      telling ??= tell();
    },
    idle: async () => telling,
  };
}

/**
 * One connection LISTENs from the first subscriber on, directly to the server: a pooler in transaction mode would give
 * its notifications to nobody. While there is none, a timer wakes the subscribers. Writes of this process wake them at once.
 */
export function watchChanges(address: PostgresAddress, limits: Limits, me: string) {
  const wanted = { address, hosts: hostList(address), limits };
  const listeners = new Set<() => void>();
  let client: HostClient | undefined;
  let again: NodeJS.Timeout | undefined;
  let beat: NodeJS.Timeout | undefined;
  let stopped = false;
  let isPolling = false;

  const wake = () => {
    for (const listener of listeners) listener();
  };
  async function listen() {
    const fresh = new HostClient(wanted);
    client = fresh;
    fresh.on("notification", ({ payload }) => {
      if (payload !== me) wake();
    });
    fresh.on("end", () => retryLater(fresh));
    try {
      await fresh.connect();
      isPolling = !fresh.isDirect;
      if (isPolling) fresh.destroy(new Error("a pooler does not pass notifications on"));
      else await fresh.query(`LISTEN ${channel}`);
      wake();
      clearTimeout(beat);
      beat = setTimeout(() => void check(fresh), beatMs).unref();
    } catch {
      retryLater(fresh);
    }
  }
  /** A connection whose packets are dropped would be silent for ever. */
  async function check(listening: HostClient) {
    if (stopped || client !== listening) return;
    const timer = setTimeout(() => listening.destroy(new Error("timeout expired")), limits.connectMs).unref();
    const isAlive = await listening.query("SELECT 1").then(
      () => true,
      () => false,
    );
    clearTimeout(timer);
    if (isAlive) beat = setTimeout(() => void check(listening), beatMs).unref();
    else retryLater(listening);
  }
  function retryLater(lost: HostClient) {
    if (stopped || again || client !== lost) return;
    lost.destroy(new Error("connection ended"));
    client = undefined;
    poll();
  }
  function poll() {
    again = setTimeout(() => {
      again = undefined;
      wake();
      // Behind a pooler the answer stays the same.
      if (isPolling) poll();
      else void listen();
    }, pollMs).unref();
  }
  return {
    wake,
    /** True if other processes are heard of only by polling, because a pooler is in between. */
    isPolling: () => isPolling,
    onChange(listener: () => void) {
      listeners.add(listener);
      if (!client && !again) void listen();
      return () => listeners.delete(listener);
    },
    async stop() {
      stopped = true;
      clearTimeout(again);
      clearTimeout(beat);
      listeners.clear();
      client?.destroy(new Error("connection ended"));
    },
  };
}
