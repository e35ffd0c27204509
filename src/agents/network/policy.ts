import type { Config } from "../../config/config.ts";
import type { NetworkMode } from "../../config/network.ts";

/** The network of one agent: its mode, and the hosts that a person listed, each as `host` or `host:port`. */
export type NetworkPolicy = {
  mode: NetworkMode;
  hosts: readonly string[];
  /** Says why a host is refused in `model-only`, if it is not for want of an entry in `network_hosts`. */
  refusal?: string;
};

/** The network that is configured for the agents of runs (`crew`) or of jobs (`agent`). */
export function networkPolicy(config: Config, block: "crew" | "agent"): NetworkPolicy {
  const { crew, agent } = config;
  const [mode, hosts] =
    block === "crew" ? [crew.network, crew.network_hosts] : [agent?.network ?? "off", agent?.networkHosts ?? []];
  return { mode, hosts: [...hosts, ...providerHosts(config)] };
}

/** A model server that is configured for the crew can be used by its agent CLIs too. */
const providerHosts = ({ crew }: Config): string[] =>
  Object.values(crew.providers).flatMap(({ base_url }) => (base_url ? [hostAndPort(new URL(base_url))] : []));

/** `URL.host` leaves out the default port. */
export const hostAndPort = ({ hostname, port, protocol }: URL) =>
  `${hostname}:${port || (protocol === "http:" ? 80 : 443)}`;
