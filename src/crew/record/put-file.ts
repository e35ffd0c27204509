import { mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { replaceFile } from "../../store/disk/disk.ts";

/** Writes a file of the crew's, whole or not at all. What a person saves at the same moment stays. */
export async function putFile(root: string, path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const held = await readFile(path).catch(() => undefined);
  replaceFile(path, Buffer.from(text), held, root);
}
