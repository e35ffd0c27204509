import {
  keepPreviousData,
  QueryClient,
  queryOptions,
  type UseQueryResult,
  useMutation,
  useQuery,
} from "@tanstack/react-query";
import { useState } from "react";
import type { RenderedPage } from "../../src/http/web-types.ts";
import type { OperationName } from "../../src/operation-loaders.ts";
import { boot } from "../boot.ts";
import { complain } from "../parts/toast.tsx";
import { ask, call, type Input, type Output, Refusal } from "./call.ts";
import { invalidate } from "./live.ts";

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 60_000,
      gcTime: 10 * 60_000,
      refetchOnWindowFocus: false,
      retry: (count, error) => error instanceof Refusal && error.status === 0 && count < 2,
    },
  },
});

export const operationQuery = <N extends OperationName>(name: N, input: Input<N>) =>
  queryOptions({
    queryKey: [name, input] as const,
    queryFn: ({ signal }) => call(name, input, signal),
  });

type Extra = { enabled?: boolean; keep?: boolean; everyMs?: number | false };

export function useOperation<N extends OperationName>(
  name: N,
  input: Input<N>,
  { enabled = true, keep = false, everyMs = false }: Extra = {},
): UseQueryResult<Output<N>, Error> {
  return useQuery({
    ...operationQuery(name, input),
    enabled,
    refetchInterval: everyMs,
    ...(keep ? { placeholderData: keepPreviousData } : {}),
  }) as UseQueryResult<Output<N>, Error>;
}

/**
 * What an editor begins with: the first answer that is up to date. A cached one may be older than the page, and a later
 * one must not take the place of the text that is edited.
 */
export function useFirstAnswer<T>({ data, isFetching }: Pick<UseQueryResult<T>, "data" | "isFetching">): T | undefined {
  const [first, setFirst] = useState<T>();
  if (first === undefined && data !== undefined && !isFetching) setFirst(data);
  return first;
}

export const renderedQuery = (path: string, version?: number) =>
  queryOptions({
    queryKey: ["rendered", { path, version }] as const,
    queryFn: async ({ signal, queryKey }) => {
      const read = async (part: Record<string, string>) => {
        const query = new URLSearchParams({
          path,
          ...(version === undefined ? {} : { version: String(version) }),
          ...part,
        });
        return (await ask(`/api/rendered/page?${query}`, "get", undefined, signal)) as RenderedPage;
      };
      // A long text is shown by its beginning until the whole one is rendered, unless a later place of it is wanted.
      const isKnown = queries.getQueryData(queryKey) !== undefined;
      const isFromTop = location.hash === "" && !new URLSearchParams(location.search).has("topic");
      if (isKnown || !isFromTop) return read({});
      const first = await read({ part: "beginning" });
      if (!first.is_beginning) return first;
      queries.setQueryData(queryKey, first);
      return read({});
    },
  });

/** Texts that are not pages, such as messages and previews: a whole thread takes one request. */
export const textsQuery = (texts: string[], path?: string) =>
  queryOptions({
    queryKey: ["rendered texts", texts, path] as const,
    queryFn: async ({ signal }) =>
      ((await ask("/api/rendered/texts", "post", { texts, path }, signal)) as { htmls: string[] }).htmls,
    enabled: texts.length > 0,
    placeholderData: keepPreviousData,
  });

/** A write. What it touches is read again; a refusal is shown, unless the caller deals with it. */
export function useWrite<N extends OperationName>(
  name: N,
  options: {
    /** A promise is awaited before the queries are read again, e.g. until another page is shown. */
    onDone?: (value: Output<N>, input: Input<N>) => unknown;
    onRefused?: (refusal: Refusal) => boolean;
  } = {},
) {
  return useMutation<Output<N>, Error, Input<N>>({
    mutationFn: (input: Input<N>) => call(name, input),
    async onSuccess(value, input) {
      await options.onDone?.(value, input);
      await invalidate(queries, boot.operations[name]?.touches ?? []);
    },
    onError(error) {
      const dealtWith = error instanceof Refusal && options.onRefused?.(error);
      if (!dealtWith) complain(error);
    },
  });
}
