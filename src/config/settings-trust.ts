import { ok, type Result, refuse } from "../kernel/result.ts";
import { configName } from "./environment.ts";
import { type TrustItem, withoutPassword } from "./trust/item.ts";
import type { TrustArea } from "./trust/keys.ts";
import type { SensitiveSetting } from "./trust/settings.ts";
import type { Trust } from "./trust.ts";

/** The trust in the sensitive settings of scriptorium.yaml. */
export type SettingsTrust = {
  workspace: Trust;
  /** What needs to be allowed, with the present content of the programs that it names. */
  item(): TrustItem;
  /** Refuses while settings of this area wait to be allowed. Call it before each use of one, not once at start. */
  check(area: TrustArea): Result<true>;
};

/** `read` returns the sensitive settings; it is called at each check because files that they name may change. */
export function settingsTrust(workspace: Trust, read: () => SensitiveSetting[]): SettingsTrust {
  const item = (settings = read()): TrustItem => ({ name: configName, entries: settings });
  return {
    workspace,
    item: () => item(),
    check(area) {
      const settings = workspace.isTrustedFolder ? [] : read();
      if (workspace.isAllowed(item(settings))) return ok(true);
      const changed = new Set(workspace.changes(item(settings)).map(({ key }) => key));
      const waiting = settings.filter((setting) => setting.area === area);
      // The changed one explains the refusal; all of the file are confirmed together.
      const named = waiting.find(({ key }) => changed.has(key)) ?? waiting[0];
      return named ? refuse("denied", notAllowed(named)) : ok(true);
    },
  };
}

const notAllowed = ({ key, value }: SensitiveSetting) =>
  `${configName} sets ${key} to ${shortened(withoutPassword(value))}, which nobody has allowed on this machine; a person allows it with: scriptorium allow`;

const shortened = (text: string) => (text.length > 200 ? `${text.slice(0, 200)}…` : text);
