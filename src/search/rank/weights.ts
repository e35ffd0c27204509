import type { PassageShape } from "../../store/tables.ts";

/**
 * What ranking weighs, chosen on all questions of the dev sets: turns on LoCoMo, text on Cranfield and MuSiQue. No dev
 * set has logs: a log line is as short as a turn and weighs the same. To see the figures of each weight, or those of
 * one half of the questions:
 *
 *     npm run bench -- retrieval --data DIR --choose [--fold 0|1]
 */

export type VectorWeights = Readonly<Record<PassageShape, number>>;

/** The share of vectors in a passage's score; the rest is words. */
export const vectorWeights: VectorWeights = { turn: 0.2, log: 0.2, text: 0.4 };

/** The share of the neighbours' similarity in a turn's: a question and its answer are seldom one turn. */
export const neighbourShare = 0.5;

/** The weight of a link against its source; with more, pages that only facts link to outrank pages that answer. */
export const linkWeight = 0.25;
