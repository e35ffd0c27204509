import { Button, Textarea } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { call, type Output } from "../client/call.ts";
import { useDraft } from "../client/draft.ts";
import { useWrite } from "../client/query.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Shown } from "../parts/shown.tsx";
import { Failed, Loading } from "../parts/state.tsx";
import { isTyped, TypedWord } from "../parts/typed-word.tsx";

type Fallout = Output<"overturn_task">;

/** Shows which tasks depend on a completed one, and overturns it with a reason once the person has typed the word. */
export function OverturnDialog({ id, run, onClose }: { id: string; run: string | undefined; onClose(): void }) {
  const reason = useDraft(`overturn ${id}`, "");
  const [word, setWord] = useState("");
  const [trouble, setTrouble] = useState<string>();
  const [done, setDone] = useState<Fallout>();
  const preview = useQuery({
    queryKey: ["overturn preview", id],
    // The preview needs a reason too, and does not depend on it.
    queryFn: ({ signal }) => call("overturn_task", { id, reason: "preview" }, signal),
    gcTime: 0,
    staleTime: 0,
    retry: false,
  });
  const overturn = useWrite("overturn_task", {
    onDone(made) {
      reason.clear();
      setDone(made);
    },
    onRefused({ message }) {
      setTrouble(message);
      void preview.refetch();
      return true;
    },
  });
  const fallout = done ?? preview.data;
  const isReady = reason.value.trim() !== "" && isTyped("overturn", word);
  return (
    <Dialog onClose={onClose} title={done ? "Task overturned" : "Overturn task"} size="lg">
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          setTrouble(undefined);
          if (isReady && !overturn.isPending) overturn.mutate({ id, reason: reason.value.trim(), confirm: true });
        }}
      >
        {preview.error && !done && <Failed error={preview.error} again={() => void preview.refetch()} />}
        {!fallout && !preview.error && <Loading lines={3} />}
        {fallout && !done && <p>The task counts as failed, and its accepted result is void.</p>}
        {done && (
          <p className="note" role="status">
            The task is overturned. To redo it and what depends on it, reopen the task
            {run !== undefined && (
              <>
                {" "}
                and resume{" "}
                <Link to={`/runs/${run}`} onClick={onClose}>
                  run <Shown text={run} />
                </Link>
              </>
            )}
            .
          </p>
        )}
        {fallout && <Dependants fallout={fallout} />}
        {fallout && !done && (
          <>
            <Textarea
              label="Reason"
              description="What is wrong. The next worker reads it."
              data-autofocus
              required
              autosize
              minRows={2}
              maxRows={8}
              maxLength={2000}
              value={reason.value}
              onChange={(event) => reason.setValue(event.currentTarget.value)}
            />
            <TypedWord word="overturn" value={word} onChange={setWord} />
          </>
        )}
        {trouble && (
          <p className="note bad plain" role="alert">
            <Shown text={trouble} />
          </p>
        )}
        <div className="row-of-buttons">
          {fallout && !done && (
            <Button type="submit" color="red" disabled={!isReady} loading={overturn.isPending}>
              Overturn task
            </Button>
          )}
          <Button variant="default" onClick={onClose}>
            Close
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function Dependants({ fallout: { stale, stopped, waiting } }: { fallout: Fallout }) {
  if (stale.length + stopped.length + waiting.length === 0) return <p>No task depends on it.</p>;
  return (
    <section className="effects" aria-label="Tasks that depend on it">
      <Tasks title="Completed; they become stale" tasks={stale} />
      <Tasks title="In progress; they stop" tasks={stopped} />
      <Tasks title="Not started; they wait" tasks={waiting} />
    </section>
  );
}

function Tasks({ title, tasks }: { title: string; tasks: Fallout["stale"] }) {
  if (tasks.length === 0) return null;
  return (
    <>
      <h2>{title}</h2>
      <ul>
        {tasks.map(({ id, title: name }) => (
          <li key={id}>
            <Link to={`/tasks/${id}`}>
              <Shown text={name} />
            </Link>
          </li>
        ))}
      </ul>
    </>
  );
}
