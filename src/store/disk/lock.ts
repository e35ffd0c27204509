import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { isBusy, openConnection } from "../sqlite/connection.ts";
import { privateFolder } from "./private.ts";

/** A lock between the processes of one machine; the kernel releases it when its holder dies. */
export function openLock(file: string): { release(): void } | undefined {
  mkdirSync(dirname(file), privateFolder);
  const holder = openConnection(file, 0);
  try {
    holder.exec("BEGIN EXCLUSIVE");
    return { release: () => holder.close() };
  } catch (error) {
    holder.close();
    if (isBusy(error)) return undefined;
    throw error;
  }
}
