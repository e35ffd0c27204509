import { setTimeout as sleep } from "node:timers/promises";
import { Refused } from "../../kernel/result.ts";
import { postgresName } from "./address.ts";
import { isLost } from "./errors.ts";
import type { Limits } from "./limits.ts";

const betweenTriesMs = 500;
const betweenLinesMs = 10_000;

type Wait = { url: string; limits: Limits; tellProgress: ((line: string) => void) | undefined };

/** Retries `open` while the server is starting or cannot be reached; any other failure is thrown at once. */
export async function waitForServer<T>(open: () => Promise<T>, { url, limits, tellProgress }: Wait): Promise<T> {
  const began = performance.now();
  let toldAt = Number.NEGATIVE_INFINITY;
  for (;;) {
    try {
      return await open();
    } catch (error) {
      if (!isLost(error)) throw error;
      const now = performance.now();
      const left = Math.ceil((began + limits.startMs - now) / 1000);
      if (left <= 0) throw notReached(url, error, limits);
      if (now - toldAt >= betweenLinesMs) {
        tellProgress?.(`waiting for the database ${postgresName(url)} (${reasonOf(error)}), up to ${left} s`);
        toldAt = now;
      }
      await sleep(Math.min(betweenTriesMs, left * 1000));
    }
  }
}

/** Node reports several addresses of one name as an AggregateError without a message. */
function reasonOf(error: unknown): string {
  const { message, code, errors } = error as Error & { code?: string; errors?: Error[] };
  return message || errors?.[0]?.message || code || "no answer";
}

const notReached = (url: string, error: unknown, { startMs }: Limits) =>
  new Refused({
    code: "storage",
    message: `the database ${postgresName(url)} cannot be reached: ${reasonOf(error)}${startMs > 0 ? ` (waited ${Math.round(startMs / 1000)} s)` : ""}. Start it, or correct database: in scriptorium.yaml or SCRIPTORIUM_DATABASE_URL`,
    details: { reason: "unavailable" },
  });
