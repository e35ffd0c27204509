import { expect, test } from "vitest";
import { trustStates } from "../../src/trust/state.ts";
import { isTrusted, type TrustFilter, trustFilters } from "./filter.ts";

test("K10: each state passes one filter of the search, and a text without a state none", () => {
  const filters = Object.keys(trustFilters) as TrustFilter[];
  for (const state of trustStates) expect(filters.filter((filter) => isTrusted(state, filter))).toHaveLength(1);
  expect(filters.filter((filter) => isTrusted(undefined, filter))).toEqual([]);
});
