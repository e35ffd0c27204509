/** Structured log: events are named noun-verb, with fields. */
export interface Log {
  info(fields: Record<string, unknown>, event: string): void;
  warn(fields: Record<string, unknown>, event: string): void;
  error(fields: Record<string, unknown>, event: string): void;
}

export const silent: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };
