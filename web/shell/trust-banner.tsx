import { Link, useRouterState } from "@tanstack/react-router";
import { useOperation } from "../client/query.ts";
import { countOf } from "../parts/time.tsx";

/** Settings of the repository that wait to be allowed, on every page but their own. */
export function TrustBanner() {
  const { data } = useOperation("inbox", {});
  const path = useRouterState({ select: (state) => state.location.pathname });
  const keys = data?.settings.flatMap((item) => item.keys) ?? [];
  if (keys.length === 0 || path === "/settings") return null;
  return (
    <p className="offline" role="status">
      {countOf(keys.length, "setting", "settings")} of this repository not allowed on this machine.{" "}
      <Link to="/settings">Review settings</Link>
    </p>
  );
}
