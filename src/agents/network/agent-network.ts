import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { DestinationUse } from "../../kernel/destination-use.ts";
import { builtFile } from "../../kernel/package-files.ts";
import { dialer } from "./dial.ts";
import { openLedger } from "./ledger.ts";
import { keyVariables, type ModelAccess, relayPort, relayUrl } from "./model-server.ts";
import type { NetworkPolicy } from "./policy.ts";
import { openProxy } from "./proxy.ts";
import { networkRules, systemResolve } from "./rules.ts";

/** The network of one running agent. */
export type AgentNetwork = {
  /** The command line that starts the agent inside; empty without network. */
  relay: readonly string[];
  /** Files that the relay and programs with network need inside. */
  read: readonly string[];
  /** The agent's environment: placeholders instead of keys, the relay instead of this host's proxies. */
  env: Record<string, string>;
  args: readonly string[];
  /** Ends all connections; resolves with every destination of the run. */
  close(): Promise<DestinationUse[]>;
};

type Options = {
  policy: NetworkPolicy;
  /** A folder of this run that the sandbox can read. */
  folder: string;
  env: Record<string, string>;
  access: ModelAccess;
  /** Hosts of a program that is signed in by a file. */
  programHosts: readonly string[];
};

/**
 * Opens the way of a sandboxed agent to its model: a proxy on a Unix socket on this side, a relay on the other. The
 * sandbox has a network of its own with nothing but loopback, so that there is no other way.
 */
export async function openNetwork({ policy, folder, env, access, programHosts }: Options): Promise<AgentNetwork> {
  if (policy.mode === "off") return { ...closed, env: withoutNetwork(env) };
  const ledger = openLedger();
  const path = join(folder, "network");
  const decide = networkRules({ policy, programHosts, resolve: systemResolve });
  const proxy = await openProxy({ path, decide, servers: access.servers, dial: dialer(env), ledger });
  const script = fileURLToPath(builtFile("network-relay.js"));
  return {
    relay: [process.execPath, script, path, String(relayPort), ...loopbackServers(policy.hosts), "--"],
    read: [script, ...networkFiles],
    env: { ...withoutProxies(access.env), ...proxyVariables },
    args: access.args,
    async close() {
      await proxy.close();
      return ledger.entries();
    },
  };
}

const closed = { relay: [], read: [], args: [], close: async () => [] };

/** Listed servers on this host's loopback are found at the same address inside. */
const loopbackServers = (hosts: readonly string[]) =>
  hosts.flatMap((host) => {
    const [, port] = /^(?:localhost|127\.0\.0\.1):(\d+)$/i.exec(host) ?? [];
    return port && Number(port) !== relayPort ? [`${port}=${host}`] : [];
  });

/** Files for names of users and verification of certificates. Names of hosts are resolved outside. */
const networkFiles = ["hosts", "nsswitch.conf", "passwd", "group", "ssl", "ca-certificates", "pki"].map(
  (name) => `/etc/${name}`,
);

const proxyNames = ["http_proxy", "https_proxy", "all_proxy", "no_proxy"].flatMap((name) => [name, name.toUpperCase()]);
const own = "127.0.0.1,localhost,::1";
const proxyVariables = {
  ...{ http_proxy: relayUrl, HTTP_PROXY: relayUrl, https_proxy: relayUrl, HTTPS_PROXY: relayUrl },
  ...{ no_proxy: own, NO_PROXY: own },
  // Node reads the variables above only if this one is set.
  NODE_USE_ENV_PROXY: "1",
};

/** The address of a proxy may contain a password. */
const withoutProxies = (env: Record<string, string>) => omit(env, proxyNames);
const withoutNetwork = (env: Record<string, string>) => omit(env, [...proxyNames, ...keyVariables]);

const omit = (env: Record<string, string>, names: readonly string[]) =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !names.includes(name)));
