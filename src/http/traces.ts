import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import type { App } from "../app.ts";
import { type Event, eventsAfter, lastEventId } from "../store/events.ts";
import { parseJsonOr } from "../store/json.ts";
import { findMeta, setMeta } from "../store/queries/meta.ts";
import { endedAttempt, tracedAgent, tracedRun } from "../store/queries/traces.ts";
import { watchChanges } from "../store/wait-for-change.ts";
import { agentSpans, attemptSpan, readable, runSpan, type SpanData } from "./trace-spans.ts";

const key = "traces";
const page = 200;
const leaseMs = 60_000;
const againMs = 30_000;
const timeoutMs = 10_000;

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

  /** Undefined while another server sends. */
  async function position(): Promise<Position | undefined> {
    const found = parseJsonOr<Position | undefined>((await findMeta(db.read, key)) ?? "", undefined);
    // Events from before the first start with a collector are not sent.
    if (!found) return { cursor: (await lastEventId(db)) ?? "0", owner, until: 0 };
    return found.owner === owner || found.until < Date.now() ? found : undefined;
  }

  const keep = (cursor: string, until = Date.now() + leaseMs) =>
    db.write((tx) => setMeta(tx, key, JSON.stringify({ cursor, owner, until })));

  /** True if there may be more. */
  async function sendSome(): Promise<boolean> {
    const from = await position();
    if (!from) return false;
    if (from.until === 0) await keep(from.cursor);
    const events = await eventsAfter(db, from.cursor, page);
    const last = events.at(-1);
    if (!last) return false;
    await keep(from.cursor);
    const spans = (await Promise.all(events.map(spansOf))).flat();
    if (spans.length > 0) await send(spans);
    await keep(last.id);
    return events.length === page;
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
      const last = await position().catch(() => undefined);
      if (last?.owner === owner && last.until > 0) await keep(last.cursor, 1).catch(() => undefined);
      await exporter.shutdown();
    },
  };
}

export type TraceAddress = { url: string; headers: Record<string, string> };

const attemptEnds = new Set(["attempt-accepted", "attempt-retry-prepared", "attempt-given-up"]);
const runEnds = new Set(["run-finish", "run-fail", "run-cancel"]);
