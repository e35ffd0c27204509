import { useQuery } from "@tanstack/react-query";
import { textsQuery } from "../client/query.ts";
import { Rendered } from "./rendered.tsx";
import { Failed, Loading } from "./state.tsx";

/** A text as it reads, rendered by the server like any page. */
export function Markdown({ text, lines = 6 }: { text: string; lines?: number }) {
  const rendered = useQuery({ ...textsQuery([text]), gcTime: 10_000 });
  if (rendered.error) return <Failed error={rendered.error} again={() => void rendered.refetch()} />;
  return rendered.data ? <Rendered html={rendered.data[0] ?? ""} /> : <Loading lines={lines} />;
}
