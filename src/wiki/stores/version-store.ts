/** Facts about a version, as JSON. A store keeps the object and returns it unchanged. */
export type VersionFacts = {
  author: string;
  /** ISO 8601, in UTC. */
  at: string;
  summary: string;
  [name: string]: unknown;
};

/** One version of an entry. Versions of an entry are numbered 1, 2, 3, … without gaps and never change. */
export type StoredVersion = { version: number; content: string; facts: VersionFacts };

/**
 * The contract of a store that others implement (N10): versions of texts with a compare-and-swap. Roles, logs,
 * merges, claims, search and review are done by Scriptorium on top of it. `checkStore` tests an implementation.
 */
export interface VersionStore {
  /** Every entry that has a version, once, with its latest one; in any order. */
  list(): Promise<{ id: string; version: number }[]>;
  /** A version of the entry, the latest one if `version` is left out; undefined if there is none. */
  read(id: string, version?: number): Promise<StoredVersion | undefined>;
  /**
   * Saves `next` if the latest version is `next.version - 1` (0: no version yet) and returns true; the version is then
   * durable and every process reads it. Otherwise saves nothing and returns false. Of several writers of the same
   * version exactly one gets true.
   */
  write(id: string, next: StoredVersion): Promise<boolean>;
  close?(): Promise<void> | void;
}

/** The default export of a module that `store` in scriptorium.yaml names. */
export type OpenStore = (workspace: { root: string; name: string }) => VersionStore | Promise<VersionStore>;
