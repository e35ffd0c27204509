import { BlockList, isIP } from "node:net";
import * as z from "zod";
import { ok, type Result, refuse } from "../kernel/result.ts";
import type { Environment } from "./environment.ts";

/** The origin of the address that people type, or why the text is not one. */
function originOf(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const { protocol, origin, pathname, search, hash, username, password } = new URL(text);
  const isBare = pathname === "/" && search === "" && hash === "" && username === "" && password === "";
  return isBare && (protocol === "https:" || protocol === "http:") ? origin : undefined;
}

const notAnAddress = "expected an address without a path, such as https://wiki.example.org";

const baseUrl = z
  .string()
  .max(300)
  .refine((text) => originOf(text) !== undefined, notAnAddress)
  .transform((text) => originOf(text) ?? text);

/** `10.0.0.0/8`, or one address. */
const network = z.string().refine((text) => parseNetwork(text) !== undefined, {
  error: "expected an address or a network such as 10.0.0.0/8",
});

function parseNetwork(text: string): { address: string; bits: number; family: "ipv4" | "ipv6" } | undefined {
  const [address = "", length, ...rest] = text.split("/");
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return undefined;
  const most = version === 4 ? 32 : 128;
  const bits = length === undefined ? most : /^\d{1,3}$/.test(length) ? Number(length) : Number.NaN;
  return bits >= 0 && bits <= most ? { address, bits, family: version === 4 ? "ipv4" : "ipv6" } : undefined;
}

/** Whether an address, as Node names the peer of a socket, is in one of the networks. */
export function networks(list: readonly string[]): (address: string) => boolean {
  const block = new BlockList();
  for (const text of list) {
    const parsed = parseNetwork(text);
    if (parsed) block.addSubnet(parsed.address, parsed.bits, parsed.family);
  }
  return (address) => {
    const plain = plainAddress(address);
    const version = isIP(plain);
    return version !== 0 && block.check(plain, version === 4 ? "ipv4" : "ipv6");
  };
}

/** A socket that listens on :: names IPv4 peers `::ffff:10.0.0.1`. */
export const plainAddress = (address: string): string => address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, "");

export const isLoopback = networks(["127.0.0.0/8", "::1"]);

const path = z.string().min(1).max(1000);

export const serverKeys = {
  host: z
    .string()
    .refine((text) => text === "localhost" || isIP(text) !== 0, "expected an IP address such as 0.0.0.0, or localhost")
    .optional()
    .describe(
      "Address that `scriptorium serve` listens on; 127.0.0.1 and ::1 if left out. Others need `tls` or `trusted_proxies`",
    ),
  base_url: baseUrl
    .optional()
    .describe(
      "Public address of the server, such as https://wiki.example.org. Requests to other addresses are refused. The variable `SCRIPTORIUM_BASE_URL` overrides it",
    ),
  trusted_proxies: z
    .array(network)
    .max(50)
    .default([])
    .describe(
      "Addresses or networks of reverse proxies. `X-Forwarded-For`, `X-Forwarded-Proto` and `X-Forwarded-Host` are used only from them",
    ),
  tls: z
    .strictObject({
      certificate: path.describe("PEM file with the certificate and its chain"),
      key: path.describe("PEM file with the private key"),
    })
    .optional()
    .describe("Serve HTTPS with these files. They are loaded again when they change"),
};

/** `SCRIPTORIUM_BASE_URL`, read as the key is; undefined if it is not set. */
export function baseUrlIn({ SCRIPTORIUM_BASE_URL: text }: Environment): Result<string | undefined> {
  if (text === undefined || text === "") return ok(undefined);
  const origin = originOf(text);
  return origin === undefined ? refuse("invalid", `SCRIPTORIUM_BASE_URL: ${notAnAddress}, not ${text}`) : ok(origin);
}
