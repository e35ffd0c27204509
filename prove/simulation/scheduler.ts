/**
 * Decides which of the actors that wait goes on, and what time it is. Only one step runs at a time, so a seed
 * determines the order of everything:
 *
 *   actor ──turn──▶ waiting ──chosen by the seed──▶ runs alone ──▶ the actor goes on to its next turn or sleep
 *
 * Time stands still while something waits for a turn, except where the seed lets it jump to the next sleeper.
 */
export type Scheduler = {
  now(): number;
  /** Runs the work alone, when the seed chooses it. Works of one group may share a turn. */
  turn<T>(group: string, work: () => Promise<T>): Promise<T>;
  sleep(ms: number): Promise<void>;
  /** Runs until every actor has ended; throws when nothing can go on. */
  run(actors: Promise<unknown>[], onTick: (now: number) => void): Promise<void>;
};

type Waiting = { group: string; go(): Promise<unknown> };

export function openScheduler(random: () => number, start: number): Scheduler {
  let now = start;
  let waiting: Waiting[] = [];
  const sleepers: { at: number; wake(): void }[] = [];

  const wakeNext = () => {
    sleepers.sort((a, b) => a.at - b.at);
    const next = sleepers.shift();
    if (!next) return;
    now = Math.max(now, next.at);
    next.wake();
  };
  const pick = (): Waiting[] => {
    const first = waiting[Math.floor(random() * waiting.length)] as Waiting;
    // Several of one process at once: they share a transaction.
    const more = random() < 0.3 ? waiting.filter((other) => other !== first && other.group === first.group) : [];
    return [first, ...more.slice(0, 2)];
  };

  return {
    now: () => now,
    turn: (group, work) =>
      new Promise((done, fail) => {
        waiting.push({ group, go: () => work().then(done, fail) });
      }),
    sleep: (ms) =>
      new Promise((wake) => {
        sleepers.push({ at: now + ms, wake });
      }),
    async run(actors, onTick) {
      let left = actors.length;
      let failure: unknown;
      for (const actor of actors)
        actor.then(
          () => left--,
          (error) => {
            left--;
            failure ??= error;
          },
        );
      for (;;) {
        await settled();
        if (failure) throw failure;
        if (left === 0) return;
        if (waiting.length === 0 && sleepers.length === 0) throw new Error(`${left} actors wait for nothing`);
        if (waiting.length === 0 || (sleepers.length > 0 && random() < 0.1)) {
          wakeNext();
          onTick(now);
          continue;
        }
        const chosen = pick();
        waiting = waiting.filter((one) => !chosen.includes(one));
        await Promise.all(chosen.map((one) => one.go()));
      }
    },
  };
}

/** Everything that follows from the last step without another turn has happened. */
async function settled(): Promise<void> {
  for (let n = 0; n < 4; n++) await new Promise(setImmediate);
}
