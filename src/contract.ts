import type { KnowledgeStore } from "./library.ts";
import {
  checkStore,
  type MakeStore,
  type StoreCheck,
  type StoreReport,
  storeChecks,
} from "./wiki/stores/check-store.ts";
import type { OpenStore, StoredVersion, VersionFacts, VersionStore } from "./wiki/stores/version-store.ts";

/** What a store of entries has to do; `store` in scriptorium.yaml names a module that opens one. */
export type EntryStore = VersionStore;

export type { KnowledgeStore, MakeStore, OpenStore, StoreCheck, StoredVersion, StoreReport, VersionFacts };
export { checkStore, storeChecks };
