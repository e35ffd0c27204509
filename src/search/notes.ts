/** A part of the query as a note repeats it. */
export const shortened = (text: string) => (text.length > maxQuoted ? `${text.slice(0, maxQuoted)}…` : text);

const maxQuoted = 60;
const maxNote = 300;

/** Notes share the budget with the results: the first that fit into `bytes`, each cut if it is long. */
export function notesWithin(notes: string[], bytes: number): string[] {
  let left = bytes;
  return [...new Set(notes)]
    .map((note) => (note.length > maxNote ? `${note.slice(0, maxNote)}…` : note))
    .filter((note) => {
      left -= Buffer.byteLength(JSON.stringify(note)) + 1;
      return left >= 0;
    });
}
