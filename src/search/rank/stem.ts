/**
 * Porter's stemmer, the same that SQLite's index uses: with it PostgreSQL finds what SQLite finds,
 * and we know which words of a text to mark.
 */
export function stem(word: string): string {
  if (word.length < 3 || !/^[a-z]+$/.test(word)) return word;
  const known = stems.get(word);
  if (known !== undefined) return known;
  const found = reduce(word);
  if (stems.size >= mostStems) stems.clear();
  stems.set(word, found);
  return found;
}

/** Texts use few words again and again: remembering them makes marking and indexing ten times faster. */
const stems = new Map<string, string>();
const mostStems = 50_000;

function reduce(word: string): string {
  let w = plural(word);
  w = past(w);
  w = w.replace(/^(.*[aeiouy].*)y$/, "$1i");
  w = replaceEnding(w, longEndings, 0);
  w = replaceEnding(w, middleEndings, 0);
  w = dropEnding(w);
  if (/e$/.test(w)) {
    const rest = w.slice(0, -1);
    const m = measure(rest);
    if (m > 1 || (m === 1 && !endsShort(rest))) w = rest;
  }
  if (/ll$/.test(w) && measure(w.slice(0, -1)) > 1) w = w.slice(0, -1);
  return w;
}

function plural(w: string): string {
  if (w.endsWith("sses") || w.endsWith("ies")) return w.slice(0, -2);
  return w.endsWith("s") && !w.endsWith("ss") ? w.slice(0, -1) : w;
}

function past(w: string): string {
  if (w.endsWith("eed")) return measure(w.slice(0, -3)) > 0 ? w.slice(0, -1) : w;
  const ending = w.endsWith("ed") ? 2 : w.endsWith("ing") ? 3 : 0;
  const rest = w.slice(0, w.length - ending);
  if (ending === 0 || !hasVowel(rest)) return w;
  if (/(at|bl|iz)$/.test(rest)) return `${rest}e`;
  if (/([^aeiouylsz])\1$/.test(rest)) return rest.slice(0, -1);
  return measure(rest) === 1 && endsShort(rest) ? `${rest}e` : rest;
}

const pairs = (text: string) => text.split(" ").map((pair) => pair.split(">") as [string, string]);

const longEndings = pairs(
  "ational>ate tional>tion enci>ence anci>ance izer>ize bli>ble alli>al entli>ent eli>e ousli>ous ization>ize " +
    "ation>ate ator>ate alism>al iveness>ive fulness>ful ousness>ous aliti>al iviti>ive biliti>ble logi>log",
);
const middleEndings = pairs("icate>ic ative> alize>al iciti>ic ical>ic ful> ness>");
const lastEndings = "al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize".split(" ");

function replaceEnding(w: string, endings: [string, string][], least: number): string {
  const found = longest(
    w,
    endings.map(([ending]) => ending),
  );
  if (found === undefined) return w;
  const rest = w.slice(0, w.length - found.length);
  if (measure(rest) <= least) return w;
  return rest + (endings.find(([ending]) => ending === found)?.[1] ?? "");
}

function dropEnding(w: string): string {
  const found = longest(w, lastEndings);
  if (found === undefined) return w;
  const rest = w.slice(0, w.length - found.length);
  return measure(rest) > 1 && (found !== "ion" || /[st]$/.test(rest)) ? rest : w;
}

const longest = (w: string, endings: string[]) =>
  endings.filter((ending) => w.endsWith(ending)).sort((a, b) => b.length - a.length)[0];

const hasVowel = (w: string) => /[aeiouy]/.test(w[0] === "y" ? w.slice(1) : w);

/** How many times vowels are followed by consonants. */
const measure = (w: string) => (shapeOf(w).match(/v+c+/g) ?? []).length;

const endsShort = (w: string) => /cvc$/.test(shapeOf(w)) && !/[wxy]$/.test(w);

/** Vowels and consonants; y is a vowel behind a consonant. */
const shapeOf = (w: string) =>
  w.replace(/[a-z]/g, (letter, at: number) => {
    if ("aeiou".includes(letter)) return "v";
    return letter === "y" && at > 0 && !"aeiou".includes(w[at - 1] ?? "") ? "v" : "c";
  });
