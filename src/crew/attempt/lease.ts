import type { CrewApp } from "../record/crew-app.ts";

/**
 * Keeps a claim alive while its work goes on. When it cannot be renewed it has gone to another, or a
 * person took it away: the work is stopped then, for its result would be refused.
 */
export function keepLease(app: CrewApp, { task, epoch }: { task: string; epoch: number }, outer: AbortSignal) {
  const { leaseMs } = app.config.claims;
  const inner = new AbortController();
  let lost = false;
  const beat = async () => {
    const renewed = await app.tasks.renew(task, epoch, leaseMs).catch(() => undefined);
    if (!renewed || renewed.ok) return;
    lost = true;
    inner.abort();
  };
  const heart = setInterval(() => void beat(), leaseMs / 3);
  return {
    signal: AbortSignal.any([inner.signal, outer]),
    lost: () => lost,
    end: () => clearInterval(heart),
  };
}
