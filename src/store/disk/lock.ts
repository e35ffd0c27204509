import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import Sqlite from "better-sqlite3";

/** A lock between the processes of one machine; the kernel releases it when its holder dies. */
export function openLock(file: string): { release(): void } | undefined {
  mkdirSync(dirname(file), { recursive: true });
  const holder = new Sqlite(file, { timeout: 0 });
  try {
    holder.exec("BEGIN EXCLUSIVE");
    return { release: () => holder.close() };
  } catch (error) {
    holder.close();
    if ((error as { code?: string }).code?.startsWith("SQLITE_BUSY")) return undefined;
    throw error;
  }
}
