import type { ThreadTask } from "../../kernel/threads/threads.ts";
import { parseJsonOr } from "../../store/json.ts";
import { mayBeInserted } from "./anchor/inserted.ts";
import { type Anchor, type Refound, refinder } from "./anchor.ts";

type Input = {
  /** The text that the anchors are from; undefined when it is lost. */
  before: string | undefined;
  after: string;
  blob: string;
  /** Each as JSON, as the database has it. */
  anchors: string[];
  /** The text in which none of the anchors was found; undefined if they were found or the text is lost. */
  since: string | undefined;
};

/**
 * Finds all anchors of one text in another one, which are compared once. Orphans are searched for in new text only.
 * The answer has JSON of a `Refound` for each; null for an anchor that cannot be read. Receiving thousands of objects
 * from a thread blocks the main thread for longer than a turn, receiving strings does not.
 */
export const refindTask: ThreadTask<Input, string[]> = {
  name: "refind",
  doing: "finding the topics' passages",
  size: ({ before = "", after, anchors }) => (before.length + after.length) * Math.ceil(anchors.length / 20),
  run({ before, after, blob, anchors, since }) {
    const find = refinder(before, after, blob);
    const mayBeNew = since === undefined ? () => true : mayBeInserted(since, after);
    const refind = (anchor: Anchor): Refound =>
      mayBeNew(anchor.quote) ? find(anchor) : { state: "orphaned", anchor, how: "gone", score: 0 };
    return anchors.map((json) => {
      const anchor = parseJsonOr<Anchor | null>(json, null);
      return JSON.stringify(anchor && refind(anchor));
    });
  },
};
