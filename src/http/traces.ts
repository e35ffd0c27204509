import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import type { App } from "../app.ts";
import { storeClock } from "../store/clock.ts";
import { type Event, eventsAfter, lastEventId } from "../store/events.ts";
import { parseJsonOr } from "../store/json.ts";
import { findMeta, replaceMeta } from "../store/queries/meta.ts";
import { endedAttempt, tracedAgent, tracedRun } from "../store/queries/traces.ts";
import { watchChanges } from "../store/wait-for-change.ts";
import { agentSpans, attemptSpan, readable, runSpan, type SpanData } from "./trace-spans.ts";

const key = "traces";
const page = 200;
const leaseMs = 60_000;
const againMs = 30_000;
const timeoutMs = 10_000;

/** `until` is a time of the store's clock. */
type Position = { cursor: string; owner: string; until: number };

/**
 * Sends what runs did to a collector of OpenTelemetry, from the record: each agent when it ends, then its attempt, then
 * its run. Workers of other machines need no connection to the collector, and no agent waits for it. One server at a
 * time sends; its position is in the database, so that a restart loses nothing. Texts of prompts, answers and tool
 * calls are not sent.
 */
export function startTraces(app: App, address: TraceAddress): { stop(): Promise<void> } {
  const { db, log } = app;
  const owner = randomUUID();
  const exporter = new OTLPTraceExporter({ ...address, timeoutMillis: timeoutMs });
  const changes = watchChanges(db);
  const stopping = new AbortController();

  async function position(): Promise<{ text: string | undefined; found: Position | undefined }> {
    const text = await findMeta(db.read, key);
    return { text, found: parseJsonOr<Position | undefined>(text ?? "", undefined) };
  }

  /** False if another server has changed the position since `from` was read: of two that take it, one goes on. */
  const replace = (from: string | undefined, to: string) => db.write((tx) => replaceMeta(tx, key, from, to));
  const spell = (cursor: string, until: number) => JSON.stringify({ cursor, owner, until } satisfies Position);

  /** True if there may be more. */
  async function sendSome(): Promise<boolean> {
    const { text, found } = await position();
    const time = await storeClock(db.read, db.engine);
    if (found && found.owner !== owner && found.until >= time) return false;
    // Events from before the first start with a collector are not sent.
    if (!found) return replace(text, spell((await lastEventId(db)) ?? "0", time + leaseMs));
    const events = await eventsAfter(db, found.cursor, page);
    const last = events.at(-1);
    if (!last) return false;
    const mine = spell(found.cursor, time + leaseMs);
    if (!(await replace(text, mine))) return false;
    const spans = (await Promise.all(events.map(spansOf))).flat();
    if (spans.length > 0) await send(spans);
    return (await replace(mine, spell(last.id, time + leaseMs))) && events.length === page;
  }

  async function spansOf({ kind, subject, data, at }: Event): Promise<SpanData[]> {
    const id = subject.slice(subject.indexOf(":") + 1);
    if (kind === "agent-ended") {
      const found = await tracedAgent(db.read, (data as { id: string }).id);
      return found ? agentSpans(found) : [];
    }
    if (attemptEnds.has(kind)) {
      const found = await endedAttempt(db.read, id, at);
      return found ? [attemptSpan(found)] : [];
    }
    if (runEnds.has(kind)) {
      const found = await tracedRun(db.read, id);
      return found?.ended_at ? [runSpan(found)] : [];
    }
    return [];
  }

  const send = (spans: SpanData[]) =>
    new Promise<void>((done, fail) =>
      exporter.export(spans.map(readable), ({ code, error }) =>
        code === 0 ? done() : fail(error ?? new Error("the collector refused the spans")),
      ),
    );

  async function run(): Promise<void> {
    const { signal } = stopping;
    while (!signal.aborted) {
      const seen = changes.count();
      try {
        while (!signal.aborted && (await sendSome()));
        if (!signal.aborted) await changes.after(seen, leaseMs);
      } catch (error) {
        log.warn({ error: String(error), url: address.url }, "traces-not-sent");
        await sleep(againMs, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  const running = run();
  return {
    async stop() {
      stopping.abort();
      changes.close();
      await running;
      // Another server need not wait for the end of the lease.
      const { text, found } = await position().catch(() => ({ text: undefined, found: undefined }));
      if (found?.owner === owner) await replace(text, spell(found.cursor, 0)).catch(() => undefined);
      await exporter.shutdown();
    },
  };
}

export type TraceAddress = { url: string; headers: Record<string, string> };

const attemptEnds = new Set(["attempt-accepted", "attempt-retry-prepared", "attempt-given-up"]);
const runEnds = new Set(["run-finish", "run-fail", "run-cancel"]);
