import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { isPublic } from "./address.ts";
import { type Destination, nameOf } from "./destination.ts";
import type { NetworkPolicy } from "./policy.ts";

export type Address = { address: string; family: number };
export type Resolve = (host: string) => Promise<Address[]>;

/** A permitted destination. In `open` the connection uses only the addresses that were checked. */
export type Route = Destination & { addresses?: Address[] };

export const systemResolve: Resolve = (host) => lookup(host, { all: true });

type Options = {
  policy: NetworkPolicy;
  /** Hosts that the agent's program needs when it is signed in with a file instead of a key. */
  programHosts: readonly string[];
  resolve: Resolve;
};

/**
 * Decides whether an agent may reach a destination. Names that a person listed and those of the agent's own program
 * are fixed and may lead anywhere. Other names are the agent's choice: they must resolve to public addresses only,
 * and the connection is pinned to these, because a second look-up could have another answer.
 */
export function networkRules({ policy: { mode, hosts, refusal }, programHosts, resolve }: Options) {
  const listed = [...hosts, ...programHosts].map(parsePattern);
  return async (to: Destination): Promise<Result<Route>> => {
    if (listed.some((matches) => matches(to))) return ok(to);
    if (mode !== "open") {
      const why = refusal ?? "is not in network_hosts";
      const who = refusal ? "" : `the network of this agent is ${mode}, and `;
      return refuse("denied", `${who}${nameOf(to)} ${why}`);
    }
    const addresses = await addressesOf(to.host, resolve);
    if (!addresses) return refuse("not_found", `${to.host} cannot be resolved`);
    const inside = addresses.find(({ address }) => !isPublic(address));
    if (inside) {
      const shown = inside.address === to.host ? nameOf(to) : `${nameOf(to)} (${inside.address})`;
      return refuse("denied", `${shown} is not a public address, and it is not in network_hosts`);
    }
    return ok({ ...to, addresses });
  };
}

async function addressesOf(host: string, resolve: Resolve): Promise<Address[] | undefined> {
  const family = isIP(host);
  if (family !== 0) return [{ address: host, family }];
  const found = await resolve(host).catch(() => []);
  return found.length > 0 ? found : undefined;
}

/** `host`, `host:port`, `*.domain` or `[address]:port`; without a port 80 and 443. */
function parsePattern(text: string): (to: Destination) => boolean {
  const [, bracketed, plain = "", given] = /^(?:\[(.*)\]|([^:]*))(?::(\d+))?$/.exec(text.toLowerCase()) ?? [];
  const host = bracketed ?? plain;
  const ports = given ? [Number(given)] : [80, 443];
  return (to) =>
    ports.includes(to.port) && (host.startsWith("*.") ? to.host.endsWith(host.slice(1)) : to.host === host);
}
