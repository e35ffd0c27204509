import { Button } from "@mantine/core";
import { useState } from "react";
import { mayCall } from "../client/call.ts";
import { useOperation, useWrite } from "../client/query.ts";
import { Dialog } from "../parts/dialog.tsx";
import { RotateCcw } from "../parts/icons.tsx";
import { SourceDiff } from "../parts/source-diff.tsx";
import { Failed, Loading, Problem } from "../parts/state.tsx";
import { say } from "../parts/toast.tsx";

type Props = { id: string; version: number; latest: number; mode: "snapshot" | "log"; onDone(): void };

/** Commits the text of an earlier version as a new one. */
export function Restore(props: Props) {
  const [isOpen, setOpen] = useState(false);
  if (props.version === props.latest || !mayCall("commit_entry")) return null;
  if (props.mode === "log") return <span className="hint">A log only grows: its versions cannot be restored.</span>;
  return (
    <>
      <Button size="xs" variant="default" leftSection={<RotateCcw size={14} />} onClick={() => setOpen(true)}>
        Restore version {props.version}
      </Button>
      {isOpen && <RestoreDialog {...props} onClose={() => setOpen(false)} />}
    </>
  );
}

function RestoreDialog({ id, version, onDone, onClose }: Props & { onClose(): void }) {
  const old = useOperation("fetch_entry", { id, version });
  const now = useOperation("fetch_entry", { id });
  const [trouble, setTrouble] = useState<string>();
  const save = useWrite("commit_entry", {
    onDone(saved) {
      say(`Restored version ${version} as version ${saved.version}`);
      onClose();
      onDone();
    },
    onRefused(refusal) {
      const isStale = refusal.status === 409;
      setTrouble(isStale ? "Someone saved a new version. Review the changes again, then restore." : refusal.message);
      if (isStale) void now.refetch();
      return true;
    },
  });
  const error = old.error ?? now.error;
  const isSame = old.data !== undefined && old.data.content === now.data?.content;
  return (
    <Dialog onClose={onClose} title={`Restore version ${version}`} size="xl">
      {error && <Failed error={error} />}
      {!error && !(old.data && now.data) && <Loading />}
      {old.data && now.data && (
        <>
          <p>
            {isSame
              ? `Version ${version} has the same text as the latest version.`
              : `These lines change. The text is saved as version ${now.data.version + 1}; no version is lost.`}
          </p>
          {!isSame && <SourceDiff before={now.data.content} after={old.data.content} />}
          <Problem text={trouble} />
          <div className="row-of-buttons">
            <Button
              disabled={isSame}
              loading={save.isPending}
              onClick={() => save.mutate({ id, content: old.data.content, version: now.data.version })}
            >
              Restore
            </Button>
            <Button variant="default" onClick={onClose}>
              Close
            </Button>
          </div>
        </>
      )}
    </Dialog>
  );
}
