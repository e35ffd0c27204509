import type { CallerKind } from "../kernel/operation.ts";

/** What search is told about one thing: who wrote it last, when, and its text, to be found by its parts. */
export type Readable = {
  title: string;
  text: string;
  author: string;
  at: string;
  /** The run it belongs to; an agent at work on a task finds only what is of its own run, or of none. */
  run?: string;
  /** What sort of its kind it is, where there are several. */
  type?: string;
};

/**
 * A kind of thing that search can find. A new kind joins by one of these and a trigger that puts
 * what changed into `search_queue` under the same name.
 */
export type Kind = {
  name: string;
  readers: readonly CallerKind[];
  /** The ids of all there are, for a rebuild. */
  all(): Promise<string[]>;
  /** Undefined when it is gone, or not for anyone to find. */
  read(id: string): Promise<Readable | undefined>;
};
