import { fieldsOf } from "../kernel/operation-description.ts";
import type { Result } from "../kernel/result.ts";
import { manifest } from "../operation-manifest.ts";

type Fields = Record<string, unknown>;

const takeSecret = new Set(
  manifest.filter(({ input }) => fieldsOf(input).some((field) => field.name === "secret")).map(({ name }) => name),
);

/**
 * Remembers the secrets of the claims that one MCP session made, so that its client need not repeat them. Requests of
 * the protocol without sessions share only their token, which other agents may have too: there the client sends the
 * secret itself.
 */
export function sessionClaims() {
  const claims = new Map<string, { epoch: number; secret: string }>();
  const taskIn = ({ id, task }: Fields) => String(task ?? id);
  return {
    /** Adds the secret to a call that names the epoch of a claim of this session. */
    withSecret(name: string, raw: unknown): unknown {
      if (!takeSecret.has(name) || typeof raw !== "object" || raw === null || "secret" in raw) return raw;
      const claim = claims.get(taskIn(raw as Fields));
      return claim && claim.epoch === (raw as Fields).epoch ? { ...raw, secret: claim.secret } : raw;
    },
    remember(name: string, raw: unknown, result: Result<unknown>): void {
      if (name !== "lock_todo" || !result.ok) return;
      const { epoch, secret } = result.value as { epoch?: number; secret?: string };
      if (epoch !== undefined && secret !== undefined) claims.set(taskIn(raw as Fields), { epoch, secret });
    },
  };
}
