import type { UseQueryResult } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
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

/** Says what was decided and goes on with the next item of the inbox, where a stopped run is resumed. */
export function useDecided() {
  const navigate = useNavigate();
  const moveOn = useMoveOn();
  return (what: string, { state }: { state: string }) => {
    say(`${what}${state === "running" ? "" : "; resume the run"}`);
    if (!moveOn()) void navigate({ to: "/inbox", search: {} as never });
  };
}
