import type { Amount, Limits, RunResult, Usage } from "../../agents/runner.ts";
import type { DestinationUse } from "../../kernel/destination-use.ts";
import type { Toolbox } from "./toolbox.ts";

const mostCalls = 30;

/** True if a program came to its own end without an error, but never delivered. */
export const endedWithoutDelivery = (
  { ended, exitCode, error }: RunResult,
  tools: Pick<Toolbox, "isDone" | "tripped">,
): boolean => {
  const isOver = (ended === "exit" && exitCode === 0 && error === undefined) || ended === "after-result";
  return isOver && !tools.isDone?.() && tools.tripped() === undefined;
};

/** Follows the prompt of a program that is started once more. It is a new session, which remembers nothing. */
export const reminder = (delivers: string, made: readonly string[]): string =>
  [
    "# You have not delivered",
    `Your first session ended without calling ${delivers}, so nothing was delivered. This is your second and last session for the same work. Your folder is as you left it.`,
    made.length === 0
      ? "You made no calls of your tools."
      : `Calls that you made${made.length > mostCalls ? `, the last ${mostCalls} of ${made.length}` : ""}:\n${made
          .slice(-mostCalls)
          .map((call) => `- ${call}`)
          .join("\n")}`,
    `Continue from there, and call ${delivers}.`,
  ].join("\n\n");

/** What the first session left of the limits; undefined if nothing is left, or if its use of a budget is unknown. */
export function limitsLeft(limits: Limits, used: RunResult, spent: Amount | null): Limits | undefined {
  const { toolCalls, messages, outputTokens } = used.usage;
  const left: Limits = { ...limits, wallMs: limits.wallMs - used.durationMs };
  const subtract = (name: "toolCalls" | "messages" | "outputTokens" | "tokens" | "usd", amount: number | null) => {
    const limit = limits[name];
    if (limit !== undefined) left[name] = limit - (amount ?? 0);
  };
  subtract("toolCalls", toolCalls);
  subtract("messages", messages);
  subtract("outputTokens", outputTokens);
  subtract("tokens", spent?.tokens ?? limits.tokens ?? null);
  subtract("usd", spent?.usd ?? limits.usd ?? null);
  const isUsedUp = [left.wallMs, left.toolCalls, left.messages, left.outputTokens, left.tokens, left.usd].some(
    (amount) => amount !== undefined && amount <= 0,
  );
  return isUsedUp ? undefined : left;
}

/** Two sessions of one agent as one result: it ended as the second did and used what both used. */
export function bothSessions(first: RunResult, second: RunResult): RunResult {
  const usage = Object.fromEntries(
    Object.entries(first.usage).map(([name, amount]) => [name, sum(amount, second.usage[name as keyof Usage])]),
  ) as Usage;
  return {
    ...second,
    usage,
    costUsd: sum(first.costUsd, second.costUsd),
    durationMs: first.durationMs + second.durationMs,
    destinations: together(first.destinations ?? null, second.destinations ?? null),
  };
}

/** Unknown if one of them is. */
const sum = (a: number | null, b: number | null) => (a === null || b === null ? null : a + b);

function together(first: DestinationUse[] | null, second: DestinationUse[] | null): DestinationUse[] | null {
  if (first === null || second === null) return first ?? second;
  const isSame = (a: DestinationUse, b: DestinationUse) =>
    a.destination === b.destination && a.allowed === b.allowed && a.reason === b.reason;
  const summed = first.map((use) => {
    const again = second.find((other) => isSame(use, other));
    return again === undefined
      ? use
      : {
          ...use,
          requests: use.requests + again.requests,
          bytes_sent: use.bytes_sent + again.bytes_sent,
          bytes_received: use.bytes_received + again.bytes_received,
        };
  });
  return [...summed, ...second.filter((use) => !first.some((other) => isSame(use, other)))];
}
