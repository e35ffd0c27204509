import { Button } from "@mantine/core";
import { useState } from "react";
import { mayCall } from "../client/call.ts";
import { useOperation, useWrite } from "../client/query.ts";
import { CodeEditor } from "../parts/code-editor.tsx";
import { later } from "../parts/later.tsx";
import { Failed, Loading } from "../parts/state.tsx";
import { say } from "../parts/toast.tsx";
import type { Run } from "./run.tsx";

const TaskGraph = later(() => import("./task-graph.tsx").then(({ TaskGraph }) => TaskGraph));

/** The plan as text, to be changed before it starts, with its graph beside it. */
export function Plan({ run }: { run: Run }) {
  const plan = useOperation("show_plan", { id: run.id }, { enabled: run.tasks.length > 0 });
  const [text, setText] = useState<string>();
  const [trouble, setTrouble] = useState<string>();
  const save = useWrite("save_plan", {
    onDone: ({ tasks }) => {
      setTrouble(undefined);
      say(`Plan saved (${tasks.length} tasks)`);
    },
    onRefused: (refusal) => {
      setTrouble(refusal.message);
      return true;
    },
  });
  if (run.tasks.length === 0) return <p className="note">No plan yet.</p>;
  if (plan.error) return <Failed error={plan.error} again={() => void plan.refetch()} />;
  if (!plan.data) return <Loading lines={12} />;
  const { editable } = plan.data;
  const canEdit = editable && mayCall("save_plan");
  return (
    <div className="plan">
      {!editable && <p className="note">The plan is read-only: the run is {run.state}.</p>}
      {trouble && (
        <p className="note bad plain" role="alert">
          {trouble}
        </p>
      )}
      <div className="editor-panes">
        {canEdit ? (
          <CodeEditor key={plan.data.content} value={plan.data.content} onChange={setText} label="The plan" />
        ) : (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and keys must be able to do that
          <pre className="plan-text" tabIndex={0}>
            {plan.data.content}
          </pre>
        )}
        <TaskGraph tasks={run.tasks} />
      </div>
      {canEdit && (
        <div className="editor-foot">
          <Button
            loading={save.isPending}
            disabled={text === undefined || text === plan.data.content}
            onClick={() =>
              save.mutate({ id: run.id, content: text ?? "", base_hash: plan.data.plan_hash ?? undefined })
            }
          >
            Save plan
          </Button>
          <span className="hint">{plan.data.file}</span>
        </div>
      )}
    </div>
  );
}
