/** The phases of an attempt in the order in which they follow each other, and those of agents without a task. */
export const phases = [
  "planning",
  "preparing",
  "work",
  "waiting",
  "checks",
  "verification",
  "approval",
  "merge",
  "report",
] as const;
export type Phase = (typeof phases)[number];

/** Times are in milliseconds; `end` is null while the phase lasts. */
export type Span = { phase: Phase; start: number; end: number | null };

export type AttemptTimes = {
  started: number;
  /** When the worker agent was started: before, its checkout was prepared. */
  agent: number | null;
  workerEnded: number | null;
  qcStarted: number | null;
  /** When the verifier agent was started: before, the checks of the plan ran. */
  verifier: number | null;
  ended: number | null;
  gate: { held: number; decided: number | null } | null;
  /** When the task was completed, if this attempt was accepted. */
  completed: number | null;
  isPassed: boolean;
};

/** The phases of one attempt. Pure: the same times, the same phases. */
export function spansOf(times: AttemptTimes): { work: Span[]; verify: Span[] } {
  const { started, agent, workerEnded, qcStarted, verifier, ended, gate, completed, isPassed } = times;
  const workEnd = workerEnded ?? ended;
  const work: Span[] = [];
  if (agent !== null && agent > started) work.push({ phase: "preparing", start: started, end: agent });
  work.push({ phase: "work", start: agent ?? started, end: workEnd });
  if (workEnd === null)
    return { work: agent === null ? [{ ...work[0], phase: "preparing" } as Span] : work, verify: [] };
  if (qcStarted === null) {
    if (ended === null) work.push({ phase: "waiting", start: workEnd, end: null });
    return { work, verify: [] };
  }
  if (qcStarted > workEnd) work.push({ phase: "waiting", start: workEnd, end: qcStarted });
  const verify: Span[] = [{ phase: "checks", start: qcStarted, end: verifier ?? ended }];
  if (verifier !== null) verify.push({ phase: "verification", start: verifier, end: ended });
  if (ended === null || !isPassed) return { work, verify };
  if (gate) verify.push({ phase: "approval", start: gate.held, end: gate.decided });
  const merging = gate ? gate.decided : ended;
  if (merging !== null && completed !== null && completed > merging)
    verify.push({ phase: "merge", start: merging, end: completed });
  return { work, verify };
}

/**
 * The attempt that an agent with this epoch worked for. A verifier has the epoch of its own claim, which is later than
 * that of the attempt; the number of an attempt is not a key, because a rerun task counts from 1 again.
 */
export const attemptEpoch = (attempts: readonly number[], epoch: number): number | undefined =>
  attempts.reduce<number | undefined>((best, one) => (one <= epoch && one > (best ?? -1) ? one : best), undefined);

/** The phases in which nobody works: they take no place in a lane. */
export const isIdle = (phase: Phase) => phase === "waiting" || phase === "approval";

export type Block<T> = { group: string; start: number; end: number | null; of: T };

/**
 * Gives each block the lowest lane of its group in which nothing else lasts at that time, so a group has as many lanes
 * as it had workers that were busy at once. Lanes of one group follow each other.
 */
export function lanesOf<T>(blocks: Block<T>[]): {
  lanes: { group: string; n: number }[];
  placed: { lane: number; of: T }[];
} {
  const groups = new Map<string, { end: number }[]>();
  const found: { group: string; n: number; of: T }[] = [];
  for (const { group, start, end, of } of [...blocks].sort((a, b) => a.start - b.start)) {
    const lanes = groups.get(group) ?? [];
    groups.set(group, lanes);
    const free = lanes.findIndex((lane) => lane.end <= start);
    const n = free < 0 ? lanes.length : free;
    lanes[n] = { end: end ?? Number.POSITIVE_INFINITY };
    found.push({ group, n, of });
  }
  const first = new Map<string, number>();
  const lanes: { group: string; n: number }[] = [];
  for (const [group, members] of groups) {
    first.set(group, lanes.length);
    for (const n of members.keys()) lanes.push({ group, n });
  }
  return { lanes, placed: found.map(({ group, n, of }) => ({ lane: (first.get(group) ?? 0) + n, of })) };
}
