import type { DestinationUse } from "../../kernel/destination-use.ts";

type Use = { destination: string; allowed: boolean; reason?: string };

export interface Ledger {
  /** Counts one request or connection; the returned function adds its bytes. */
  note(use: Use): (bytes: { sent?: number; received?: number }) => void;
  entries(): DestinationUse[];
}

const maxEntries = 200;
const maxCharacters = 300;

/**
 * The destinations of one agent, each once. An agent that tries many cannot make the record grow without limit.
 * Refusals are counted apart, so that many of them do not hide a destination that was reached.
 */
export function openLedger(): Ledger {
  const [reached, refused] = [new Map<string, DestinationUse>(), new Map<string, DestinationUse>()];
  const entryOf = (use: Pick<DestinationUse, "destination" | "allowed" | "reason">): DestinationUse => {
    const entries = use.allowed ? reached : refused;
    const key = JSON.stringify(use);
    const entry = entries.get(key) ?? { ...use, requests: 0, bytes_sent: 0, bytes_received: 0 };
    if (entries.has(key) || entries.size < maxEntries || use.destination === further) entries.set(key, entry);
    else return entryOf({ destination: further, allowed: use.allowed, reason: null });
    return entry;
  };
  return {
    note({ destination, allowed, reason }) {
      const cut = (text: string) => text.slice(0, maxCharacters);
      const entry = entryOf({
        destination: cut(destination),
        allowed,
        reason: reason === undefined ? null : cut(reason),
      });
      entry.requests++;
      return ({ sent = 0, received = 0 }) => {
        entry.bytes_sent += sent;
        entry.bytes_received += received;
      };
    },
    entries: () => [...reached.values(), ...refused.values()].map((entry) => ({ ...entry })),
  };
}

const further = `further destinations (more than ${maxEntries})`;
