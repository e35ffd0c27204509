import { homedir } from "node:os";
import { join } from "node:path";

/** A folder for downloads that several clones share and that `npm ci` does not delete. */
export const cacheFolder = (name: string) =>
  join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "scriptorium", name);
