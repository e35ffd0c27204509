import { longestNote } from "../../store/disk/disk.ts";
import { parseJsonOr } from "../../store/json.ts";
import type { Author } from "../entry.ts";

/** Whose bytes are staged, recognised again by their blob after a crash. What does not fit into a file name is left out. */
export function spellNote(blob: string, { name, role, run, task, epoch }: Author): string {
  const whole = { name: name === role ? undefined : name, role, epoch, run, task };
  const spelt = [whole, { ...whole, task: undefined }, { role, epoch, name: whole.name?.slice(0, 20) }].map(
    (author) => `${blob} ${JSON.stringify(author)}`,
  );
  return spelt.find((note) => Buffer.byteLength(note) <= longestNote) ?? `${blob} ${JSON.stringify({ role })}`;
}

export function readNote(note: string | undefined, blob: string): Author | undefined {
  if (!note?.startsWith(`${blob} `)) return undefined;
  const author = parseJsonOr<Partial<Author> | undefined>(note.slice(blob.length + 1), undefined);
  if (!author) return undefined;
  return { ...author, name: author.name ?? author.role ?? "unknown" };
}
