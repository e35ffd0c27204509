import { BlockList, isIP, isIPv4 } from "node:net";
import { networkInterfaces } from "node:os";

/**
 * Addresses that agents must not reach through this host (T17): itself, its networks, link-local and metadata
 * services, and ranges that are not routed. Sources: the IANA special-purpose registries.
 */
const blocked4 = blockList("ipv4", [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  // Azure's metadata and platform service.
  ["168.63.129.16", 32],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
]);

/** Global unicast is the only range of IPv6 that is public; these parts of it are not, or contain an IPv4 address. */
const global6 = blockList("ipv6", [["2000::", 3]]);
const blocked6 = blockList("ipv6", [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
]);

function blockList(family: "ipv4" | "ipv6", subnets: [string, number][]): BlockList {
  const list = new BlockList();
  for (const [net, prefix] of subnets) list.addSubnet(net, prefix, family);
  return list;
}

/** Whether an agent may reach this address in the mode `open`. */
export function isPublic(address: string): boolean {
  if (isIP(address) === 0) return false;
  // This host's own public address: a firewall may protect services there from others, but not from this host.
  if (Object.values(networkInterfaces()).some((all) => all?.some((one) => one.address === address))) return false;
  if (isIPv4(address)) return !blocked4.check(address, "ipv4");
  return global6.check(address, "ipv6") && !blocked6.check(address, "ipv6");
}
