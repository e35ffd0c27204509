// A store in a folder, one JSON file per version. It works for several processes, and for several machines that share
// the folder: link() fails when the name exists, so exactly one writer of a version wins.
// @ts-check
import { link, mkdir, open, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";

/** @import { EntryStore } from "scriptorium/contract" */

/**
 * @param {string} folder
 * @param {(name: string) => void} [step] Called between the steps of a write; for checkStore
 * @returns {EntryStore}
 */
export function folderStore(folder, step = () => undefined) {
  const folderOf = (/** @type {string} */ id) => join(folder, encodeURIComponent(id));
  const fileOf = (/** @type {string} */ id, /** @type {number} */ version) => join(folderOf(id), `${version}.json`);

  /** @param {string} id */
  async function latestOf(id) {
    const names = await readdir(folderOf(id)).catch(nothing);
    return Math.max(0, ...(names ?? []).filter((name) => /^\d+\.json$/.test(name)).map(Number.parseFloat));
  }

  return {
    async list() {
      const names = (await readdir(folder).catch(nothing)) ?? [];
      const found = await Promise.all(
        names.map(async (name) => {
          const id = decodeURIComponent(name);
          return { id, version: await latestOf(id) };
        }),
      );
      return found.filter(({ version }) => version > 0);
    },

    async read(id, version) {
      const wanted = version ?? (await latestOf(id));
      const text = await readFile(fileOf(id, wanted), "utf8").catch(nothing);
      return text === undefined ? undefined : JSON.parse(text);
    },

    async write(id, next) {
      if ((await latestOf(id)) !== next.version - 1) return false;
      await mkdir(folderOf(id), { recursive: true });
      const draft = join(folderOf(id), `.${next.version}-${process.pid}-${Math.random().toString(36).slice(2)}`);
      const file = await open(draft, "wx");
      try {
        await file.writeFile(JSON.stringify(next));
        await file.sync();
      } finally {
        await file.close();
      }
      step("draft written");
      const won = await link(draft, fileOf(id, next.version)).then(
        () => true,
        (error) => {
          if (error.code === "EEXIST") return false;
          throw error;
        },
      );
      step("version linked");
      await rm(draft);
      return won;
    },
  };
}

/** @param {NodeJS.ErrnoException} error */
function nothing(error) {
  if (error.code === "ENOENT") return undefined;
  throw error;
}

/** @type {import("scriptorium/contract").OpenStore} */
export default ({ root }) => folderStore(join(root, "book"));
