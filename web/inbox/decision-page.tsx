import { type UseQueryResult, useIsMutating } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { OperationName } from "../../src/operation-loaders.ts";
import type { Input } from "../client/call.ts";
import { useDraft } from "../client/draft.ts";
import { useOperation } from "../client/query.ts";
import { Shown } from "../parts/shown.tsx";
import { Failed, Loading } from "../parts/state.tsx";
import { useTitle } from "../parts/title.ts";
import { say } from "../parts/toast.tsx";
import { useMoveOn } from "./queue.ts";

type Props<T> = {
  title: string;
  found: UseQueryResult<T, Error>;
  /** Below the title. */
  about(data: T): ReactNode;
  children(data: T): ReactNode;
};

/** The page of something in a run that waits for a decision. */
export function DecisionPage<T>({ title, found: { data, error, refetch }, about, children }: Props<T>) {
  useTitle(title);
  return (
    <div className="column wide">
      <div className="page-head">
        <h1>{title}</h1>
        {data !== undefined && about(data)}
      </div>
      {error && <Failed error={error} again={() => void refetch()} />}
      {data === undefined && !error && <Loading />}
      {data !== undefined && children(data)}
    </div>
  );
}

/** A task in the words that lead a decision about it. */
export function TaskOfRun({ task, title, run }: { task: string; title: string; run: string }) {
  return (
    <>
      <Link to={`/tasks/${task}`}>
        <Shown text={title} />
      </Link>{" "}
      of <Link to={`/runs/${run}`}>{run}</Link>
    </>
  );
}

/** What waits for a decision. It is gone afterwards, so it is not read again while a decision is being sent. */
export function useWaiting<N extends OperationName>(name: N, input: Input<N>) {
  const isDeciding = useIsMutating() > 0;
  return useOperation(name, input, { enabled: !isDeciding });
}

/** The note about an item, and what follows a decision: it takes the note, and the next item of the inbox opens. */
export function useDecision(item: string) {
  const note = useDraft(`note ${item}`, "");
  const navigate = useNavigate();
  const moveOn = useMoveOn();
  return {
    note,
    async decided(what: string, { to = "/inbox", movesOn = true } = {}) {
      note.clear();
      say(what);
      if (!movesOn || !(await moveOn())) await navigate({ to });
    },
  };
}

/** Says that a run which stopped for the decision has to be resumed. */
export const andResume = (what: string, { state }: { state: string }) =>
  `${what}${state === "running" ? "" : "; resume the run"}`;
