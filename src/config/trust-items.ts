import type { Config } from "./config.ts";
import { hashOfEntries, type TrustChange, type TrustItem } from "./trust/item.ts";

/** Everything of the repository that a person has to allow before it takes effect. */
export const trustItems = async (config: Config): Promise<TrustItem[]> => [config.trust.item()];

export type WaitingItem = { item: TrustItem; changes: TrustChange[] };

/** The items that wait to be allowed, with what changed since they last were. */
export async function waitingItems(config: Config): Promise<WaitingItem[]> {
  const { workspace } = config.trust;
  return (await trustItems(config))
    .filter((item) => !workspace.isAllowed(item))
    .map((item) => ({ item, changes: workspace.changes(item) }));
}

/** One hash for all items: what is allowed must be what was shown. */
export const hashOfItems = (items: readonly TrustItem[]): string =>
  hashOfEntries(items.map(({ name, entries }) => ({ key: name, value: hashOfEntries(entries) })));
