import { longestNote } from "../../store/disk/disk.ts";
import { parseJsonOr } from "../../store/json.ts";
import type { Author } from "../entry.ts";

/**
 * Names the author of staged bytes in the staged file's name, so that a version recovered after a crash has
 * its author. Fields that do not fit into a file name are left out.
 */
export function authorNote(blob: string, { name, role, run, task, epoch }: Author): string {
  const whole = { name: name === role ? undefined : name, role, epoch, run, task };
  const candidates = [whole, { ...whole, task: undefined }, { role, epoch, name: whole.name?.slice(0, 20) }].map(
    (author) => `${blob} ${JSON.stringify(author)}`,
  );
  return candidates.find((note) => Buffer.byteLength(note) <= longestNote) ?? `${blob} ${JSON.stringify({ role })}`;
}

export function readAuthorNote(note: string | undefined, blob: string): Author | undefined {
  if (!note?.startsWith(`${blob} `)) return undefined;
  const author = parseJsonOr<Partial<Author> | undefined>(note.slice(blob.length + 1), undefined);
  if (!author) return undefined;
  return { ...author, name: author.name ?? author.role ?? "unknown" };
}
