import { readdirSync } from "node:fs";
import { join, posix } from "node:path";

/** A name as file systems compare it that ignore case and Unicode form. */
export const foldedName = (name: string) => name.normalize("NFKC").toUpperCase().toLowerCase();

/** An existing path that differs only in case or Unicode form: one of the two is lost on such a file system. */
export function twinOf(root: string, path: string): string | undefined {
  const parts = path.split("/");
  for (const [depth, part] of parts.entries()) {
    const folder = parts.slice(0, depth).join("/");
    const twin = namesIn(join(root, folder)).find((name) => name !== part && foldedName(name) === foldedName(part));
    if (twin !== undefined) return posix.join(folder, twin);
  }
  return undefined;
}

export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
