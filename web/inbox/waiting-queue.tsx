import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useOperation } from "../client/query.ts";
import { Shown } from "../parts/shown.tsx";
import { Time } from "../parts/time.tsx";

/** The open proposals, in the order of the inbox: a column on wide screens, folded elsewhere. */
export function WaitingQueue({ id }: { id: string }) {
  const { data } = useOperation("list_proposals", { status: "open" });
  const [isWide] = useState(() => matchMedia("(min-width: 100rem)").matches);
  const open = data?.proposals ?? [];
  if (open.length < 2) return null;
  return (
    <details className="desk-queue" open={isWide}>
      <summary>{open.length} open proposals</summary>
      <ul>
        {open.map(({ id: other, subject, proposed_by: by, created_at: at, pending }) => (
          <li key={other}>
            <Link to={`/proposals/${other}`} aria-current={other === id ? "page" : undefined}>
              <Shown text={subject} />
            </Link>
            <span className="muted small">
              <Shown text={by ?? "the agent"} />, <Time at={at} />
              {pending && ", decided"}
            </span>
          </li>
        ))}
      </ul>
    </details>
  );
}
