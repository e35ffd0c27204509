import type { CallerKind } from "../kernel/operation-description.ts";

/** The searchable content of one thing. `author` and `at` are of its last change. */
export type Readable = {
  title: string;
  text: string;
  author: string;
  at: string;
  /** The run it belongs to. An agent that works on a task finds only things of its own run or of none. */
  run?: string;
  /** The type within its kind, e.g. of a graph node. */
  type?: string;
};

/** A kind of thing that search can find. A new kind needs one of these, and a trigger that queues its changes in `search_queue` under the same name. */
export type Kind = {
  name: string;
  readers: readonly CallerKind[];
  /** All ids, for a rebuild. */
  all(): Promise<string[]>;
  /** Undefined when it was deleted or must not be found. */
  read(id: string): Promise<Readable | undefined>;
  /** Finds changes that no trigger reports, such as edits of files. Returns what a search must say about its results. */
  refresh?(): Promise<string[]>;
  /** What a match counts beside one of another kind; 1 if not given. */
  weight?: number;
};
