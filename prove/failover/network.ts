import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";

/** Hosts are network namespaces on one bridge, which lies in a namespace of its own: the machine's network is left alone. */
export type Network = {
  /** A new host; the answer is the prefix of commands that run on it, with a hostname of its own. */
  add(name: string): string[];
  addressOf(name: string): string;
  /** Drops every packet of the host except on loopback, without closing a connection. */
  cut(name: string): void;
  heal(name: string): void;
  /** Gives the host a second address, and takes it from others: what a failover manager does with a virtual address. */
  moveAddress(address: string, to: string): void;
  /** The processes of a host. */
  processesOf(name: string): number[];
  remove(): void;
};

export const canHaveHosts = (): boolean => {
  if (process.getuid?.() !== 0) return false;
  try {
    const name = `scr-${randomBytes(3).toString("hex")}`;
    ip("netns", "add", name);
    ip("netns", "del", name);
    execFileSync("nft", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
};

export function openNetwork(): Network {
  const prefix = `scr-${randomBytes(3).toString("hex")}`;
  const space = (name: string) => `${prefix}-${name}`;
  const hosts: string[] = [];
  const inside = (name: string, ...args: string[]) => run("ip", ["netns", "exec", space(name), ...args]);
  ip("netns", "add", space("net"));
  ip("-n", space("net"), "link", "add", "bridge", "type", "bridge");
  ip("-n", space("net"), "link", "set", "bridge", "up");
  const addressOf = (name: string) => `10.77.0.${hosts.indexOf(name) + 1}`;
  return {
    addressOf,
    add(name) {
      hosts.push(name);
      const port = `port${hosts.length}`;
      ip("netns", "add", space(name));
      ip("-n", space(name), "link", "add", "eth0", "type", "veth", "peer", "name", port, "netns", space("net"));
      ip("-n", space("net"), "link", "set", port, "master", "bridge", "up");
      ip("-n", space(name), "addr", "add", `${addressOf(name)}/24`, "dev", "eth0");
      ip("-n", space(name), "link", "set", "eth0", "up");
      ip("-n", space(name), "link", "set", "lo", "up");
      // Both commands replace themselves by the next, so that the process id is that of the program.
      return ["ip", "netns", "exec", space(name), "unshare", "--uts", "sh", "-c", `hostname ${name}; exec "$@"`, "sh"];
    },
    cut(name) {
      const rules = ["input", "output"].map(
        (way) =>
          `chain ${way} { type filter hook ${way} priority 0; policy drop; ${way === "input" ? "iif" : "oif"} lo accept; }`,
      );
      inside(name, "nft", `add table inet cut { ${rules.join("; ")}; }`);
    },
    heal: (name) => void inside(name, "nft", "delete", "table", "inet", "cut"),
    moveAddress(address, to) {
      for (const name of hosts) {
        if (name !== to) attempt(() => ip("-n", space(name), "addr", "del", `${address}/24`, "dev", "eth0"));
      }
      attempt(() => ip("-n", space(to), "addr", "add", `${address}/24`, "dev", "eth0"));
      for (const name of hosts) attempt(() => ip("-n", space(name), "neigh", "flush", "dev", "eth0"));
    },
    processesOf: (name) =>
      run("ip", ["netns", "pids", space(name)])
        .split("\n")
        .filter(Boolean)
        .map(Number),
    remove() {
      for (const name of [...hosts, "net"]) {
        attempt(() => {
          for (const pid of run("ip", ["netns", "pids", space(name)])
            .split("\n")
            .filter(Boolean))
            process.kill(Number(pid), "SIGKILL");
        });
        attempt(() => ip("netns", "del", space(name)));
      }
    },
  };
}

const run = (file: string, args: string[]) =>
  execFileSync(file, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
const ip = (...args: string[]) => run("ip", args);

/** An address that is not there, or a namespace that is gone, is as wanted. */
function attempt(work: () => unknown): void {
  try {
    work();
  } catch {}
}
