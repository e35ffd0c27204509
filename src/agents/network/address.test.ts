import { networkInterfaces } from "node:os";
import { expect, test } from "vitest";
import { isPublic } from "./address.ts";

test("T17: only addresses that are routed on the internet are public", () => {
  const inside = [
    ...[
      "0.0.0.0",
      "0.1.2.3",
      "10.0.0.1",
      "10.255.255.255",
      "100.64.0.1",
      "100.100.100.200",
      "127.0.0.1",
      "127.255.0.9",
    ],
    ...["168.63.129.16", "169.254.169.254", "169.254.170.2", "172.16.0.1", "172.31.255.255", "192.0.0.192"],
    ...["192.168.1.1", "198.18.0.1", "198.19.255.255", "224.0.0.251", "240.0.0.1", "255.255.255.255"],
    ...["::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "64:ff9b::7f00:1", "64:ff9b:1::1", "100::1"],
    ...["2001::1", "2001:db8::1", "2002:7f00:1::", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%lo", "fec0::1"],
    ...["ff02::1", "3fff::1", "localhost", "", "127.1", "0x7f000001"],
  ];
  const outside = [
    "8.8.8.8",
    "1.1.1.1",
    "100.63.255.255",
    "172.32.0.1",
    "198.20.0.1",
    "2606:4700::1111",
    "2a00:1450::1",
  ];
  expect(inside.filter(isPublic)).toEqual([]);
  expect(outside.filter(isPublic)).toEqual(outside);
});

test("T17: an address of this machine is not public, whatever its range", () => {
  const own = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address));
  expect(own.length).toBeGreaterThan(0);
  expect(own.filter(isPublic)).toEqual([]);
});
