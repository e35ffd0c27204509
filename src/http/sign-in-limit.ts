import { isIPv6 } from "node:net";

const windowMs = 60_000;
const most = 20;
const maxClients = 10_000;

/**
 * Limits failed sign-in attempts of a client to 20 a minute. Codes and tokens cannot be guessed in any case; the limit
 * keeps a client from filling the log and from using the identity provider through us. An IPv6 client counts with its
 * network, because it can pick any address there.
 */
export function signInLimit(now: () => number = Date.now) {
  const failures = new Map<string, { count: number; until: number }>();

  return {
    /** Seconds to wait; undefined if the client may try. */
    waitOf(client: string): number | undefined {
      const found = failures.get(groupOf(client));
      const left = found ? found.until - now() : 0;
      return found && left > 0 && found.count >= most ? Math.ceil(left / 1000) : undefined;
    },

    count(client: string): void {
      const group = groupOf(client);
      const found = failures.get(group);
      if (found && found.until > now()) {
        found.count += 1;
        return;
      }
      failures.delete(group);
      failures.set(group, { count: 1, until: now() + windowMs });
      if (failures.size > maxClients) failures.delete(failures.keys().next().value as string);
    },
  };
}

export type SignInLimit = ReturnType<typeof signInLimit>;

/** The first 64 bits of an IPv6 address, with the groups that `::` leaves out. */
function groupOf(client: string): string {
  if (!isIPv6(client)) return client;
  const [head = "", tail] = client.split("%", 1)[0]?.split("::") ?? [];
  const left = head === "" ? [] : head.split(":");
  const right = tail ? tail.split(":") : [];
  const all =
    tail === undefined ? left : [...left, ...Array(Math.max(0, 8 - left.length - right.length)).fill("0"), ...right];
  return all
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, "").toLowerCase())
    .join(":");
}
