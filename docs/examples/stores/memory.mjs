// A store in memory: the whole contract in its simplest form. Its content is lost when the process ends.
// @ts-check

/** @import { EntryStore, StoredVersion } from "scriptorium/contract" */

/** @type {Map<string, Map<string, StoredVersion[]>>} */
const books = new Map();

/**
 * @param {string} book
 * @returns {EntryStore}
 */
export function memoryStore(book) {
  const entries = books.get(book) ?? new Map();
  books.set(book, entries);
  return {
    async list() {
      return [...entries].map(([id, versions]) => ({ id, version: versions.length }));
    },
    async read(id, version) {
      const versions = entries.get(id) ?? [];
      const found = versions[(version ?? versions.length) - 1];
      return found && structuredClone(found);
    },
    async write(id, next) {
      const versions = entries.get(id) ?? [];
      if (next.version !== versions.length + 1) return false;
      entries.set(id, [...versions, structuredClone(next)]);
      return true;
    },
  };
}

/** @type {import("scriptorium/contract").OpenStore} */
export default ({ root }) => memoryStore(root);
