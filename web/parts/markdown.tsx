import { useQuery } from "@tanstack/react-query";
import { textsQuery } from "../client/query.ts";
import { Rendered } from "./rendered.tsx";
import { Failed, Loading } from "./state.tsx";

type Props = {
  text: string;
  lines?: number;
  /** The file that relative links start from. */
  path?: string;
};

/** A text as it reads, rendered by the server like any page. */
export function Markdown({ text, lines = 6, path }: Props) {
  const rendered = useQuery({ ...textsQuery([text], path), gcTime: 10_000 });
  if (rendered.error) return <Failed error={rendered.error} again={() => void rendered.refetch()} />;
  return rendered.data ? <Rendered html={rendered.data[0] ?? ""} /> : <Loading lines={lines} />;
}
