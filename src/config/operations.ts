import * as z from "zod";
import { type Caller, nameOf } from "../kernel/caller.ts";
import { operation } from "../kernel/operation.ts";
import { ok, refuse } from "../kernel/result.ts";
import type { Database } from "../store/database.ts";
import { appendEvent } from "../store/events.ts";
import { lastEvent } from "../store/queries/event-log.ts";
import type { Config } from "./config.ts";
import { withoutPassword } from "./trust/item.ts";
import { hashOfItems, waitingItems } from "./trust-items.ts";

/** Without `db` while the database itself waits to be allowed. */
export type SettingsApp = { config: Config; now(): Date; db?: Database };

const shown = z.string().nullable();

const trust = z.object({
  trusted_folder: z.boolean().describe("True if the workspace is in a trusted folder, where nothing waits"),
  hash: z.string().describe("Hash of what waits; `allow_settings` takes it"),
  waiting: z.array(
    z.object({
      name: z.string().describe("Where the settings are, such as scriptorium.yaml"),
      changes: z.array(
        z.object({
          key: z.string(),
          before: shown.describe("The value that was allowed; null if it is new"),
          after: shown.describe("The value now; null if it was removed"),
          why: shown.describe("What it does"),
        }),
      ),
    }),
  ),
});

export const showSettings = operation({
  name: "show_settings",
  summary: "Show the settings of the repository that wait for you to allow them.",
  effect: "reads",
  reads: ["setting"],
  callers: ["admin"],
  group: "admin",
  http: { method: "get", path: "/trust" },
  input: z.object({}),
  output: trust,
  run: async ({ config }: SettingsApp) => ok(await trustOf(config)),
});

export const allowSettings = operation({
  name: "allow_settings",
  summary: "Allow the settings of the repository that run programs, send data or weaken a protection.",
  effect: "writes",
  touches: ["setting"],
  callers: ["admin"],
  group: "admin",
  http: { method: "post", path: "/trust/allow" },
  decision: true,
  input: z.object({ hash: z.string().max(64).describe("`hash` of `show_settings`, so that you allow what you saw") }),
  output: z.object({ allowed: z.array(z.string()).describe("Keys that are allowed now") }),
  async run(app: SettingsApp, { hash }, caller) {
    const items = (await waitingItems(app.config)).map(({ item }) => item);
    if (hash !== hashOfItems(items))
      return refuse("conflict", "the settings changed since they were shown; look at them again");
    app.config.trust.workspace.allow(items, nameOf(caller), app.now());
    for (const { name, entries } of items) await record(app, "settings-allowed", caller, `settings:${name}`, entries);
    return ok({ allowed: items.flatMap(({ entries }) => entries.map(({ key }) => key)) });
  },
});

export const revokeSettings = operation({
  name: "revoke_settings",
  summary: "Withdraw everything that was allowed for this workspace on this machine.",
  effect: "destroys",
  touches: ["setting"],
  callers: ["admin"],
  group: "admin",
  http: { method: "post", path: "/trust/revoke" },
  input: z.object({}),
  output: z.object({ revoked: z.boolean().describe("False if nothing was allowed") }),
  async run(app: SettingsApp, _input, caller) {
    const revoked = app.config.trust.workspace.revoke();
    if (revoked) await record(app, "settings-revoked", caller, "settings", []);
    return ok({ revoked });
  },
});

/** Records once that settings wait to be allowed, so that people are notified. */
export async function noteWaitingSettings({ config, db, now }: SettingsApp): Promise<void> {
  for (const { item, changes } of await waitingItems(config)) {
    const subject = `settings:${item.name}`;
    const data = { keys: changes.map(({ key }) => key), hash: hashOfItems([item]) };
    await db?.write(async (tx) => {
      const last = await lastEvent(tx, subject, ["settings-waiting", "settings-allowed"]);
      if (last?.kind === "settings-waiting" && last.data.hash === data.hash) return;
      const at = now().toISOString();
      await appendEvent(tx, { at, actor: "scriptorium", kind: "settings-waiting", subject, data });
    });
  }
}

async function trustOf(config: Config): Promise<z.infer<typeof trust>> {
  const waiting = await waitingItems(config);
  return {
    trusted_folder: config.trust.workspace.isTrustedFolder,
    hash: hashOfItems(waiting.map(({ item }) => item)),
    waiting: waiting.map(({ item, changes }) => ({
      name: item.name,
      changes: changes.map(({ key, before, after, why = null }) => ({
        key,
        before: text(before),
        after: text(after),
        why,
      })),
    })),
  };
}

const text = (value: string | undefined) => (value === undefined ? null : withoutPassword(value));

/** The confirmation is in the person's own folder; the event tells others of the workspace about it. */
async function record(
  { db, now }: SettingsApp,
  kind: "settings-allowed" | "settings-revoked",
  caller: Caller,
  subject: string,
  entries: readonly { key: string }[],
): Promise<void> {
  const data = { keys: entries.map(({ key }) => key) };
  await db?.write((tx) => appendEvent(tx, { at: now().toISOString(), actor: nameOf(caller), kind, subject, data }));
}
