import { useOperation } from "../client/query.ts";
import { Lines } from "../parts/lines.tsx";
import { Failed, Loading } from "../parts/state.tsx";

/** The page's file as it is. */
export function SourceView({ path }: { path: string }) {
  const page = useOperation("read_page", { path });
  if (page.error) return <Failed error={page.error} again={() => void page.refetch()} />;
  return page.data ? <Lines text={page.data.content} label="Source text" /> : <Loading lines={12} />;
}
