import type { TaskEngine } from "./engine.ts";

type Options = { task: string; epoch: number; secret: string; leaseMs: number };

/**
 * Renews the lease of a claim while its work goes on. A lease that cannot be renewed has gone to another
 * worker, or a person released it: `signal` aborts the work, whose result would be refused.
 */
export function keepLease(
  tasks: Pick<TaskEngine, "renew">,
  { task, epoch, secret, leaseMs }: Options,
  outer: AbortSignal,
) {
  const inner = new AbortController();
  let lost = false;
  const beat = async () => {
    // An error is not a refusal: the store may answer again before the lease runs out.
    const renewed = await tasks.renew(task, { epoch, secret }, leaseMs).catch(() => undefined);
    if (!renewed || renewed.ok) return;
    lost = true;
    clearInterval(heart);
    inner.abort();
  };
  const heart = setInterval(() => void beat(), leaseMs / 3);
  return {
    signal: AbortSignal.any([inner.signal, outer]),
    lost: () => lost,
    end: () => clearInterval(heart),
  };
}
