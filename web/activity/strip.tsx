import { Link } from "@tanstack/react-router";
import { useOperation } from "../client/query.ts";
import { Failed } from "../parts/state.tsx";
import { ActivityRows } from "./rows.tsx";

/** The newest activity about one page or run. */
export function ActivityStrip({ page, run, limit = 6 }: { page?: string; run?: string; limit?: number }) {
  const found = useOperation("activity", {
    limit,
    ...(page === undefined ? {} : { source_path: page }),
    ...(run === undefined ? {} : { run_id: run }),
  });
  const rows = found.data?.activity ?? [];
  if (found.error) return <Failed error={found.error} again={() => void found.refetch()} />;
  if (rows.length === 0) return null;
  return (
    <section className="activity-strip" aria-label="Activity">
      {run === undefined && <h2>Activity</h2>}
      <ActivityRows of={rows} />
      {found.data?.next != null && (
        <p>
          <Link to="/activity" search={{ page, run } as never}>
            Show all activity
          </Link>
        </p>
      )}
    </section>
  );
}
