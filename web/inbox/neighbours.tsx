import { Link, useNavigate } from "@tanstack/react-router";
import { useOperation } from "../client/query.ts";
import { type Action, useActions } from "../shell/actions.ts";

/** The ways to the other open proposals, in the order of the inbox. */
export function Neighbours({ id }: { id: string }) {
  const { data } = useOperation("list_proposals", { status: "open" });
  const navigate = useNavigate();
  const open = data?.proposals ?? [];
  const at = open.findIndex((proposal) => proposal.id === id);
  const previous = at > 0 ? open[at - 1]?.id : undefined;
  // A decided proposal has no place in the list: the first one that waits is next.
  const next = open[at + 1]?.id;
  const go = (to: string | undefined) => () => void navigate({ to: `/proposals/${to}` });
  const actions: Action[] = [
    {
      id: "proposal-next",
      label: "Next proposal",
      group: "Decision",
      keys: "j",
      when: next !== undefined,
      run: go(next),
    },
    {
      id: "proposal-previous",
      label: "Previous proposal",
      group: "Decision",
      keys: "k",
      when: previous !== undefined,
      run: go(previous),
    },
  ];
  useActions(actions);
  if (previous === undefined && next === undefined) return null;
  return (
    <nav className="facts neighbours" aria-label="Open proposals">
      {previous && <Link to={`/proposals/${previous}`}>Previous proposal</Link>}
      {next && <Link to={`/proposals/${next}`}>Next proposal</Link>}
      <span className="muted">{at < 0 ? `${open.length} open` : `${at + 1} of ${open.length} open`}</span>
    </nav>
  );
}
