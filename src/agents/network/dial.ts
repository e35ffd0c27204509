import { connect as connectTcp, isIP, type LookupFunction, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { nameOf } from "./destination.ts";
import type { Address, Route } from "./rules.ts";

type Env = Readonly<Record<string, string | undefined>>;
export type Dial = (route: Route) => Promise<Socket>;

const connectMs = 30_000;

/** Connects from this host, through the person's own proxy where `HTTPS_PROXY` and `NO_PROXY` ask for one. */
export function dialer(env: Env): Dial {
  const proxy = env.https_proxy || env.HTTPS_PROXY || env.http_proxy || env.HTTP_PROXY;
  const direct = directHosts(env.no_proxy || env.NO_PROXY || "");
  return async (route) => (proxy && !direct(route) ? tunnel(new URL(proxy), route) : within(openTcp(route)));
}

function openTcp({ host, port, addresses }: Route): Socket {
  return connectTcp({ host, port, ...(addresses ? { lookup: pinned(addresses) } : {}), autoSelectFamily: true });
}

/** Answers each look-up with the addresses that were checked. */
const pinned =
  (addresses: Address[]): LookupFunction =>
  (_host, { all }, done) => {
    const [first] = addresses;
    if (all) done(null, addresses);
    else done(null, first?.address ?? "", first?.family);
  };

/** Resolves when the socket is connected; errors name a code, never a value from the environment. */
function within(socket: Socket, event: "connect" | "secureConnect" = "connect"): Promise<Socket> {
  // Without a listener of its own, a socket that breaks between two of its users would end the process.
  socket.on("error", () => undefined);
  return new Promise((done, fail) => {
    const timer = setTimeout(() => socket.destroy(new Error("no answer within 30 s")), connectMs);
    const settle = (then: () => void) => () => {
      clearTimeout(timer);
      socket.off("error", fail);
      then();
    };
    socket.once("error", fail);
    socket.once(
      "close",
      settle(() => fail(new Error("the connection was closed"))),
    );
    socket.once(
      event,
      settle(() => done(socket)),
    );
  });
}

/**
 * A tunnel through the person's proxy. It is given the checked address instead of the name, if there is one: the proxy
 * would look the name up again.
 */
async function tunnel(proxy: URL, route: Route): Promise<Socket> {
  if (proxy.protocol !== "http:" && proxy.protocol !== "https:") {
    throw new Error(`the proxy of this host is of the kind ${proxy.protocol} only http and https proxies can be used`);
  }
  const isTls = proxy.protocol === "https:";
  const [host, port] = [proxy.hostname.replace(/^\[(.*)\]$/, "$1"), Number(proxy.port || (isTls ? 443 : 80))];
  const socket = isTls
    ? await within(connectTls({ host, port, ...(isIP(host) ? {} : { servername: host }) }), "secureConnect")
    : await within(connectTcp({ host, port, autoSelectFamily: true }));
  const target = nameOf({ host: route.addresses?.[0]?.address ?? route.host, port: route.port });
  const login = proxy.username ? basicLogin(proxy) : "";
  socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${login}\r\n`);
  const status = await answerStatus(socket);
  if (status === 200) return socket;
  socket.destroy();
  throw new Error(`the proxy of this host answered ${status || "nothing"}`);
}

const basicLogin = ({ username, password }: URL) => {
  const login = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return `Proxy-Authorization: Basic ${Buffer.from(login).toString("base64")}\r\n`;
};

/** Reads the head of the proxy's answer; what follows it stays in the socket. */
function answerStatus(socket: Socket): Promise<number> {
  return new Promise((done) => {
    let head = Buffer.alloc(0);
    const timer = setTimeout(() => socket.destroy(), connectMs);
    const settle = (status: number) => {
      clearTimeout(timer);
      socket.off("readable", read).off("close", closed).off("error", closed);
      done(status);
    };
    const closed = () => settle(0);
    const read = () => {
      for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) {
        head = Buffer.concat([head, chunk as Buffer]);
        const end = head.indexOf("\r\n\r\n");
        if (end === -1 && head.length < 16_384) continue;
        if (end !== -1) socket.unshift(head.subarray(end + 4));
        return settle(Number(/^HTTP\/1\.[01] (\d{3})/.exec(head.toString("latin1"))?.[1] ?? 0));
      }
    };
    socket.on("readable", read).once("close", closed).once("error", closed);
  });
}

/** Whether a host is reached without a proxy: loopback, and the names and suffixes in `NO_PROXY`. */
function directHosts(list: string): (route: Route) => boolean {
  const entries = list
    .toLowerCase()
    .split(/[\s,]+/)
    .filter(Boolean);
  return ({ host, port }) =>
    host === "localhost" ||
    host === "::1" ||
    /^127\./.test(host) ||
    entries.some((entry) => {
      const [, name = "", given] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? [];
      if (given && Number(given) !== port) return false;
      const suffix = name.replace(/^\*?\.?/, "");
      return name === "*" || host === suffix || (suffix !== "" && host.endsWith(`.${suffix}`));
    });
}
