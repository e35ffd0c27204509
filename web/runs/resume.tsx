import { Button, NumberInput } from "@mantine/core";
import { useState } from "react";
import { mayCall, type Output } from "../client/call.ts";
import { useWrite } from "../client/query.ts";
import { withoutCommands } from "../parts/plain.ts";
import { SetUpAgent } from "../parts/set-up-agent.tsx";
import { Shown } from "../parts/shown.tsx";
import { say } from "../parts/toast.tsx";

type Stopped = Pick<Output<"inbox">["runs"][number], "id" | "reason" | "stopped_by" | "budget">;

/** True when it stopped because there was no money for the next call: going on needs a larger budget. */
export const isShort = (run: Pick<Stopped, "stopped_by">) => run.stopped_by === "budget";

/** Why a run stopped, and how it goes on: where a budget was too small, with a larger one. */
export function Resume({ run }: { run: Stopped }) {
  const { id, reason, budget } = run;
  const resume = useWrite("execute_run", { onDone: () => say("Run started") });
  const needsMore = isShort(run);
  const [tokens, setTokens] = useState<string | number>("");
  const [usd, setUsd] = useState<string | number>("");
  const isRaised = Number(tokens) > (budget.tokens ?? Infinity) || Number(usd) > (budget.usd ?? Infinity);
  return (
    <form
      className="note waiting-reason"
      onSubmit={(event) => {
        event.preventDefault();
        resume.mutate({
          id,
          ...(tokens === "" ? {} : { budget_tokens: Number(tokens) }),
          ...(usd === "" ? {} : { budget_usd: Number(usd) }),
        });
      }}
    >
      <p>
        {run.stopped_by === "person" ? (
          <strong>
            The run is <Shown text={reason ?? "paused"} />
          </strong>
        ) : (
          <>
            <strong>The run stopped{reason ? ":" : "."}</strong> {reason && <Shown text={withoutCommands(reason)} />}
          </>
        )}
      </p>
      {mayCall("execute_run") && (
        <div className="row-of-buttons">
          {needsMore && budget.tokens !== null && (
            <NumberInput
              size="xs"
              aria-label="New token budget"
              placeholder="New token budget"
              min={budget.tokens}
              thousandSeparator=" "
              value={tokens}
              onChange={setTokens}
            />
          )}
          {needsMore && budget.usd !== null && (
            <NumberInput
              size="xs"
              aria-label="New budget in dollars"
              placeholder="New budget in dollars"
              min={budget.usd}
              value={usd}
              onChange={setUsd}
            />
          )}
          <Button type="submit" size="xs" loading={resume.isPending} disabled={needsMore && !isRaised}>
            Resume
          </Button>
          <SetUpAgent after={resume.error} />
        </div>
      )}
    </form>
  );
}
