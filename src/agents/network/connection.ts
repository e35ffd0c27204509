import type { Socket } from "node:net";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { type Destination, nameOf } from "./destination.ts";
import type { Dial } from "./dial.ts";
import type { Ledger } from "./ledger.ts";
import type { Route } from "./rules.ts";

export type Connection = { socket: Socket; addBytes: ReturnType<Ledger["note"]> };
export type Connect = (to: Destination, allowed: Result<Route>) => Promise<Result<Connection>>;

/** Connects to a destination if it is allowed, and notes it in the ledger in any case. */
export const connector =
  (dial: Dial, ledger: Ledger): Connect =>
  async (to, allowed) => {
    const destination = nameOf(to);
    if (!allowed.ok) {
      ledger.note({ destination, allowed: false, reason: allowed.problem.message });
      return allowed;
    }
    const socket = await dial(allowed.value).catch((error: Error) => error);
    if (!(socket instanceof Error)) return ok({ socket, addBytes: ledger.note({ destination, allowed: true }) });
    const reason = `cannot be reached: ${failureOf(socket)}`;
    ledger.note({ destination, allowed: true, reason });
    return refuse("refused", `${destination} ${reason}`);
  };

/** An error's code, such as ECONNREFUSED; an `AggregateError` has one for each address. */
export const failureOf = (error: Error & { code?: string }) => error.code ?? (error.message || "unknown error");
