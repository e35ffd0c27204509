import type { Scope } from "../store/queries/search/scope.ts";

/** Applies the access part of a scope to a thing in memory. A thing's kind and run never change, so they can be cached. */
export const mayRead = (scope: Scope, thing: { kind: string; run: string }): boolean =>
  scope.kinds.includes(thing.kind) && (scope.run === undefined || thing.run === "" || thing.run === scope.run);

/** The scope without its filters: everything of these kinds that the caller may read. */
export const withoutFilters = ({ kinds, run }: Scope): Scope => (run === undefined ? { kinds } : { kinds, run });

export const hasFilters = ({ kinds: _kinds, run: _run, ...filters }: Scope): boolean =>
  Object.values(filters).some((value) => value !== undefined);
