import { Link, useNavigate, useParams } from "@tanstack/react-router";
import type { Output } from "../client/call.ts";
import { useOperation, useWrite } from "../client/query.ts";
import { Shown } from "../parts/shown.tsx";
import { Failed, Loading } from "../parts/state.tsx";
import { useTitle } from "../parts/title.ts";
import { say } from "../parts/toast.tsx";
import { DecisionCard, PatchedFiles } from "./decision-card.tsx";

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
  const about = (path: string) =>
    held.files
      .filter((file) => file.path === path)
      .map(({ status, why }) => (
        <p key={why} className="facts">
          <span className="state">{status}</span>
          <span>
            It <Shown text={why} />.
          </span>
        </p>
      ));
  return (
    <>
      <PatchedFiles
        diff={held.diff}
        truncated={held.truncated}
        paths={held.files.map(({ path }) => path)}
        about={about}
      />
      <Decide held={held} />
    </>
  );
}

function Decide({ held: { task, hash } }: { held: Held }) {
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
  return (
    <DecisionCard
      label="Reason"
      description="For the next worker, if you refuse"
      accept={{
        ...{ id: "allow-files", label: "Allow files", operation: "allow_files", when },
        run: () => allow.mutate({ task, hash }),
      }}
      decline={{
        ...{ id: "refuse-files", label: "Refuse files", operation: "refuse_files", when },
        run: (note) => refuse.mutate({ task, hash, ...(note ? { note } : {}) }),
      }}
    />
  );
}
