import { markEnd, markStart } from "./rank/passage.ts";

/** A passage that matched, with its place and the reasons. */
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

/** The id of a thing in the graph: nodes have ids of their own, others are `kind:id`. */
export const refOf = ({ kind, id }: { kind: string; id: string }) => (kind === "node" ? id : `${kind}:${id}`);

/** A hit as every interface shows it: « » around matched words, and a rounded score. */
export const readable = <T extends Pick<Hit, "score" | "snippet">>(hit: T): T => ({
  ...hit,
  score: Math.round(hit.score * 1000) / 1000,
  snippet: hit.snippet.replaceAll(markStart, "«").replaceAll(markEnd, "»"),
});
