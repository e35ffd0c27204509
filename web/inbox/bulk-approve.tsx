import { Button } from "@mantine/core";
import { useState } from "react";
import { hiddenFields } from "../../src/review/proposals/hidden-text.ts";
import type { Output } from "../client/call.ts";
import { useOperation, useWrite } from "../client/query.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Shown } from "../parts/shown.tsx";
import { countOf } from "../parts/time.tsx";
import { say } from "../parts/toast.tsx";

type Proposal = Output<"inbox">["proposals"][number];
type Summary = Output<"summarize_proposals">["proposals"][number];

/** Approves the chosen proposals after one confirmation. Each is held for 10 s and can be undone by itself. */
export function BulkApprove({ chosen, onDone }: { chosen: Proposal[]; onDone(): void }) {
  const [isAsking, setAsking] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const { data } = useOperation("summarize_proposals", {});
  const decide = useWrite("decide_proposal");
  const judged = judge(chosen, data?.proposals ?? []);
  const ready = judged.filter(({ why }) => why === null);
  const excluded = judged.filter(({ why }) => why !== null);
  const approve = async () => {
    setBusy(true);
    let held = 0;
    for (const { proposal, onto } of ready) {
      const input = { id: proposal.id, decision: "approve" as const, ...(onto ? { onto } : {}) };
      held += await decide.mutateAsync(input).then(
        () => 1,
        () => 0,
      );
    }
    setBusy(false);
    setAsking(false);
    // Each refusal was shown at once.
    if (held > 0) say(`${countOf(held, "approval takes", "approvals take")} effect in 10 s`);
    onDone();
  };
  return (
    <section className="bulk note" aria-label="Chosen proposals">
      <span>{countOf(chosen.length, "proposal", "proposals")} chosen</span>
      <Button size="xs" onClick={() => setAsking(true)}>
        Approve chosen
      </Button>
      <Button size="xs" variant="default" onClick={onDone}>
        Clear
      </Button>
      {isAsking && (
        <Dialog title={`Approve ${countOf(ready.length, "proposal", "proposals")}`} onClose={() => setAsking(false)}>
          {ready.length > 0 && (
            <ul className="bulk-list" aria-label="Will be approved">
              {ready.map(({ proposal: { id, subject, revision_number: revision } }) => (
                <li key={id}>
                  <Shown text={subject} />
                  {revision !== null && <span className="muted"> revision {revision}</span>}
                </li>
              ))}
            </ul>
          )}
          {excluded.length > 0 && (
            <>
              <p>Not approved; open them one by one:</p>
              <ul className="bulk-list" aria-label="Not approved">
                {excluded.map(({ proposal: { id, subject }, why }) => (
                  <li key={id}>
                    <Shown text={subject} /> <span className="state tone-bad">{why}</span>
                  </li>
                ))}
              </ul>
            </>
          )}
          <p className="muted">Each approval takes effect after 10 s; until then Undo in its row cancels it.</p>
          <div className="row-of-buttons">
            <Button disabled={ready.length === 0} loading={isBusy} onClick={() => void approve()}>
              Approve {countOf(ready.length, "proposal", "proposals")}
            </Button>
            <Button variant="default" onClick={() => setAsking(false)}>
              Cancel
            </Button>
          </div>
        </Dialog>
      )}
    </section>
  );
}

/** Why a proposal needs a look of its own before it is approved; null if it does not. */
function judge(chosen: Proposal[], summaries: Summary[]) {
  const pages = new Set<string>();
  return chosen.map((proposal) => {
    const change = summaries.find(({ id }) => id === proposal.id)?.change;
    const isTaken = proposal.kind === "page" && pages.has(proposal.subject);
    const why = isTaken ? "another chosen proposal is for this page" : reasonAgainst(proposal, change);
    if (why === null) pages.add(proposal.subject);
    return { proposal, why, onto: change?.source_sha ?? undefined };
  });
}

function reasonAgainst({ kind, data, pending }: Proposal, change: Summary["change"] | undefined): string | null {
  if (pending && pending.problem === null) return "already decided";
  if (kind !== "page") return hiddenFields(data).length > 0 ? "hidden characters" : null;
  if (!change) return "not compared with its page yet";
  if (change.conflict) return "conflicts with the page";
  if (change.hidden) return "hidden characters";
  return change.base_moved ? "the page changed since" : null;
}
