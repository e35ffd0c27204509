import { seeded } from "./measure.ts";

const syllables = "ba ce di fo gu ha ke li mo nu pa re si to vu wa xe yi zo qua bri cle dro fla gri".split(" ");

/** Words nobody stops or stems alike: each number has its own. */
export function word(n: number): string {
  let text = "";
  for (let rest = n + 25; rest > 0; rest = Math.floor(rest / 25)) text += syllables[rest % 25];
  return text;
}

/** Prose of about `bytes`, in which word n turns up about 1/n as often as the first, as in any language. */
export function proseWriter(seed: number, vocabulary = 20_000): (bytes: number) => string {
  const chance = seeded(seed);
  return (bytes) => {
    let text = "";
    for (let line = 0; text.length < bytes; ) {
      const next = `${word(Math.floor(vocabulary ** chance()))} `;
      line += next.length;
      text += next;
      if (line > 90) {
        text += "\n";
        line = 0;
      }
    }
    return `${text.trimEnd()}\n`;
  };
}

export const numbered = (count: number, perFolder: number): string[] =>
  Array.from({ length: count }, (_, n) => {
    const folder = String(Math.floor(n / perFolder)).padStart(3, "0");
    return `f${folder}/e${String(n % perFolder).padStart(3, "0")}`;
  });
