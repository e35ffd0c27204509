import { Navigate, useParams } from "@tanstack/react-router";
import { boot } from "../boot.ts";
import { useOperation } from "../client/query.ts";
import { addressOf } from "../parts/paths.ts";
import { Loading, NotHere } from "../parts/state.tsx";

/** A topic's own address leads to it beside its page. */
export function TopicPage() {
  const { id = "" } = useParams({ strict: false });
  const found = useOperation("get_topic", { id });
  if (found.error) return <NotHere what={`Topic ${id} does not exist.`} />;
  if (!found.data) {
    return (
      <div className="column">
        <Loading />
      </div>
    );
  }
  return (
    <Navigate to={addressOf(found.data.source_path, boot.workspace.wiki)} search={{ topic: id } as never} replace />
  );
}
