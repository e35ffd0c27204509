import { Textarea } from "@mantine/core";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { parsePatch } from "diff";
import { useMemo, useState } from "react";
import { mayCall, type Output } from "../client/call.ts";
import { useOperation, useWrite } from "../client/query.ts";
import { Shown } from "../parts/shown.tsx";
import { SourceHunks } from "../parts/source-diff.tsx";
import { Failed, Loading } from "../parts/state.tsx";
import { useTitle } from "../parts/title.ts";
import { say } from "../parts/toast.tsx";
import { ActionButton } from "../shell/action-button.tsx";
import { type Action, useActions } from "../shell/actions.ts";

type Held = Output<"show_held_files">;

/** Files of a task that instruct agents or run programs unasked: their change, and the decision about it. */
export function HeldFilesPage() {
  const { id = "" } = useParams({ strict: false });
  const { data, error, refetch } = useOperation("show_held_files", { task: id });
  useTitle(data ? `Files of task ${data.number}` : "Held files");
  return (
    <div className="column wide">
      <div className="page-head">
        <h1>{data ? `Files of task ${data.number}` : "Held files"}</h1>
        {data && (
          <p className="lead">
            <Link to={`/runs/${data.run}`}>
              <Shown text={data.title} />
            </Link>{" "}
            waits for your decision: these files instruct agents or run programs unasked.
          </p>
        )}
      </div>
      {error && <Failed error={error} again={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data && <Whole key={data.hash} held={data} />}
    </div>
  );
}

function Whole({ held }: { held: Held }) {
  const patches = useMemo(() => parsePatch(held.diff), [held.diff]);
  return (
    <>
      {held.files.map(({ path, status, why }) => {
        const patch = patches.find(({ oldFileName, newFileName }) =>
          [`a/${path}`, `b/${path}`].includes((newFileName === "/dev/null" ? oldFileName : newFileName) ?? ""),
        );
        const hunks = (patch?.hunks ?? []).map(({ oldStart, newStart, lines }) => ({
          old_start: oldStart,
          new_start: newStart,
          lines,
        }));
        return (
          <section key={path} aria-label={path}>
            <h2>
              <code>
                <Shown text={path} />
              </code>
            </h2>
            <p className="facts">
              <span className="state">{status}</span>
              <span>
                It <Shown text={why} />.
              </span>
            </p>
            <SourceHunks hunks={hunks} label={`Change of ${path}`} />
          </section>
        );
      })}
      {held.truncated && <p className="note">The change is too long to show whole. Look at it with git.</p>}
      <Decide held={held} />
    </>
  );
}

function Decide({ held: { task, hash } }: { held: Held }) {
  const [note, setNote] = useState("");
  const navigate = useNavigate();
  const done =
    (what: string) =>
    ({ state }: { state: string }) => {
      say(`Files ${what}${state === "running" ? "" : "; resume the run in the inbox"}`);
      void navigate({ to: "/inbox", search: {} as never });
    };
  const allow = useWrite("allow_files", { onDone: done("allowed") });
  const refuse = useWrite("refuse_files", { onDone: done("refused") });
  const when = !allow.isPending && !refuse.isPending;
  const words = note.trim();
  const actions: Action[] = [
    {
      id: "allow-files",
      label: "Allow files",
      group: "Decision",
      keys: "mod+enter",
      within: ".decide",
      operation: "allow_files",
      when,
      run: () => allow.mutate({ task, hash }),
    },
    {
      id: "refuse-files",
      label: "Refuse files",
      group: "Decision",
      keys: "mod+shift+enter",
      within: ".decide",
      operation: "refuse_files",
      when,
      run: () => refuse.mutate({ task, hash, ...(words ? { note: words } : {}) }),
    },
  ];
  useActions(actions);
  if (!mayCall("allow_files")) return <p className="note">Only collaborators and admins can decide.</p>;
  return (
    <div className="decide">
      <Textarea
        label="Reason"
        description="For the next worker, if you refuse"
        autosize
        minRows={2}
        maxLength={2000}
        value={note}
        onChange={(event) => setNote(event.currentTarget.value)}
      />
      <div className="row-of-buttons">
        {actions.map((action, at) => (
          <ActionButton key={action.id} action={action} {...(at === 0 ? {} : { variant: "default" })} />
        ))}
      </div>
    </div>
  );
}
