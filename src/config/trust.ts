import type { Environment } from "./environment.ts";
import { foldersFrom, isInFolders, realPath } from "./trust/folders.ts";
import { hashOfEntries, type TrustChange, type TrustItem, trustChanges } from "./trust/item.ts";
import {
  deleteTrustRecord,
  readTrustRecord,
  recordFileOf,
  type TrustRecord,
  writeTrustRecord,
} from "./trust/record.ts";

/**
 * Workspace trust: settings that come with a repository take effect only after the person has confirmed exactly
 * these, or the workspace is in a trusted folder. Each item (the settings of scriptorium.yaml, the programs that
 * .git/config names) is confirmed by a hash of its entries. The record is read at every question, so that a
 * running server notices a confirmation and its withdrawal.
 */
export type Trust = {
  /** True for an item without entries, in a trusted folder, and after `allow` of the same entries. */
  isAllowed(item: TrustItem): boolean;
  /** The entries that differ from the last confirmation. */
  changes(item: TrustItem): TrustChange[];
  /** Records that a person confirmed these items; others of the workspace stay as they are. */
  allow(items: readonly TrustItem[], by: string, now: Date): void;
  /** Withdraws every confirmation of the workspace; false when there was none. */
  revoke(): boolean;
  /** Whether the workspace is in a trusted folder, so that nothing needs a confirmation. */
  isTrustedFolder: boolean;
};

/** `folders` are further trusted folders, beside those of the environment. */
export function openTrust(workspace: string, env: Environment, folders: readonly string[] = []): Trust {
  const root = realPath(workspace);
  const file = recordFileOf(root, env);
  const isTrustedFolder = isInFolders(root, [...foldersFrom(env), ...folders]);
  const items = (): TrustRecord["items"] => readTrustRecord(file, root)?.items ?? {};
  return {
    isTrustedFolder,
    isAllowed: ({ name, entries }) =>
      entries.length === 0 || isTrustedFolder || items()[name]?.hash === hashOfEntries(entries),
    changes: ({ name, entries }) => trustChanges(items()[name]?.entries ?? [], entries),
    allow(confirmed, by, now) {
      const added = confirmed.map(({ name, entries }) => [
        name,
        {
          hash: hashOfEntries(entries),
          at: now.toISOString(),
          by,
          entries: entries.map(({ key, value }) => ({ key, value })),
        },
      ]);
      writeTrustRecord(file, { root, items: { ...items(), ...Object.fromEntries(added) } });
    },
    revoke() {
      const had = Object.keys(items()).length > 0;
      deleteTrustRecord(file);
      return had;
    },
  };
}
