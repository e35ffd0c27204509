import { Refused } from "../../kernel/result.ts";

/** Which server of several is wanted: any, or the one that accepts writes. */
export type Target = "any" | "read-write";

/** A PostgreSQL URL with one URL for each host. */
export type PostgresAddress = {
  /** In the order in which they are tried. */
  hosts: readonly { name: string; url: string }[];
  target: Target;
  /** `connect_timeout` of the URL, in milliseconds. */
  connectMs: number | undefined;
};

/**
 * Parses `postgres://user@a:5432,b:5432/name?target_session_attrs=read-write`, which WHATWG URLs and the driver
 * refuse: the driver connects to one host only. A URL with several hosts means the primary unless it says otherwise.
 */
export function parsePostgres(url: string): PostgresAddress {
  const { scheme, user, hosts, rest } = partsOf(url);
  const [path = "", query = ""] = split(rest, "?");
  const parameters = new URLSearchParams(query);
  const target = targetOf(parameters.get("target_session_attrs"), hosts.length);
  const seconds = Number(parameters.get("connect_timeout") ?? Number.NaN);
  for (const ours of ["target_session_attrs", "connect_timeout"]) parameters.delete(ours);
  const options = parameters.size > 0 ? `?${parameters}` : "";
  return {
    hosts: hosts.map((host) => ({ name: host, url: checkedUrl(`${scheme}${user}${host}${path}${options}`) })),
    target,
    connectMs: seconds > 0 ? seconds * 1000 : undefined,
  };
}

/** The address without user, password and options, as messages show it. */
export function postgresName(url: string): string {
  const { hosts, rest } = partsOf(url);
  return `postgres://${hosts.join(",")}${split(rest, "?")[0]}`;
}

export const hasPassword = (url: string): boolean => /^:./.test(partsOf(url).user.replace(/^[^:@]*/, ""));

function partsOf(url: string) {
  const [, scheme, authority = "", rest = ""] = /^(postgres(?:ql)?:\/\/)([^/?]*)(.*)$/.exec(url) ?? [];
  if (!scheme) throw refusal("it must begin with postgres://");
  const at = authority.lastIndexOf("@") + 1;
  return { scheme, user: authority.slice(0, at), hosts: authority.slice(at).split(","), rest };
}

function targetOf(given: string | null, hosts: number): Target {
  if (given === null) return hosts > 1 ? "read-write" : "any";
  if (given === "any") return "any";
  // Scriptorium writes, and a primary that is read-only is of no use to it either.
  if (given === "read-write" || given === "primary") return "read-write";
  throw refusal(`target_session_attrs is ${given}; expected read-write, primary or any`);
}

function checkedUrl(url: string): string {
  if (!URL.canParse(url)) throw refusal("expected postgres://user@host:5432,other-host:5432/database");
  return url;
}

/** Without the URL, which may contain a password. */
const refusal = (why: string) =>
  new Refused({ code: "invalid", message: `the address of the PostgreSQL database is not valid: ${why}` });

function split(text: string, by: string): [string, string] {
  const at = text.indexOf(by);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}
