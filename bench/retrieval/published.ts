import type { Table } from "../support/table.ts";

/** What others say of themselves, or we found by running them on all 272 sessions. Not the same questions as above. */
export const published: Table = {
  question: "LoCoMo sessions as published",
  rows: [
    { what: "basic-memory 0.21.6, all pooled", figures: { "R@5": "0.733", "R@10": "0.839", MRR: "0.619" } },
    { what: "mem0 2.0.5, all pooled", figures: { "R@5": "0.791", "R@10": "0.891", MRR: "0.648" } },
    { what: "basic-memory, all categories, with a full-text fix", figures: { "R@5": "0.823", MRR: "0.718" } },
    { what: "MemPalace, per conversation", figures: { "R@10": "0.889" } },
    { what: "MemPalace, with a large embedding model", figures: { "R@10": "0.924" } },
    {
      what: "plain stemmed FTS5, distinct pages, categories 1 to 4",
      figures: { "R@5": "0.819", "R@10": "0.894", MRR: "0.741" },
    },
  ],
};
