import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { DestinationUse } from "../../kernel/destination-use.ts";
import { builtFile } from "../../kernel/package-files.ts";
import type { Sandbox } from "../sandbox/access.ts";
import { dialer } from "./dial.ts";
import { openLedger } from "./ledger.ts";
import { keyVariables, type ModelAccess } from "./model-server.ts";
import type { NetworkPolicy } from "./policy.ts";
import { openProxy } from "./proxy.ts";
import { networkRules, systemResolve } from "./rules.ts";

/** The network of one running agent. */
export type AgentNetwork = {
  /** The command line that starts the agent inside; empty without network. */
  relay: readonly string[];
  /** The relay's script. */
  read: readonly string[];
  ports: readonly number[];
  /** The agent's environment: placeholders instead of keys, the relay instead of this host's proxies. */
  env: Record<string, string>;
  args: readonly string[];
  /** True if the agent has no key that the proxy could add. */
  needsLogin: boolean;
  /** Ends all connections; resolves with every destination of the run. */
  close(): Promise<DestinationUse[]>;
};

type Options = {
  policy: NetworkPolicy;
  sandbox: Pick<Sandbox, "hasOwnLoopback">;
  /** A folder of this run that the sandbox can read. */
  folder: string;
  env: Record<string, string>;
  access(relay: string): Promise<ModelAccess>;
  /** The hosts of the agent's program, for a login that is a file. */
  loginHosts: readonly string[];
};

/**
 * Opens the way of a sandboxed agent to its model: a proxy on a Unix socket on this side, a relay on the other. The
 * sandbox has a network of its own with nothing but loopback, so that there is no other way.
 */
export async function openNetwork(options: Options): Promise<AgentNetwork> {
  const { policy, sandbox, folder, env } = options;
  if (policy.mode === "off") return { ...closed, env: withoutNetwork(env) };
  const script = fileURLToPath(builtFile("network-relay.js"));
  const port = sandbox.hasOwnLoopback ? usualPort : await freePort();
  const relay = `http://127.0.0.1:${port}`;
  const { servers, ...access } = await options.access(relay);
  const needsLogin = !servers.some(({ keys }) => keys.length > 0);
  const ledger = openLedger();
  const path = join(folder, "network");
  const programHosts = needsLogin ? options.loginHosts : [];
  const decide = networkRules({ policy, programHosts, resolve: systemResolve });
  const proxy = await openProxy({ path, relay, decide, servers, dial: dialer(env), ledger });
  const local = loopbackServers(policy.hosts).filter((server) => server.port !== port);
  // On a loopback that is shared, these servers are there already.
  const forwarded = sandbox.hasOwnLoopback ? local.map((server) => `${server.port}=${server.host}`) : [];
  return {
    relay: [process.execPath, script, path, String(port), ...forwarded, "--"],
    read: [script],
    ports: [port, ...local.map((server) => server.port)],
    env: { ...omit(access.env, proxyNames), ...proxyVariables(relay) },
    args: access.args,
    needsLogin,
    async close() {
      await proxy.close();
      return ledger.entries();
    },
  };
}

/** The usual port of a proxy; free in a network that has just begun. */
const usualPort = 3128;

const closed = { relay: [], read: [], ports: [], args: [], needsLogin: false, close: async () => [] };

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}

/** Listed servers on this host's loopback are found at the same address inside. */
const loopbackServers = (hosts: readonly string[]) =>
  hosts.flatMap((host) => {
    const [, port] = /^(?:localhost|127\.0\.0\.1):(\d+)$/i.exec(host) ?? [];
    return port ? [{ host, port: Number(port) }] : [];
  });

const proxyNames = ["http_proxy", "https_proxy", "all_proxy", "no_proxy"].flatMap((name) => [name, name.toUpperCase()]);
const own = "127.0.0.1,localhost,::1";
const proxyVariables = (relay: string) => ({
  ...{ http_proxy: relay, HTTP_PROXY: relay, https_proxy: relay, HTTPS_PROXY: relay },
  ...{ no_proxy: own, NO_PROXY: own },
  // Node reads the variables above only if this one is set.
  NODE_USE_ENV_PROXY: "1",
});

/** The address of a proxy may contain a password. */
const withoutNetwork = (env: Record<string, string>) => omit(env, [...proxyNames, ...keyVariables]);

const omit = (env: Record<string, string>, names: readonly string[]) =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !names.includes(name)));
