import { trustWeight } from "../trust/label.ts";
import type { TrustApp } from "../trust/trust-app.ts";
import { type Hit, refOf } from "./hit.ts";

/** What a hit says about its trust; only passages of entries and pages have one. */
export type Trusted = { trust?: string; doubts?: string[] };

const hasTrust = ({ kind }: Hit) => kind === "entry" || kind === "page";

/** The hits with their trust. */
export async function labelled<H extends Hit>(app: TrustApp, hits: H[]): Promise<(H & Trusted)[]> {
  return (await labels(app, hits)).map(([hit, label]) => (label ? { ...hit, ...shown(label) } : hit));
}

type Preference = {
  onlyVerified?: boolean;
  /** The size of the answer, so that hits which have no place in it are not looked at. */
  bytes?: number;
};

/**
 * The hits by score and trust. With `onlyVerified`, of each hit only the verified passages, and no hit that has none:
 * sources, tasks and nodes are not verified by anybody. `left` hits were not looked at.
 */
export async function preferTrusted(
  app: TrustApp,
  hits: Hit[],
  { onlyVerified = false, bytes = Number.POSITIVE_INFINITY }: Preference = {},
): Promise<{ hits: (Hit & Trusted)[]; left: number }> {
  const near = onlyVerified ? hits : hits.slice(0, countWithin(hits, bytes * spare));
  const found = (await labels(app, near)).flatMap(([hit, label]): (Hit & Trusted)[] => {
    if (!onlyVerified) return [label ? { ...hit, score: hit.score * trustWeight[label.trust], ...shown(label) } : hit];
    return label?.verified ? [{ ...hit, body: label.verified, trust: "verified" }] : [];
  });
  return { hits: found.sort((a, b) => b.score - a.score), left: hits.length - near.length };
}

/** Trust moves a passage only so far: those much further down than what fits would not be shown anyway. */
const spare = 3;

/** How many of the first hits have this many bytes. */
function countWithin(hits: Hit[], bytes: number): number {
  let left = bytes;
  const end = hits.findIndex(({ body }) => {
    left -= body.length;
    return left < 0;
  });
  return end < 0 ? hits.length : end + 1;
}

async function labels<H extends Hit>(app: TrustApp, hits: H[]) {
  const own = hits.filter(hasTrust);
  const found = await app.trust.labels(
    own.map((hit) => ({ subject: refOf(hit), heading: hit.heading.split(" › ").at(-1) ?? "", body: hit.body })),
  );
  const byNum = new Map(own.map(({ num }, at) => [num, found[at]]));
  return hits.map((hit) => [hit, byNum.get(hit.num)] as const);
}

const shown = ({ trust, doubts }: { trust: string; doubts: string[] }): Trusted => ({
  trust,
  ...(doubts.length > 0 ? { doubts } : {}),
});
