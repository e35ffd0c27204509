/** Words that are in every text and tell nothing apart. */
const stopWords = new Set(
  (
    "a about after all also am an and any are as at be because been but by can could did do does for from had has have he her " +
    "him his how i if in into is it its just me more most my no not of on or our out over she should so some such than that " +
    "the their them then there these they this to up us was we were what when where which while who why will with would you your"
  ).split(" "),
);

const mostTerms = 32;

/**
 * What to look for in any string a person or model may type: words, with identifiers also taken
 * apart (`camelCase`, `snake_case`). Operators and quotes of the engines' own query languages do
 * not survive, so there is nothing to inject.
 */
export function searchTerms(query: string): string[] {
  const words = query.slice(0, 2000).match(/[\p{L}\p{N}_]+/gu) ?? [];
  const terms = words.flatMap((word) => {
    const parts = word.split(/_+|(?<=[\p{Ll}\p{N}])(?=\p{Lu})/u).filter(Boolean);
    return (parts.length > 1 ? [word, ...parts] : [word]).map((part) => part.toLowerCase());
  });
  const distinct = [...new Set(terms)];
  const telling = distinct.filter((term) => !stopWords.has(term));
  return (telling.length > 0 ? telling : distinct).slice(0, mostTerms);
}
