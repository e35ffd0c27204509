/** Signals that ask a command to stop: Ctrl-C, `kill`, and the terminal being closed. */
export const stopSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

const exitCodes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

export type StopSignals = {
  /** Aborts at the first signal. */
  signal: AbortSignal;
  /** The signal was the normal way to end: the exit code stays 0. */
  isExpected(): void;
  end(): void;
};

/** Turns the first signal into an abort, so that a command can clean up; the second one exits at once. */
export function catchStopSignals(): StopSignals {
  const stopping = new AbortController();
  let before = process.exitCode;
  const onSignal = (signal: (typeof stopSignals)[number]) => {
    if (stopping.signal.aborted) process.exit(exitCodes[signal]);
    before = process.exitCode;
    process.exitCode = exitCodes[signal];
    stopping.abort();
  };
  for (const signal of stopSignals) process.on(signal, onSignal);
  return {
    signal: stopping.signal,
    isExpected: () => {
      process.exitCode = before;
    },
    end: () => {
      for (const signal of stopSignals) process.off(signal, onSignal);
    },
  };
}
