import { connect as connectSocket } from "node:net";
import pg from "pg";
import type { PostgresAddress } from "./address.ts";
import { NotWritable } from "./errors.ts";
import type { Limits } from "./limits.ts";

/** The hosts of an address; each new connection goes to the one that worked last. */
export function hostList({ hosts }: PostgresAddress) {
  let current = 0;
  const host = () => hosts[current] as PostgresAddress["hosts"][number];
  return {
    count: hosts.length,
    current: host,
    /** The next connection goes to another host, unless that was decided already. */
    failed(name: string) {
      if (host().name === name) current = (current + 1) % hosts.length;
    },
  };
}

export type Hosts = ReturnType<typeof hostList>;

const numbersAsNumbers = {
  getTypeParser: (oid: number, format?: "text" | "binary") =>
    oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format as "text"),
} as pg.CustomTypesConfig;

type Greeting = { direct: boolean; readOnly: boolean };

/**
 * Behind a pooler, the process id that the client received is not the server's. Then nothing may be set for the
 * session: the next transaction, of anybody, may get this server connection.
 */
const greeting = `
  SELECT direct, current_setting('transaction_read_only') = 'on' AS "readOnly",
    CASE WHEN direct THEN set_config('plan_cache_mode', 'force_generic_plan', false) END,
    CASE WHEN direct THEN set_config('statement_timeout', $2, false) END,
    CASE WHEN direct THEN set_config('idle_in_transaction_session_timeout', $2, false) END
  FROM (SELECT pg_backend_pid() = $1::int AS direct) AS connection`;

/** A connection to one of the hosts, which knows whether a pooler is in between. */
export class HostClient extends pg.Client {
  readonly hostName: string;
  /** False behind a pooler such as PgBouncer. */
  isDirect = false;
  /** The connection must not be used again, e.g. because an answer may still come. */
  broken: Error | undefined;
  readonly #wanted: { address: PostgresAddress; hosts: Hosts; limits: Limits };

  constructor(wanted: { address: PostgresAddress; hosts: Hosts; limits: Limits }) {
    const { name, url } = wanted.hosts.current();
    super({
      connectionString: url,
      types: numbersAsNumbers,
      connectionTimeoutMillis: wanted.address.connectMs ?? wanted.limits.connectMs,
      keepAlive: true,
      application_name: "scriptorium",
    });
    this.hostName = name;
    this.#wanted = wanted;
    // Without a listener, a connection that is dropped ends the process.
    this.on("error", (error) => {
      this.broken ??= error;
    });
  }

  override connect(): Promise<void>;
  override connect(callback: (error: Error) => void): void;
  override connect(callback?: (error: Error) => void): Promise<void> | void {
    const ready = this.open();
    if (!callback) return ready;
    ready.then(
      () => (callback as (error?: Error) => void)(),
      (error: Error) => callback(error),
    );
  }

  protected async open(): Promise<void> {
    const { address, hosts, limits } = this.#wanted;
    // A server that accepts the connection and is then silent must not hold the caller.
    const timer = setTimeout(
      () => this.destroy(new Error("timeout expired")),
      (address.connectMs ?? limits.connectMs) * 2,
    );
    try {
      await super.connect();
      const { processID } = this as unknown as { processID: number | null };
      const { rows } = await this.query<Greeting>(greeting, [processID ?? 0, String(limits.statementMs)]);
      const [{ direct, readOnly }] = rows as [Greeting];
      this.isDirect = direct;
      if (readOnly && address.target === "read-write") throw new NotWritable(this.hostName);
    } catch (error) {
      hosts.failed(this.hostName);
      this.destroy(error as Error);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Closes the socket at once: its queries fail, and a server that is silent is not waited for. */
  destroy(error: Error): void {
    this.broken ??= error;
    const { stream } = (this as unknown as { connection: { stream: { destroy(error?: Error): void } } }).connection;
    stream.destroy();
  }

  /** Asks the server to cancel what this connection executes. A pooler passes the request on. */
  cancelQuery(): void {
    const { processID, secretKey, host, port } = this as unknown as Record<string, number | string | Buffer | null>;
    if (typeof processID !== "number" || typeof host !== "string") return;
    const secret = Buffer.isBuffer(secretKey) ? secretKey : int32(Number(secretKey));
    const request = Buffer.concat([int32(12 + secret.length), int32(80_877_102), int32(processID), secret]);
    const socket = host.startsWith("/") ? connectSocket(`${host}/.s.PGSQL.${port}`) : connectSocket(Number(port), host);
    socket.setTimeout(this.#wanted.limits.connectMs, () => socket.destroy());
    // The statement then runs until the server's own limit.
    socket.on("error", () => undefined);
    socket.on("connect", () => socket.end(request));
  }
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value | 0);
  return bytes;
}
