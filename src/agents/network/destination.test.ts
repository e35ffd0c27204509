import { expect, test } from "vitest";
import { unwrap } from "../../kernel/result.ts";
import { parseAuthority, parseTarget } from "./destination.ts";

test.for([
  ["example.org:443", { host: "example.org", port: 443 }],
  ["EXAMPLE.org.:80", { host: "example.org", port: 80 }],
  ["[2606:4700::1111]:443", { host: "2606:4700::1111", port: 443 }],
  // The spellings of an address end up as the address.
  ["127.1:22", { host: "127.0.0.1", port: 22 }],
  ["0177.0.0.1:22", { host: "127.0.0.1", port: 22 }],
  ["0x7f.0.0.1:22", { host: "127.0.0.1", port: 22 }],
  ["2130706433:22", { host: "127.0.0.1", port: 22 }],
  ["127。0。0。1:22", { host: "127.0.0.1", port: 22 }],
  ["①②⑦.0.0.1:22", { host: "127.0.0.1", port: 22 }],
  ["%31%32%37.0.0.1:22", { host: "127.0.0.1", port: 22 }],
  ["[::ffff:127.0.0.1]:22", { host: "::ffff:7f00:1", port: 22 }],
] as const)("T17: CONNECT %s leads to one host", ([text, expected]) => {
  expect(unwrap(parseAuthority(text))).toEqual(expected);
});

test.for([
  ...["", "example.org", "example.org:", ":443", "example.org:0", "example.org:99999", "a b:1", "user@example.org:443"],
  ...["http://example.org:443", "example.org:443/path", "example.org:443#x", "[fe80::1%25eth0]:80", "a\\b:80", "*:80"],
])("T17: CONNECT %j is refused", (text) => {
  expect(parseAuthority(text).ok).toBe(false);
});

test("T17: a whole URL is http, without credentials", () => {
  expect(unwrap(parseTarget("http://Example.org/a/../b?c"))).toEqual({ host: "example.org", port: 80, path: "/b?c" });
  for (const text of [
    "https://example.org/",
    "ftp://example.org/",
    "http://u:p@example.org/",
    "http:example.org",
    "/",
  ]) {
    expect(parseTarget(text).ok, text).toBe(false);
  }
});
