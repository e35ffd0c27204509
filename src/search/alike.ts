import { refOf } from "./hit.ts";
import type { Search } from "./open.ts";

const longestQuery = 500;
const mostPassages = 20;

/** Passages of entries and pages that share words with a text. */
export async function passagesAlike(
  search: Search,
  text: string,
): Promise<{ subject: string; heading: string; body: string }[]> {
  const { hits } = await search.find.passages(text.slice(0, longestQuery), {
    scope: { kinds: ["entry", "page"] },
    limit: mostPassages,
    without: ["meaning", "links"],
  });
  return hits.map((hit) => ({ subject: refOf(hit), heading: hit.heading.split(" › ").at(-1) ?? "", body: hit.body }));
}
