import { createHash } from "node:crypto";
import * as z from "zod";
import type { Toolset } from "../../agents/runner.ts";
import type { Agent } from "../../kernel/caller.ts";
import { suggest } from "../../kernel/nearest.ts";
import type { Operation } from "../../kernel/operation.ts";
import { onlySteps, type Problem, type Result, refusalFor, refuse } from "../../kernel/result.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { type Bounds, trip } from "../rules/breakers.ts";
import { briefInput } from "./brief-input.ts";
import { rareTools } from "./rare-tools.ts";

type Deps = {
  app: CrewApp;
  /** Run, task, epoch and part of the agent come from here, never from its input. */
  caller: Agent & { crew: NonNullable<Agent["crew"]> };
  operations: readonly Operation<CrewApp>[];
  bounds: Bounds;
  /** The tool with which it delivers; later calls are refused. */
  delivers: string;
  onTrip?(): void;
  onDelivery?(): void;
  /** Called with the id of each recorded call. */
  onCall?(call: string): void;
  /** Messages of people that go to the agent with the answer of a call. */
  messages?(): Promise<{ from: string; content: string }[]>;
};

export type Toolbox = Toolset & {
  /** The reason why a breaker stopped the agent. */
  tripped(): string | undefined;
  calls(): number;
  /** Each call so far in a few words. */
  made(): readonly string[];
};

/**
 * The tools of one agent. Every call is counted before it is made, refused beyond the bound, and recorded
 * with enough of its answer to check evidence against (O7, O10).
 */
export function toolbox(deps: Deps): Toolbox {
  const { app, caller, operations, bounds, delivers, onTrip, onDelivery, onCall, messages } = deps;
  const { crew, task, epoch } = caller;
  const byName = new Map(operations.map((operation) => [operation.name, operation]));
  let calls = 0;
  const made: string[] = [];
  let tripped: string | undefined;
  let done = false;
  let last = { asked: "", answered: "", times: 0 };

  /** How often in a row this call already brought the same answer. */
  const repeated = (asked: string) => (asked === last.asked ? last.times : 0);
  function remember(asked: string, answer: unknown): void {
    const answered = fingerprintOf(answer);
    const again = asked === last.asked && answered === last.answered;
    last = { asked, answered, times: again ? last.times + 1 : 1 };
  }

  async function call(name: string, raw: unknown, key?: string): Promise<Result<unknown>> {
    const operation = byName.get(name);
    if (!operation) return refuse("not_found", `tool ${name} does not exist; ${suggest(name, [...byName.keys()])}`);
    if (done) return refuse("conflict", "you have already submitted your result; stop here");
    const asked = fingerprintOf([name, raw]);
    const over = trip(bounds, calls, repeated(asked));
    if (over) tripped ??= over.reason;
    if (tripped !== undefined) {
      onTrip?.();
      return refuse("refused", `${tripped}; the attempt has ended`);
    }
    calls += 1;
    const began = performance.now();
    const result = within(await operation.perform(app, raw ?? {}, caller, app.idempotency.once(key)));
    const answer = result.ok ? result.value : refusalFor(result.problem);
    remember(asked, answer);
    made.push(`${named(name, raw)}${result.ok ? "" : " (refused)"}`);
    if (name === delivers && result.ok) {
      done = true;
      onDelivery?.();
    }
    const id = await app.contexts.called({
      run: crew.run,
      context: crew.context ?? null,
      task: task !== undefined && epoch !== undefined ? { id: task, epoch } : null,
      part: crew.part,
      name,
      ok: result.ok,
      input: raw,
      output: answer,
      durationMs: performance.now() - began,
    });
    onCall?.(id);
    // An agent that has delivered stops here: the message is kept for the next attempt.
    const said = done ? [] : ((await messages?.()) ?? []);
    return withMessages(withCall(result, id), said);
  }

  /** A next step that this agent has no tool for would only mislead it. */
  const within = (result: Result<unknown>): Result<unknown> =>
    result.ok ? result : { ok: false, problem: onlySteps(result.problem, (step) => byName.has(step)) };

  const shown = operations.map((operation) => ({
    ...operation,
    input: briefInput(operation),
    output: anyAnswer,
  }));
  return {
    operations: shown,
    rare: rareTools(crew.part),
    call,
    delivers,
    isDone: () => done,
    tripped: () => tripped,
    calls: () => calls,
    made: () => made,
  };
}

/** With the argument that tells calls of one tool apart, such as a path. */
function named(name: string, raw: unknown): string {
  const [first] = Object.values((raw ?? {}) as Record<string, unknown>);
  const text = typeof first === "string" ? first : (JSON.stringify(first) ?? "");
  return `${name} ${text.replaceAll(/\s+/g, " ").slice(0, 80)}`.trimEnd();
}

/** Answers carry the id of the call beside what the operation declares. One value, so that its JSON Schema is computed once. */
const anyAnswer = z.looseObject({});

const fingerprintOf = (value: unknown) =>
  createHash("sha256")
    .update(JSON.stringify(value) ?? "")
    .digest("hex");

/** Adds messages of people in a field that no tool has. */
function withMessages(result: Result<unknown>, said: { from: string; content: string }[]): Result<unknown> {
  if (said.length === 0) return result;
  const field = { messages_from_people: { take_into_account_from_now_on: said } };
  if (!result.ok)
    return { ok: false, problem: { ...result.problem, details: { ...result.problem.details, ...field } } };
  return { ok: true, value: { ...(result.value as object), ...field } };
}

/** Adds the id of the recorded call, for evidence to name. */
function withCall(result: Result<unknown>, call: string): Result<unknown> {
  if (!result.ok) return { ok: false, problem: result.problem satisfies Problem };
  const { value } = result;
  if (value === null || typeof value !== "object" || Array.isArray(value)) return result;
  return { ok: true, value: { ...value, call } };
}
