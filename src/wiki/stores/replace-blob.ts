import { replaceFile } from "../../store/disk/disk.ts";
import { blobOf } from "../../store/git/blob.ts";
import { readIfThere } from "./look.ts";

/**
 * Replaces the file whose bytes git names `base`; undefined when it holds other bytes. A file that already
 * holds the new bytes counts as replaced: a crash may have undone the transaction after the rename. The
 * caller discards `staged` when its transaction is over.
 */
export function replaceBlob(
  file: string,
  bytes: Buffer,
  base: string,
  root: string,
  note: string,
): { staged?: string } | undefined {
  const held = readIfThere(file, root);
  if (held?.equals(bytes)) return {};
  if (blobOf(held ?? "") !== base) return undefined;
  const staged = replaceFile(file, bytes, held, root, note);
  return staged === undefined ? undefined : { staged };
}
