import { markEnd, markStart } from "./rank/passage.ts";

/** A passage that was found: what it says, where it stands, and why it is here. */
export type Hit = {
  num: number;
  kind: string;
  id: string;
  title: string;
  heading: string;
  line: number;
  part: number;
  body: string;
  author: string;
  at: string;
  score: number;
  snippet: string;
  why: string[];
};

/** The name of a thing in the graph: nodes have their own, everything else is called by its kind. */
export const refOf = ({ kind, id }: { kind: string; id: string }) => (kind === "node" ? id : `${kind}:${id}`);

/** A hit as every face shows it: « » around what matched, and a score without noise. */
export const readable = <T extends Pick<Hit, "score" | "snippet">>(hit: T): T => ({
  ...hit,
  score: Math.round(hit.score * 1000) / 1000,
  snippet: hit.snippet.replaceAll(markStart, "«").replaceAll(markEnd, "»"),
});
